#pragma once
// Statements about tensors that exist: outputs, gradients and precision.
#include "parse/elaborate/context.h"

namespace tang::parse {

void declare_output(Context& context, const Module& module, const Output& output, Span span);
void apply_store(Context& context, const Store& store);
void apply_accumulate(Context& context, const Accumulate& accumulate);
void apply_budget(Context& context, const Module& module, const Budget& budget);
void elaborate_grad(Context& context, const Grad& grad, Span span);

/// The tensor that a statement names; empty, and reported, for anything else. An erroneous one was
/// reported already.
std::optional<graph::TensorId> tensor_named(Context& context, const Name& name);

} // namespace tang::parse
