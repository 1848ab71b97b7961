#pragma once
// Sizes to compare choices by, where dims are not bound.
#include "graph/graph.h"
#include "graph/polynomial.h"

namespace tang::graph {

/// The value with every dim at a typical size: 1024, or the nearest value of its range; saturates.
/// Doubles are exact enough to compare and the same on every machine: products and sums of integers
/// round the same way everywhere.
double typical(const Graph& graph, const Polynomial& p);
/// Of an extent; infinite where it is no polynomial.
double typical(const Graph& graph, ExprId extent);
/// Of the number of points over axes.
double typical(const Graph& graph, std::span<const Axis> axes);

} // namespace tang::graph
