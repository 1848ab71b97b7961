#pragma once
#include "graph/graph.h"

namespace tang::graph {

/// Checks every invariant of a graph: terms have the classes their ops want, indices are bound
/// once, reads name defined tensors with the right rank, bodies match their monoid, extents are
/// over dims, each tensor has one definition, definitions come before uses, outputs are defined,
/// and every unguarded read is proved in range (prover.h). Throws InternalError that names `stage`
/// and the node: a graph that fails is tangc's bug.
void verify(const Graph& graph, std::string_view stage);

} // namespace tang::graph
