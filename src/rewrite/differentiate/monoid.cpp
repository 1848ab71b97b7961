#include "rewrite/differentiate/monoid.h"
#include "rewrite/differentiate/terms.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

FieldKind kind_of(const Graph& graph, MonoidId id, uint32_t field) {
  const ExprStore& s = graph.exprs;
  const Monoid& m = graph[id];
  if (m.form != Monoid::Form::expressions || m.fields[field].scalar != Scalar::real)
    return FieldKind::general;
  const Expr& e = s[m.combine[field]];
  if (e.operands.size() != 2) return FieldKind::general;
  auto is_state = [&](size_t k, Op op) {
    const Expr& x = s[e.operands[k]];
    if (x.op != op || x.ref != field || x.operands.size() != m.fields[field].axes.size())
      return false;
    for (size_t p = 0; p < x.operands.size(); ++p)
      if (s[x.operands[p]].op != Op::index ||
          IndexId(s[x.operands[p]].ref) != m.fields[field].axes[p].index)
        return false;
    return true;
  };
  bool joins = (is_state(0, Op::lhs) && is_state(1, Op::rhs)) ||
               (is_state(0, Op::rhs) && is_state(1, Op::lhs));
  if (!joins) return FieldKind::general;
  switch (e.op) {
  case Op::add: return FieldKind::additive;
  case Op::max: return FieldKind::maximum;
  case Op::min: return FieldKind::minimum;
  default: return FieldKind::general;
  }
}

std::vector<uint32_t> fields_behind(const Graph& graph, MonoidId id, uint32_t field) {
  const Monoid& m = graph[id];
  std::vector<uint32_t> found{field};
  for (size_t n = 0; n < found.size(); ++n)
    for (ExprId term : reachable(graph.exprs, {&m.combine[found[n]], 1})) {
      const Expr& e = graph.exprs[term];
      bool state = e.op == Op::lhs || e.op == Op::rhs;
      if (state && std::find(found.begin(), found.end(), e.ref) == found.end())
        found.push_back(e.ref);
    }
  std::sort(found.begin(), found.end());
  return found;
}

MonoidId restricted(Graph& graph, MonoidId id, const std::vector<uint32_t>& fields) {
  if (fields.size() == graph[id].fields.size()) return id;
  ExprStore& s = graph.exprs;
  const Monoid m = graph[id];
  Monoid part;
  part.name = m.name, part.commutative = m.commutative;
  for (uint32_t f : fields) {
    part.visible.push_back(static_cast<uint32_t>(part.fields.size()));
    part.fields.push_back(m.fields[f]);
    part.combine.push_back(graph::rewrite(s, m.combine[f], [&](ExprId term) {
      const Expr e = s[term];
      if (e.op != Op::lhs && e.op != Op::rhs) return term;
      auto at = std::find(fields.begin(), fields.end(), e.ref) - fields.begin();
      return s.state(e.op, static_cast<uint32_t>(at), e.scalar, e.operands);
    }));
  }
  return graph.add(std::move(part));
}

MonoidId reversed(Graph& graph, MonoidId id) {
  if (graph[id].commutative) return id;
  ExprStore& s = graph.exprs;
  Monoid m = graph[id];
  m.name += "_reversed", m.builtin = false;
  for (ExprId& combine : m.combine)
    combine = graph::rewrite(s, combine, [&](ExprId term) {
      const Expr e = s[term];
      if (e.op != Op::lhs && e.op != Op::rhs) return term;
      return s.state(e.op == Op::lhs ? Op::rhs : Op::lhs, e.ref, e.scalar, e.operands);
    });
  return graph.add(std::move(m));
}

ExprId combined(Graph& graph, MonoidId id, uint32_t field, std::span<const ExprId> places,
                const StateTerm& lhs, const StateTerm& rhs, IndexId& fresh) {
  ExprStore& s = graph.exprs;
  const Monoid m = graph[id];
  std::unordered_map<IndexId, ExprId> map;
  for (size_t k = 0; k < places.size(); ++k) map[m.fields[field].axes[k].index] = places[k];
  ExprId term = Renaming(s, std::move(map), fresh)(m.combine[field]);
  return graph::rewrite(s, term, [&](ExprId at) {
    const Expr e = s[at];
    if (e.op == Op::lhs) return lhs(e.ref, e.operands);
    if (e.op == Op::rhs) return rhs(e.ref, e.operands);
    return at;
  });
}

ExprId identity_of(Graph& graph, MonoidId id, uint32_t field, std::span<const ExprId> places) {
  const MonoidField& f = graph[id].fields[field];
  std::unordered_map<IndexId, ExprId> map;
  for (size_t k = 0; k < places.size(); ++k) map[f.axes[k].index] = places[k];
  return substitute(graph.exprs, f.identity, map);
}

namespace {

/// The fold's parts for other indices.
Fold renamed(ExprStore& s, std::span<const IndexId> bound, std::span<const ExprId> extents,
             ExprId filter, ExprId body, IndexId& fresh) {
  Fold fold;
  std::unordered_map<IndexId, ExprId> map;
  for (IndexId index : bound) {
    fold.bound.push_back(fresh);
    map[index] = s.index(fresh);
    fresh = IndexId(fresh.value + 1);
  }
  Renaming rename(s, std::move(map), fresh);
  fold.extents.assign(extents.begin(), extents.end());
  fold.filter = rename(filter), fold.body = rename(body);
  return fold;
}

} // namespace

Fold opened(ExprStore& s, const Expr& fold, IndexId& fresh) {
  return renamed(s, fold.bound, std::span(fold.operands).subspan(2), fold.operands[1],
                 fold.operands[0], fresh);
}

ExprId part_of_fold(ExprStore& s, const Fold& fold, MonoidId monoid, bool before, IndexId& fresh) {
  Fold other = renamed(s, fold.bound, fold.extents, fold.filter, fold.body, fresh);
  // Row-major order: the first index that differs decides.
  ExprId order = s.boolean(false);
  for (size_t k = fold.bound.size(); k-- > 0;) {
    ExprId mine = s.index(fold.bound[k]), its = s.index(other.bound[k]);
    ExprId decides = before ? s.binary(Op::lt, its, mine) : s.binary(Op::lt, mine, its);
    order = s.binary(Op::logical_or, decides, s.logical_and(s.binary(Op::eq, its, mine), order));
  }
  return s.fold(monoid, s[fold.body].scalar, other.bound, other.extents,
                s.logical_and(order, other.filter), other.body);
}

} // namespace tang::rewrite
