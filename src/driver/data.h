#pragma once
// Data for a graph's inputs, from files and from the generator, and values for its dims.
#include "driver/arguments.h"
#include "interpret/eval.h"

namespace tang::driver {

struct GraphData {
  std::vector<int64_t> dims;
  interpret::Values inputs;
};

/// Reads what `--input` names, takes the dims from the shapes of that data, and makes the rest with
/// `--random`. Reports files that cannot be read, names that are no input, dims without a value,
/// and inputs without data.
std::optional<GraphData> graph_data(const Arguments& arguments, const graph::Graph& graph,
                                    Sink& sink);

/// The seed of `--random`; `initial` when it is not given.
std::optional<uint64_t> random_seed(const Arguments& arguments, uint64_t initial, Sink& sink);

} // namespace tang::driver
