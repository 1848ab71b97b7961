#pragma once
// Which products of f32 run as sums over pieces (the law split_precision), and in which form: those
// of outputs that have an error budget, in the form of the least time with which the graph keeps it
// in the interpreter.
#include "driver/pipeline.h"

namespace tang::driver {

struct SplitProducts {
  plan::Precision form = plan::Precision::full; ///< of all of them; full: none
  std::vector<size_t> nodes;                    ///< positions in the graph, of which the law holds
  std::vector<report::PredictedError> errors;   ///< of the outputs, with these; empty with none
};

/// Says to `machine` what may run so and whether that is faster. A form that a stated schedule
/// names goes before the others. Where a budget stands against it the products stay as they are;
/// `-Wperf` says so, once for the variant of all sizes.
SplitProducts split_products(const graph::Graph& graph, bool general, const Input& input,
                             const targets::TargetSpec& spec, const CompileOptions& options,
                             schedule::Machine& machine, Sink& sink);

/// Nodes of which some variant multiplies pieces, ascending. Recurrences have none.
std::vector<size_t> split_nodes(const plan::Plan& plan);

} // namespace tang::driver
