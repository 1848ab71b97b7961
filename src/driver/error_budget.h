#pragma once
// `budget y : rel 2e-3` and `--error-budget`: what the formats of a program cost its outputs.
#include "driver/pipeline.h"
#include "report/report.h"
#include <map>

namespace tang::driver {

/// Gives every real output without a `budget` line this one.
void set_budgets(Input& input, const ErrorBudget& budget);

bool has_budget(const graph::Tensor& tensor);
bool keeps_budget(const graph::Tensor& tensor, const report::PredictedError& error);

/// By how much each output (in the graph's order) is off when every operation, accumulator and
/// intermediate has the format that generated code gives it, instead of f64, on random data. With
/// `round_operands` by the operand rule too; `split`: results whose products are split, and into
/// what. Reports what stops the interpreter.
using Split = std::map<graph::TensorId, const graph::Pieces*>;
std::optional<std::vector<report::PredictedError>> errors_at(const graph::Graph& graph,
                                                             const std::vector<int64_t>& dims,
                                                             bool round_operands,
                                                             const Split& split, Sink& sink);
/// Sizes of up to 64 for the dims that are free, as long as the interpreter runs them in some
/// tenths of a second; empty where it does not.
std::optional<std::vector<int64_t>> sizes_for_prediction(const graph::Graph& graph);

/// The same of the graph as it is, at small values of the dims that are free. Empty where no output
/// has a budget, and, with a warning, where computing this in the interpreter would take long. An
/// output beyond its budget is reported.
std::vector<report::PredictedError> predicted_errors(const Input& input, bool round_operands,
                                                     Sink& sink);

} // namespace tang::driver
