#include "rewrite/differentiate/sweep.h"
#include "base/check.h"
#include "graph/reads.h"
#include "rewrite/differentiate/derivative.h"
#include "rewrite/differentiate/monoid.h"
#include "rewrite/differentiate/terms.h"

namespace tang::rewrite {
using namespace graph;

void Sweep::seed(ExprId term, PathId path, ExprId adjoint) {
  if (active_(term)) pending_[term].emplace_back(path, adjoint);
}

std::vector<Leaf> Sweep::run() {
  while (!pending_.empty()) {
    auto next = pending_.extract(pending_.begin());
    auto [path, adjoint] = joined(s_, paths_, next.mapped());
    visit(next.key(), path, adjoint);
  }
  return std::move(found_);
}

void Sweep::branch(ExprId operand, PathId path, ExprId condition, bool taken, ExprId adjoint) {
  // A branch that is never taken is none.
  if (s_.as_boolean(condition) == !taken) return;
  if (active_(operand)) seed(operand, paths_.enter(path, condition, taken), adjoint);
}

void Sweep::visit(ExprId id, PathId path, ExprId adjoint) {
  const Expr e = s_[id]; // a copy: new terms move the store's
  bool is_leaf = e.op == Op::read || e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs;
  if (is_leaf && leaf_(id)) found_.push_back({id, adjoint, path});
  if (e.op == Op::read) return guarded_read(e, path, adjoint);
  if (is_leaf) return;
  if (e.op == Op::fold) return fold(e, path, adjoint);
  if (e.op == Op::min || e.op == Op::max) return extremum(e, path, adjoint);
  if (e.op == Op::select) {
    branch(e.operands[1], path, e.operands[0], true, adjoint);
    branch(e.operands[2], path, e.operands[0], false, adjoint);
    return;
  }
  for (size_t k = 0; k < e.operands.size(); ++k)
    if (Activity::flows(s_, e, k) && active_(e.operands[k]))
      seed(e.operands[k], path, times_derivative(s_, id, k, adjoint));
}

/// The first argument where it is no worse than the second, or NaN; else the second.
void Sweep::extremum(const Expr& e, PathId path, ExprId adjoint) {
  ExprId a = e.operands[0], b = e.operands[1];
  auto is_number = [&](ExprId id) {
    return s_[id].op == Op::literal_real && s_[id].real == s_[id].real;
  };
  auto compare = [&](Op op, ExprId x, ExprId y) {
    return e.op == Op::max ? s_.binary(op, y, x) : s_.binary(op, x, y);
  };
  ExprId first = compare(Op::le, a, b);
  // A comparison with NaN is false. Only where neither is a number it takes a second one to tell.
  if (is_number(b))
    first = s_.unary(Op::logical_not, compare(Op::lt, b, a));
  else if (!is_number(a))
    first = s_.binary(Op::logical_or, first, s_.binary(Op::ne, a, a));
  branch(a, path, first, true, adjoint);
  branch(b, path, first, false, adjoint);
}

/// Outside its tensor a read gives the other value. Inside it, the place itself says so.
void Sweep::guarded_read(const Expr& e, PathId path, ExprId adjoint) {
  if (!e.guarded || !active_(e.operands.back())) return;
  const std::vector<ExprId> shape = graph_[TensorId(e.ref)].shape;
  ExprId inside = s_.boolean(true);
  for (size_t k = 0; k < places_of(e).size(); ++k) {
    inside = s_.logical_and(inside, s_.binary(Op::le, s_.integer(0), e.operands[k]));
    inside = s_.logical_and(inside, s_.binary(Op::lt, e.operands[k], shape[k]));
  }
  branch(e.operands.back(), path, inside, false, adjoint);
}

/// A sum hands its adjoint to every point. Under another monoid a point stands between what comes
/// before it and what comes behind it: fold = before + body + behind.
void Sweep::fold(const Expr& e, PathId path, ExprId adjoint) {
  MonoidId sum = *graph_.builtin("sum", Scalar::real);
  MonoidId monoid(e.ref);
  Fold inner = opened(s_, e, fresh_);
  PathId inside = paths_.enter_fold(path, sum, inner.bound, inner.extents, inner.filter);
  if (kind_of(graph_, monoid, 0) == FieldKind::additive) return seed(inner.body, inside, adjoint);
  ExprId before = part_of_fold(s_, inner, monoid, true, fresh_),
         behind = part_of_fold(s_, inner, monoid, false, fresh_);
  active_.freeze(before), active_.freeze(behind);
  auto constant = [](ExprId value) {
    return [value](uint32_t, std::span<const ExprId>) { return value; };
  };
  ExprId first = combined(graph_, monoid, 0, {}, constant(before), constant(inner.body), fresh_);
  seed(combined(graph_, monoid, 0, {}, constant(first), constant(behind), fresh_), inside, adjoint);
}

} // namespace tang::rewrite
