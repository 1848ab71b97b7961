#pragma once
// Statements that declare dims, inputs, constants and lets.
#include "parse/elaborate/context.h"

namespace tang::parse {

void declare_dims(Context& context, const Module& module, const Dim& dim);
void declare_input(Context& context, const Module& module, const Input& input);
void declare_const(Context& context, const Module& module, const Const& constant);
void declare_let(Context& context, const Module& module, const Let& let);
/// Reports bindings of `-D` that met no dim.
void check_bindings(Context& context);

/// Element type, shape, strides, alignment and range as written; empty when erroneous. `named` is
/// where faults of the whole are shown.
std::optional<graph::Tensor> tensor_of(Context& context, const Module& module,
                                       const TensorType& type, const Name& name);

} // namespace tang::parse
