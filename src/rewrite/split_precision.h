#pragma once
#include "graph/graph.h"
#include <span>

namespace tang::rewrite {

/// Whether the law holds for a node: a sum of the products of two f32 factors.
bool can_split_precision(const graph::Graph& graph, const graph::Node& node);

/// split_precision: products of f32 are sums over tf32 parts (split_precision.cpp), in the nodes at
/// these positions, of which `can_split_precision` holds and which a plan runs so.
graph::Graph split_precision(graph::Graph graph, std::span<const size_t> nodes);

} // namespace tang::rewrite
