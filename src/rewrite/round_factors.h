#pragma once
// Factors that matrix units multiply, stored as those want them.
#include "graph/graph.h"
#include <functional>

namespace tang::rewrite {

/// round_factors: an intermediate that is nothing but a factor beside factors stored in 16 bits is
/// stored in their format (language.md 5, operand rule: each of its products may round it). `units`
/// says which formats are multiplied on matrix units.
graph::Graph round_factors(graph::Graph graph, const std::function<bool(graph::ElemType)>& units);

} // namespace tang::rewrite
