#pragma once
// One step of a scan, taken apart for its gradient.
#include "graph/graph.h"
#include <map>

namespace tang::rewrite {

struct ScanStep {
  std::vector<char> active;          ///< fields whose adjoint is on the way to a variable
  std::vector<graph::ExprId> joined; ///< those fields behind the element, over `lhs` states
  graph::IndexId fresh;
};

/// d joined[f] / d state[g], over the node's points and the axes of f.
using Slopes = std::map<std::pair<uint32_t, uint32_t>, graph::ExprId>;

/// Maps x -> a*x + b over reals, the earlier one first.
graph::MonoidId affine_monoid(graph::Graph& graph);

} // namespace tang::rewrite
