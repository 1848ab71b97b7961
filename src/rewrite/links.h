#pragma once
// Who makes and who reads each tensor of a list of nodes.
#include "rewrite/blocks.h"
#include <set>

namespace tang::rewrite {

struct Links {
  Links(const graph::Graph& graph, const std::vector<graph::Node>& nodes);

  /// Position of the node that defines a tensor; empty for what comes from outside the list.
  std::optional<size_t> producer(graph::TensorId id) const;
  /// Positions of the nodes that read it, ascending.
  const std::vector<size_t>& readers(graph::TensorId id) const;
  /// What a node reads, ascending.
  const std::vector<graph::TensorId>& reads(size_t node) const { return reads_[node]; }
  /// True when one of the tensors is made by one of `nodes`, or from what they make.
  bool depends(const std::vector<graph::TensorId>& tensors, const std::set<size_t>& nodes) const;

private:
  std::vector<std::vector<graph::TensorId>> reads_;
  std::unordered_map<graph::TensorId, size_t> producer_;
  std::unordered_map<graph::TensorId, std::vector<size_t>> readers_;
};

/// The map that defines exactly one tensor which no line rounds and no input holds: its body may
/// stand where the tensor is read. Null for every other node.
const graph::Comprehension* plain_map(const graph::Graph& graph, const graph::Node& node);

/// The body of `map` at the places of an unguarded `read` of it. Folds in the body are not allowed.
graph::ExprId body_at(graph::ExprStore& store, const graph::Comprehension& map, graph::ExprId read);

} // namespace tang::rewrite
