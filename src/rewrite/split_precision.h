#pragma once
#include "graph/graph.h"
#include "graph/pieces.h"
#include <span>

namespace tang::rewrite {

/// Whether the law holds for a node: a sum of the products of two f32 factors.
bool can_split_precision(const graph::Graph& graph, const graph::Node& node);

/// split_precision: products of f32 are sums over such pieces (split_precision.cpp), in the nodes
/// at these positions, of which `can_split_precision` holds and which a plan runs so.
graph::Graph split_precision(graph::Graph graph, std::span<const size_t> nodes,
                             const graph::Pieces& pieces);

} // namespace tang::rewrite
