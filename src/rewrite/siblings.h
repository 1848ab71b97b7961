#pragma once
// Two reductions over one space as one reduction under the product of their monoids.
#include "graph/graph.h"

namespace tang::rewrite {

/// Points, reduce axes with their bounds, and filter: equal keys are equal spaces, as nodes number
/// their indices alike (graph.h, `canonicalize`).
std::vector<uint32_t> space_of(const graph::Comprehension& node);

/// Whether the monoid of the node may be a factor of a product: its state is a tuple of scalars or
/// of small tensors that terms combine.
bool may_be_sibling(const graph::Graph& graph, const graph::Comprehension& node);

/// Both reductions, with the results of the first before those of the second. What both bodies hold
/// is one term, folds included. The spaces are equal.
graph::Comprehension product(graph::Graph& graph, const graph::Comprehension& first,
                             const graph::Comprehension& second);

} // namespace tang::rewrite
