// count_points: a sum of a constant is the constant times the number of points.
//
//   sum[j: N] c = c * N,   sum[j: N where j <= i] c = c * (i + 1)
//
// Means count their points this way (`sum[j] 1.0`), so that a filter counts too. Exact: the count
// is an integer, where a sum in a short format would stop growing. Side conditions: a finite
// literal, and a filter that is nothing but bounds (of dims, points, or lengths that are read),
// none of which depends on another reduce index.
#include "base/check.h"
#include "graph/reads.h"
#include "rewrite/blocks.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <cmath>

namespace tang::rewrite {
using namespace graph;

namespace {

/// The number of points of an axis: max(0, min(hi, extent) - max(lo, 0)), without what the node's
/// points decide. Whether the axis has a point is the question here, so it is not assumed.
ExprId count_of(ExprStore& s, const Prover& points, const Axis& axis) {
  ExprId lo = axis.lo ? axis.lo : s.integer(0), hi = axis.hi ? axis.hi : axis.extent;
  if (axis.lo && !points.less_equal(s.integer(0), lo)) lo = s.binary(Op::max, lo, s.integer(0));
  if (axis.hi && !points.less_equal(hi, axis.extent)) hi = s.binary(Op::min, hi, axis.extent);
  ExprId count = canonical(s, s.binary(Op::sub, hi, lo));
  return points.less_equal(s.integer(0), count) ? count : s.binary(Op::max, count, s.integer(0));
}

} // namespace

std::optional<ExprId> point_count(Graph& graph, const Comprehension& node) {
  ExprStore& s = graph.exprs;
  Comprehension tight = tightened(graph, node);
  const Reduction& r = *tight.reduction;
  if (r.filter) return std::nullopt;
  Prover points(graph);
  points.add_axes(tight.points);
  ExprId total = s.integer(1);
  for (const Axis& axis : r.axes) {
    for (ExprId bound : {axis.lo, axis.hi})
      for (const Axis& other : r.axes)
        if (bound && std::binary_search(s[bound].free.begin(), s[bound].free.end(), other.index))
          return std::nullopt;
    total = s.binary(Op::mul, total, count_of(s, points, axis));
  }
  return canonical(s, total);
}

namespace {

void count(Graph& graph, Node& node) {
  ExprStore& s = graph.exprs;
  auto& c = std::get<Comprehension>(node.definition);
  if (!c.reduction || c.scan || !is_sum(graph, c.reduction->monoid)) return;
  ExprId body = c.reduction->body[0];
  if (!s.is_literal(body) || !std::isfinite(s[body].real)) return;
  auto points = point_count(graph, c);
  if (!points) return;
  ExprId number = s[body].scalar == Scalar::integer ? *points : s.to_real(*points);
  ExprId total = s.binary(Op::mul, number, body);
  Comprehension map = c;
  map.reduction.reset();
  for_each_root(map, [&](ExprId root) {
    return graph::rewrite(s, root, [&](ExprId id) { return s[id].op == Op::acc ? total : id; });
  });
  // A length is read where the row has no point, too.
  if (!unproved_reads(graph, map).empty()) return;
  node.derivation.push_back(
      fmt::format("count_points: `{}` counts", graph[c.results[0].tensor].name));
  c = canonicalize(s, std::move(map));
}

} // namespace

Graph count_points(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    for (Node& node : nodes)
      if (std::holds_alternative<Comprehension>(node.definition)) count(graph, node);
  });
  return compact(std::move(graph));
}

} // namespace tang::rewrite
