#pragma once
// Makes the tensors and nodes of a gradient.
#include "graph/graph.h"
#include <set>
#include <unordered_set>

namespace tang::rewrite {

class Maker {
public:
  explicit Maker(graph::Graph& graph);

  /// A name that no tensor has, starting from `wish`.
  std::string unique(const std::string& wish);
  /// An intermediate that stores a value of `scalar` over `points`; f64 where `node` reads f64.
  graph::TensorId tensor(const std::string& wish, const std::vector<graph::Axis>& points,
                         graph::Scalar scalar, bool wide);
  /// Like another tensor.
  graph::TensorId like(const std::string& wish, graph::TensorId model);

  /// Guards what is not proved, renumbers, and appends. Results without a tensor get one, named
  /// after `wish`.
  graph::TensorId add(std::vector<graph::Node>& nodes, graph::Comprehension node,
                      const std::string& wish, std::string why);

  Span span; ///< of the line that asks for the gradient

private:
  bool reads_wide(const graph::Comprehension& node) const;

  graph::Graph& graph_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> next_suffix_;
};

/// The axes of a tensor, with indices 0, 1, ...
std::vector<graph::Axis> axes_of(const graph::Graph& graph, graph::TensorId tensor);
/// A read of a tensor at places.
graph::ExprId read_at(graph::Graph& graph, graph::TensorId tensor,
                      std::span<const graph::ExprId> places);
/// The indices of axes as terms.
std::vector<graph::ExprId> indices_of(graph::ExprStore& store,
                                      const std::vector<graph::Axis>& axes);

} // namespace tang::rewrite
