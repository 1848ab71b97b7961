#pragma once
// Parts of a recurrence.
#include "graph/graph.h"

namespace tang::graph {

/// The step of a recurrence over a time axis of this extent: a number that bodies read, and that
/// nothing computes.
Tensor step_tensor(const Graph& graph, std::string name, ExprId extent);

} // namespace tang::graph
