#include "rewrite/differentiate/maker.h"
#include "graph/prover.h"
#include "rewrite/blocks.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

Maker::Maker(Graph& graph) : graph_(graph) {
  for (const Tensor& tensor : graph.tensors) names_.insert(tensor.name);
}

std::string Maker::unique(const std::string& wish) {
  std::string name = wish;
  for (int& n = next_suffix_[wish]; !names_.insert(name).second;)
    name = fmt::format("{}_{}", wish, ++n);
  return name;
}

TensorId Maker::tensor(const std::string& wish, const std::vector<Axis>& points, Scalar scalar,
                       bool wide) {
  Tensor tensor;
  tensor.name = unique(wish), tensor.span = span;
  for (const Axis& axis : points) tensor.shape.push_back(axis.extent);
  switch (scalar) {
  case Scalar::boolean: tensor.type = ElemType::boolean; break;
  case Scalar::integer: tensor.type = ElemType::i64; break;
  case Scalar::real: tensor.type = wide ? ElemType::f64 : ElemType::f32; break;
  }
  return graph_.add(std::move(tensor));
}

TensorId Maker::like(const std::string& wish, TensorId model) {
  Scalar scalar = scalar_of(graph_[model].type);
  TensorId id = tensor(wish, axes_of(graph_, model), scalar, graph_[model].type == ElemType::f64);
  graph_[id].range = graph_[model].range;
  if (scalar == Scalar::integer) graph_[id].type = graph_[model].type;
  return id;
}

bool Maker::reads_wide(const Comprehension& node) const {
  auto all = roots(node);
  for (ExprId id : reachable(graph_.exprs, all)) {
    const Expr& e = graph_.exprs[id];
    if (e.op == Op::read && graph_[TensorId(e.ref)].type == ElemType::f64) return true;
    if (e.op == Op::cast && e.to == ElemType::f64) return true;
  }
  return false;
}

TensorId Maker::add(std::vector<Node>& nodes, Comprehension node, const std::string& wish,
                    std::string why) {
  node = settle(graph_, std::move(node));
  bool wide = reads_wide(node);
  for (Result& result : node.results) {
    if (result.tensor) continue;
    std::vector<Axis> axes = node.points;
    axes.insert(axes.end(), result.extra.begin(), result.extra.end());
    result.tensor = tensor(wish, axes, graph_.exprs[result.value].scalar, wide);
  }
  TensorId first = node.results[0].tensor;
  nodes.push_back({std::move(node), span, {std::move(why)}});
  return first;
}

std::vector<Axis> axes_of(const Graph& graph, TensorId tensor) {
  std::vector<Axis> axes;
  for (ExprId extent : graph[tensor].shape)
    axes.push_back({IndexId(static_cast<uint32_t>(axes.size())),
                    extent,
                    fmt::format("i{}", axes.size()),
                    {},
                    {}});
  return axes;
}

ExprId read_at(Graph& graph, TensorId tensor, std::span<const ExprId> places) {
  return graph.exprs.read(tensor, scalar_of(graph[tensor].type), places);
}

std::vector<ExprId> indices_of(ExprStore& store, const std::vector<Axis>& axes) {
  std::vector<ExprId> indices;
  for (const Axis& axis : axes) indices.push_back(store.index(axis.index));
  return indices;
}

} // namespace tang::rewrite
