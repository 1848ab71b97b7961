#pragma once
// `budget y : rel 2e-3` and `--error-budget`: what the formats of a program cost its outputs.
#include "driver/pipeline.h"
#include "report/report.h"

namespace tang::driver {

/// Gives every real output without a `budget` line this one.
void set_budgets(Input& input, const ErrorBudget& budget);

/// By how much each output (in the graph's order) is off when every operation, accumulator and
/// intermediate has the format that generated code gives it, instead of f64: on random data, at
/// small values of the dims that are free. Empty where no output has a budget, and, with a warning,
/// where computing this in the interpreter would take long. With `round_operands` by the operand
/// rule too. An output beyond its budget is reported.
std::vector<report::PredictedError> predicted_errors(const Input& input, bool round_operands,
                                                     Sink& sink);

} // namespace tang::driver
