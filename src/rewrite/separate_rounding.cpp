// separate_rounding: a reduction that is rounded where it is stored is the reduction, then a
// rounding.
//
//   o[i] = ⊕[j] e(i, j), stored as bf16   =>   s[i] = ⊕[j] e(i, j),   o[i] = s[i], stored as bf16
//
// So the laws of reductions see a sum as it is, with or without a `store` line; attach_epilogues
// puts the rounding back where the sum ends. An `accumulate` line stays with the sum. Side
// conditions: the one result is the state and nothing else, and is not stored over an input.
#include "rewrite/blocks.h"
#include "rewrite/passes.h"

namespace tang::rewrite {
using namespace graph;

namespace {

/// Makes the node compute a tensor of its own and returns the map that rounds it; nothing for
/// other nodes.
std::optional<Node> separate(Graph& graph, Node& node) {
  auto* c = std::get_if<Comprehension>(&node.definition);
  if (!c || !c->reduction || c->scan || c->results.size() != 1) return std::nullopt;
  Result& result = c->results[0];
  const TensorId stored = result.tensor;
  if (!graph[stored].store_given || graph[stored].over || !result.extra.empty() ||
      graph.exprs[result.value].op != Op::acc)
    return std::nullopt;
  Tensor sum = graph[stored];
  const Scalar scalar = scalar_of(sum.type);
  if (scalar != Scalar::real) return std::nullopt;
  sum.type = state_type(graph, *c, scalar);
  sum.store_given = false;
  sum.external.clear(), sum.strides.clear();
  sum.budget_rel.reset(), sum.budget_abs.reset();
  graph[stored].accumulate.reset();
  result.tensor = graph.add(std::move(sum));

  Node rounding = node;
  rounding.derivation.clear();
  Comprehension map;
  map.points = c->points;
  std::vector<ExprId> places;
  for (const Axis& axis : map.points) places.push_back(graph.exprs.index(axis.index));
  map.results.push_back({stored, graph.exprs.read(result.tensor, scalar, places), {}});
  rounding.definition = std::move(map);
  return rounding;
}

} // namespace

Graph separate_rounding(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    std::vector<Node> all;
    all.reserve(nodes.size());
    for (Node& node : nodes) {
      auto rounding = separate(graph, node);
      all.push_back(std::move(node));
      if (rounding) all.push_back(std::move(*rounding));
    }
    nodes = std::move(all);
  });
  return graph;
}

} // namespace tang::rewrite
