#pragma once
#include "graph/graph.h"
#include <span>

namespace tang::rewrite {

/// Which reduction of the graph is split, and how. A schedule chooses it: only a machine with many
/// threads gains.
struct Split {
  size_t node = 0;   ///< position in the graph's nodes
  size_t axis = 0;   ///< of the reduction
  int64_t parts = 0; ///< 0: every index of the axis is a part of its own
};

/// split_reduction: any associative monoid splits into partial results and a merge
/// (split_reduction.cpp). Nodes ascending, each once.
graph::Graph split_reduction(graph::Graph graph, std::span<const Split> splits);

} // namespace tang::rewrite
