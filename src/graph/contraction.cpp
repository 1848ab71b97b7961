#include "graph/contraction.h"
#include "base/checked.h"
#include <algorithm>
#include <set>

namespace tang::graph {

Sides sides_of(const Graph& graph, const Comprehension& c) {
  std::set<ExprId> inner;
  std::vector<ExprId> reads;
  for (ExprId id : reachable(graph.exprs, c.reduction->body)) {
    if (graph.exprs[id].op != Op::read) continue;
    reads.push_back(id);
    for (ExprId below : reachable(graph.exprs, graph.exprs[id].operands))
      if (graph.exprs[below].op == Op::read) inner.insert(below);
  }
  std::erase_if(reads, [&](ExprId id) { return inner.contains(id); });
  std::vector<std::set<ExprId>> signature(c.points.size());
  for (size_t i = 0; i < c.points.size(); ++i)
    for (ExprId read : reads)
      if (std::binary_search(graph.exprs[read].free.begin(), graph.exprs[read].free.end(),
                             c.points[i].index))
        signature[i].insert(read);
  Sides sides;
  const std::set<ExprId>* columns = nullptr;
  for (size_t i = c.points.size(); i-- > 0 && !columns;)
    if (!signature[i].empty() && signature[i].size() < reads.size()) columns = &signature[i];
  for (size_t i = 0; i < c.points.size(); ++i) {
    const auto& s = signature[i];
    bool apart =
        columns && std::none_of(s.begin(), s.end(), [&](ExprId r) { return columns->contains(r); });
    bool within = columns && std::includes(columns->begin(), columns->end(), s.begin(), s.end());
    (s.empty() ? sides.batch : apart ? sides.m : within ? sides.n : sides.batch).push_back(i);
  }
  return sides;
}

Operands operands_of(const Graph& graph, const Comprehension& c, const Sides& sides) {
  auto needs = [&](ExprId id, const std::vector<size_t>& axes) {
    const auto& free = graph.exprs[id].free;
    return std::any_of(axes.begin(), axes.end(), [&](size_t i) {
      return std::binary_search(free.begin(), free.end(), c.points[i].index);
    });
  };
  Operands operands;
  std::vector<ExprId> stack(c.reduction->body.rbegin(), c.reduction->body.rend());
  std::set<ExprId> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    const Expr& e = graph.exprs[id];
    if (!e.has_read) {
      operands.complete &= e.free.empty();
      continue;
    }
    if (!needs(id, sides.n))
      operands.a.push_back(id);
    else if (!needs(id, sides.m))
      operands.b.push_back(id);
    else if (e.op == Op::read || e.op == Op::fold)
      operands.complete = false;
    else
      for (ExprId operand : e.operands)
        if (seen.insert(operand).second) stack.push_back(operand);
  }
  std::sort(operands.a.begin(), operands.a.end());
  std::sort(operands.b.begin(), operands.b.end());
  return operands;
}

std::vector<std::pair<ExprId, ExprId>> products_of(const Graph& graph, const Comprehension& c,
                                                   const Operands& operands) {
  auto among = [](const std::vector<ExprId>& side, ExprId id) {
    return std::binary_search(side.begin(), side.end(), id);
  };
  std::vector<std::pair<ExprId, ExprId>> products;
  for (ExprId body : c.reduction->body) {
    const Expr& e = graph.exprs[body];
    if (e.op != Op::mul) return {};
    ExprId a = e.operands[0], b = e.operands[1];
    if (!among(operands.a, a)) std::swap(a, b);
    if (!among(operands.a, a) || !among(operands.b, b)) return {};
    products.emplace_back(a, b);
  }
  return products;
}

std::optional<Sides> contraction(const Graph& graph, const Comprehension& c) {
  if (!c.reduction || c.scan || c.reduction->filter || c.reduction->axes.empty())
    return std::nullopt;
  const Monoid& m = graph[c.reduction->monoid];
  if (m.form != Monoid::Form::expressions || !m.commutative) return std::nullopt;
  for (const MonoidField& field : m.fields)
    if (!field.axes.empty() || field.scalar == Scalar::boolean) return std::nullopt;
  for (const Axis& axis : c.reduction->axes)
    if (axis.lo || axis.hi) return std::nullopt;
  for (const Result& result : c.results)
    if (!result.extra.empty() || graph[result.tensor].over) return std::nullopt;
  Sides sides = sides_of(graph, c);
  if (sides.m.empty() || sides.n.empty() || !operands_of(graph, c, sides).complete)
    return std::nullopt;
  return sides;
}

bool fits_i32(const Graph& graph, const Comprehension& node, size_t field, const Prover& prover) {
  for (const Result& result : node.results)
    if (graph[result.tensor].accumulate == ElemType::i32) return true;
  // A sum of n terms of at most b each stays below n*b.
  const Reduction& r = *node.reduction;
  const Monoid& m = graph[r.monoid];
  if (node.scan || m.form != Monoid::Form::expressions) return false;
  const Expr& combine = graph.exprs[m.combine[field]];
  auto state = [&](ExprId id) {
    return graph.exprs[id].op == Op::lhs || graph.exprs[id].op == Op::rhs;
  };
  if (combine.op != Op::add || !state(combine.operands[0]) || !state(combine.operands[1]))
    return false;
  IntRange each = prover.range(r.body[field]), whole = range_of(ElemType::i32);
  if (!whole.contains(each)) return false;
  std::optional<int64_t> most = std::max(std::abs(each.lo), std::abs(each.hi));
  for (const Axis& axis : r.axes) {
    int64_t extent = prover.range(axis.extent).hi;
    most = most && extent < (int64_t{1} << 40) ? checked_mul(*most, extent) : std::nullopt;
  }
  return most && *most <= whole.hi;
}

bool contiguous_along(const Graph& graph, ExprId term, IndexId index) {
  for (ExprId id : reachable(graph.exprs, {&term, 1})) {
    const Expr& e = graph.exprs[id];
    if (e.op != Op::read) continue;
    size_t rank = graph[TensorId(e.ref)].shape.size();
    if (rank == 0) continue;
    const auto& free = graph.exprs[e.operands[rank - 1]].free;
    if (std::binary_search(free.begin(), free.end(), index)) return true;
  }
  return false;
}

} // namespace tang::graph
