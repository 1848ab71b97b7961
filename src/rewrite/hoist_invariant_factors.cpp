// hoist_invariant_factors: factors that no index of a sum moves leave the sum.
//
//   Σ[j | c] f(p) * g(p, j) / h(p)   =>   f(p) / h(p) * Σ[j | c] g(p, j)
//
// One product per point instead of one per term, and a contraction whose operands are plain reads.
// A law over the reals (language.md 5). An empty sum is 0 whatever `f` is, so a factor that may be
// infinite or NaN leaves only a sum that is known to have a term. Source: distributivity; as a loop
// transformation, Allen, Cocke, "A catalogue of optimizing transformations", 1971.
#include "rewrite/blocks.h"
#include "rewrite/columns.h"
#include "rewrite/cost.h"
#include "rewrite/factors.h"
#include "rewrite/links.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

namespace {

bool uses(const ExprStore& s, ExprId id, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return std::binary_search(s[id].free.begin(), s[id].free.end(), axis.index);
  });
}

/// Finite whatever the data: literals, and counts made of dims and indices.
bool is_finite(const ExprStore& s, ExprId id) {
  const Expr& e = s[id];
  return e.op == Op::literal_real ? std::isfinite(e.real) : e.op == Op::to_real && !e.has_read;
}

bool has_a_term(const Graph& graph, const Comprehension& c) {
  if (c.reduction->filter) return false;
  Prover prover(graph);
  prover.add_axes(c.points);
  return std::all_of(c.reduction->axes.begin(), c.reduction->axes.end(), [&](const Axis& axis) {
    auto extent = polynomial_of(graph.exprs, axis.extent);
    auto least = extent ? extent->minus(Polynomial::constant(1)) : std::nullopt;
    return !axis.lo && !axis.hi && least && prover.nonnegative(*least);
  });
}

/// Maps of factors that left a sum and that substitute_maps puts into every reader.
using CheapMaps = std::unordered_map<TensorId, Comprehension>;

/// The map that multiplies what is left; empty when nothing leaves. What left an earlier sum is a
/// factor here as well.
std::optional<Node> hoist(Graph& graph, Node& node, CheapMaps& earlier) {
  const Reduction* r = plain_reduction(graph, node, Op::add);
  if (!r || graph.exprs[r->body[0]].scalar != Scalar::real) return std::nullopt;
  ExprStore& s = graph.exprs;
  auto& c = std::get<Comprehension>(node.definition);
  Factors factors = factors_of(s, r->body[0], [&](ExprId read) {
    auto map = earlier.find(TensorId(s[read].ref));
    return map == earlier.end() || s[read].guarded ? read : body_at(s, map->second, read);
  });
  // A product under a condition stays as it is: the condition guards its factors too.
  if (!factors.conditions.empty()) return std::nullopt;
  bool never_empty = has_a_term(graph, c);
  std::vector<ExprId> over, under, outer_over, outer_under;
  for (ExprId id : factors.over) {
    bool leaves = !uses(s, id, r->axes) && (never_empty || is_finite(s, id));
    (leaves ? outer_over : over).push_back(id);
  }
  for (ExprId id : factors.under) {
    // 0 / f is 0 unless f is 0 or NaN: a literal is known.
    bool finite = s[id].op == Op::literal_real && std::isfinite(s[id].real) && s[id].real != 0;
    (!uses(s, id, r->axes) && (never_empty || finite) ? outer_under : under).push_back(id);
  }
  // A sum of nothing but factors that leave counts its points: count_points has seen to that.
  if ((outer_over.empty() && outer_under.empty()) || (over.empty() && under.empty()))
    return std::nullopt;
  // The sum is a node of its own, which other laws see; attach_epilogues brings the two together.
  Comprehension rest;
  rest.points = c.points;
  std::vector<ExprId> places;
  for (const Axis& axis : c.points) places.push_back(s.index(axis.index));
  TensorId total = tensor_over(graph, c.results[0].tensor, c.points, {});
  outer_over.insert(outer_over.begin(), s.read(total, Scalar::real, places));
  rest.results = {{c.results[0].tensor, build(s, outer_over, outer_under), {}}};
  c.reduction->body[0] = build(s, over, under);
  c.results[0].tensor = total;
  if (is_cheap(cost_of(s, rest.results[0].value))) earlier[rest.results[0].tensor] = rest;
  std::string law =
      fmt::format("hoist_invariant_factors: factors of `{}` leave its sum", graph[total].name);
  return Node{std::move(rest), node.span, {std::move(law)}};
}

} // namespace

Graph hoist_invariant_factors(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    std::vector<Node> all;
    CheapMaps earlier;
    for (Node& node : nodes) {
      auto rest = hoist(graph, node, earlier);
      changed |= rest.has_value();
      all.push_back(std::move(node));
      if (rest) all.push_back(std::move(*rest));
    }
    nodes = std::move(all);
  });
  return changed ? substitute_maps(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
