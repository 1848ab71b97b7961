#pragma once
// What a step of a recurrence depends on.
#include "graph/graph.h"

namespace tang::rewrite {

/// The strongly connected part of each node of the body, then of each carry, when a step reads what
/// the one before carried on: nodes and carries of one part depend on each other. Linear.
std::vector<size_t> step_parts(const graph::Graph& graph, const graph::Recur& recur);

} // namespace tang::rewrite
