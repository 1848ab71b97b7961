#pragma once
// Sums of products that another order adds up first: a*b + a*c is a*(b + c), with half the
// products. Internal to bound; contractions.cpp leaves such sums out.
#include "graph/graph.h"
#include <set>

namespace tang::bound {

/// One field of a node's reduction, and the tensors that its products read.
struct Product {
  const graph::Comprehension* node;
  size_t field;
  std::set<graph::TensorId> tensors;
};

/// Whether an op gives more than a sum or a multiple of its operands.
bool bends(graph::Op op);

/// For each product whether its sum, or a multiple of it, is added to or compared with another that
/// reads a tensor of its own, or with itself at another place. `nodes` in order of definition.
std::vector<bool> mixed_products(const graph::Graph& graph,
                                 std::span<const graph::Comprehension* const> nodes,
                                 std::span<const Product> products);

} // namespace tang::bound
