#pragma once
// Which products of f32 run as sums over tf32 parts (the law split_precision): those of outputs
// that have an error budget, if the graph with the parts keeps it in the interpreter.
#include "driver/pipeline.h"

namespace tang::driver {

struct SplitProducts {
  std::vector<size_t> nodes;                  ///< positions in the graph, of which the law holds
  std::vector<report::PredictedError> errors; ///< of the outputs, with these; empty with none
};

/// Says to `machine` what may run so and whether that is faster. Where a budget stands against it
/// the products stay as they are; `-Wperf` says so, once for the variant of all sizes.
SplitProducts split_products(const graph::Graph& graph, bool general, const Input& input,
                             const targets::TargetSpec& spec, const CompileOptions& options,
                             schedule::Machine& machine, Sink& sink);

/// Nodes of which some variant multiplies parts, ascending. Recurrences have none.
std::vector<size_t> split_nodes(const plan::Plan& plan);

} // namespace tang::driver
