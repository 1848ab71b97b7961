#pragma once
// Statements about tensors that exist: outputs and precision.
#include "parse/elaborate/context.h"

namespace tang::parse {

void declare_output(Context& context, const Module& module, const Output& output, Span span);
void apply_store(Context& context, const Store& store);
void apply_accumulate(Context& context, const Accumulate& accumulate);
void apply_budget(Context& context, const Module& module, const Budget& budget);
void refuse_grad(Context& context, const Grad& grad, Span span);

} // namespace tang::parse
