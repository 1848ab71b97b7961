// What is known (axes, facts, ranges) and what a condition says about it. The search for a proof is
// in prove.cpp.
#include "graph/prover.h"
#include "base/check.h"
#include "base/checked.h"
#include "graph/interval.h"
#include <algorithm>

namespace tang::graph {
namespace {

/// a - b - slack, or empty when the terms are no integers.
std::optional<Polynomial> difference(const ExprStore& store, ExprId a, ExprId b, int64_t slack) {
  auto p = polynomial_of(store, a), q = polynomial_of(store, b);
  if (!p || !q) return std::nullopt;
  auto d = p->minus(*q);
  return d && slack != 0 ? d->minus(Polynomial::constant(slack)) : d;
}

} // namespace

const Axis* Prover::axis_of(IndexId index) const {
  // Latest first: a scope that ended may have used the same index.
  auto at = std::find_if(axes_.rbegin(), axes_.rend(),
                         [&](const Axis& axis) { return axis.index == index; });
  return at == axes_.rend() ? nullptr : &*at;
}

void Prover::add_axis(const Axis& axis) {
  std::erase_if(axes_, [&](const Axis& old) { return old.index == axis.index; });
  axes_.push_back(axis);
  auto nonempty = [&](ExprId from, ExprId to) {
    auto q = polynomial_of(graph_.exprs, to);
    auto p = from ? polynomial_of(graph_.exprs, from) : Polynomial();
    if (!p || !q) return;
    auto d = q->minus(*p);
    if (d) d = d->minus(Polynomial::constant(1));
    // A constant says nothing, but for a negative one: then there is no point at all.
    if (d && d->as_constant().value_or(-1) < 0) facts_.push_back(std::move(*d));
  };
  nonempty({}, axis.extent);
  if (axis.hi) nonempty({}, axis.hi);
  if (axis.lo) nonempty(axis.lo, axis.extent);
  if (axis.lo && axis.hi) nonempty(axis.lo, axis.hi);
}

void Prover::assume(ExprId root, bool truth) {
  const ExprStore& s = graph_.exprs;
  auto fact = [&](std::optional<Polynomial> p) {
    // A constant says nothing, but for a negative one: then nothing is here at all.
    if (p && p->as_constant().value_or(-1) < 0) facts_.push_back(normalized(*p));
  };
  std::vector<std::pair<ExprId, bool>> stack{{root, truth}};
  while (!stack.empty()) {
    auto [id, value] = stack.back();
    stack.pop_back();
    const Expr& e = s[id];
    if (e.op == Op::logical_not) {
      stack.emplace_back(e.operands[0], !value);
    } else if (e.op == Op::literal_bool) {
      if ((e.integer != 0) != value) fact(Polynomial::constant(-1));
    } else if (e.op == Op::logical_and || e.op == Op::logical_or) {
      if (value == (e.op == Op::logical_and)) {
        // Left first, so that facts stand in the order of the text.
        stack.emplace_back(e.operands[1], value), stack.emplace_back(e.operands[0], value);
      } else {
        // One of two: known only when the other is excluded.
        for (int k : {0, 1})
          if (decide(e.operands[static_cast<size_t>(k)]) == !value) {
            stack.emplace_back(e.operands[static_cast<size_t>(1 - k)], value);
            break;
          }
      }
    } else if (e.op == Op::lt || e.op == Op::le) {
      int64_t strict = e.op == Op::lt;
      if (value)
        fact(difference(s, e.operands[1], e.operands[0], strict));
      else
        fact(difference(s, e.operands[0], e.operands[1], 1 - strict));
    } else if ((e.op == Op::eq || e.op == Op::ne) && s[e.operands[0]].scalar == Scalar::integer) {
      ExprId a = e.operands[0], b = e.operands[1];
      if (value == (e.op == Op::eq)) {
        fact(difference(s, a, b, 0)), fact(difference(s, b, a, 0));
      } else {
        if (less_equal(b, a)) fact(difference(s, a, b, 1));
        if (less_equal(a, b)) fact(difference(s, b, a, 1));
      }
    }
  }
}

bool Prover::less(ExprId a, ExprId b) const {
  auto d = difference(graph_.exprs, b, a, 1);
  return d && nonnegative(*d);
}

bool Prover::less_equal(ExprId a, ExprId b) const {
  auto d = difference(graph_.exprs, b, a, 0);
  return d && nonnegative(*d);
}

bool Prover::in_range(ExprId place, ExprId extent) const {
  auto p = polynomial_of(graph_.exprs, place);
  return p && nonnegative(*p) && less(place, extent);
}

bool Prover::holds_comparison(Op op, ExprId a, ExprId b) const {
  switch (op) {
  case Op::lt: return less(a, b);
  case Op::le: return less_equal(a, b);
  case Op::eq: return less_equal(a, b) && less_equal(b, a);
  case Op::ne: return less(a, b) || less(b, a);
  default: return false;
  }
}

std::optional<bool> Prover::decide(ExprId root) const {
  const ExprStore& s = graph_.exprs;
  std::unordered_map<ExprId, std::optional<bool>> done;
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    const Expr& e = s[id];
    bool logic = e.op == Op::logical_and || e.op == Op::logical_or || e.op == Op::logical_not;
    if (!done.contains(id) && logic) {
      bool ready = true;
      for (ExprId operand : e.operands)
        if (!done.contains(operand)) stack.push_back(operand), ready = false;
      if (!ready) continue;
    }
    stack.pop_back();
    if (done.contains(id)) continue;
    std::optional<bool> value;
    auto operand = [&](size_t k) { return done.at(e.operands[k]); };
    if (e.op == Op::literal_bool)
      value = e.integer != 0;
    else if (e.op == Op::logical_not)
      value = operand(0) ? std::optional(!*operand(0)) : std::nullopt;
    else if (logic) {
      bool absorbing = e.op == Op::logical_or;
      if (operand(0) == absorbing || operand(1) == absorbing)
        value = absorbing;
      else if (operand(0) && operand(1))
        value = !absorbing;
    } else if (e.operands.size() == 2 && s[e.operands[0]].scalar == Scalar::integer) {
      ExprId a = e.operands[0], b = e.operands[1];
      if (holds_comparison(e.op, a, b))
        value = true;
      else if ((e.op == Op::lt && less_equal(b, a)) || (e.op == Op::le && less(b, a)) ||
               (e.op == Op::eq && holds_comparison(Op::ne, a, b)) ||
               (e.op == Op::ne && holds_comparison(Op::eq, a, b)))
        value = false;
    }
    done[id] = value;
  }
  return done.at(root);
}

IntRange Prover::range(ExprId id) const {
  std::unordered_map<ExprId, IntRange> known;
  return range(id, known);
}

namespace {

/// The terms whose ranges give the range of `e`; an axis's bounds for an index.
InlineVector<ExprId, 4> range_sources(const ExprStore& store, const Expr& e, const Axis* axis) {
  switch (e.op) {
  case Op::index: {
    InlineVector<ExprId, 4> sources;
    if (axis)
      for (ExprId bound : {axis->extent, axis->lo, axis->hi})
        if (bound) sources.push_back(bound);
    return sources;
  }
  case Op::select: return {e.operands[1], e.operands[2]};
  case Op::cast:
    if (store[e.operands[0]].scalar != Scalar::integer) return {};
    return e.operands;
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::neg:
  case Op::min:
  case Op::max:
  case Op::abs:
  case Op::floordiv:
  case Op::mod: return e.operands;
  case Op::read:
    if (!e.guarded) return {};
    return {e.operands.back()};
  default: return {};
  }
}

} // namespace

IntRange Prover::range(ExprId root, std::unordered_map<ExprId, IntRange>& known) const {
  const ExprStore& s = graph_.exprs;
  auto range_of_term = [&](const Expr& e, const Axis* axis) -> IntRange {
    auto operand = [&](size_t k) { return known.at(e.operands[k]); };
    switch (e.op) {
    case Op::literal_int: return interval::point(e.integer);
    case Op::dim: {
      const Dim& dim = graph_[DimId(e.ref)];
      return interval::multiples({dim.lo, dim.hi}, dim.step);
    }
    case Op::index: {
      IntRange r{0, std::numeric_limits<int64_t>::max()};
      if (!axis) return IntRange();
      auto below = [&](ExprId bound) {
        int64_t hi = known.at(bound).hi;
        if (hi != std::numeric_limits<int64_t>::max()) r.hi = std::min(r.hi, hi - 1);
      };
      below(axis->extent);
      if (axis->hi) below(axis->hi);
      if (axis->lo) r.lo = std::max(r.lo, known.at(axis->lo).lo);
      return r.lo <= r.hi ? r : IntRange{0, std::max<int64_t>(0, r.hi)};
    }
    case Op::read: {
      const Tensor& tensor = graph_[TensorId(e.ref)];
      IntRange r;
      if (tensor.kind != TensorKind::intermediate) r = range_of(tensor.type);
      if (tensor.range && (trusts_data_ || tensor.is_step)) r = *tensor.range;
      // A gather that leaves its tensor reads as 0.
      IntRange other = e.guarded ? known.at(e.operands.back()) : r;
      bool gathers = std::any_of(e.operands.begin(), e.operands.end() - (e.guarded ? 1 : 0),
                                 [&](ExprId place) { return s[place].has_read; });
      if (gathers && !e.guarded) other = interval::point(0);
      return interval::hull(r, other);
    }
    case Op::cast: {
      IntRange type = range_of(e.to);
      if (s[e.operands[0]].scalar != Scalar::integer) return type;
      IntRange from = operand(0); // conversions saturate
      return {std::clamp(from.lo, type.lo, type.hi), std::clamp(from.hi, type.lo, type.hi)};
    }
    case Op::add: return interval::add(operand(0), operand(1));
    case Op::sub: return interval::add(operand(0), interval::negate(operand(1)));
    case Op::mul: return interval::multiply(operand(0), operand(1));
    case Op::neg: return interval::negate(operand(0));
    case Op::min: return interval::min(operand(0), operand(1));
    case Op::max: return interval::max(operand(0), operand(1));
    case Op::abs: return interval::absolute(operand(0));
    case Op::sign: return {-1, 1};
    case Op::floordiv: return interval::floordiv(operand(0), operand(1));
    case Op::mod: return interval::mod(operand(0), operand(1));
    case Op::select: return interval::hull(known.at(e.operands[1]), known.at(e.operands[2]));
    default: return IntRange();
    }
  };
  InlineVector<ExprId, 16> stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    if (known.contains(id)) {
      stack.pop_back();
      continue;
    }
    const Expr& e = s[id];
    const Axis* axis = e.op == Op::index ? axis_of(IndexId(e.ref)) : nullptr;
    bool ready = true;
    for (ExprId source : range_sources(s, e, axis))
      if (!known.contains(source)) stack.push_back(source), ready = false;
    if (!ready) continue;
    stack.pop_back();
    known[id] = e.scalar == Scalar::integer ? range_of_term(e, axis) : IntRange();
  }
  return known.at(root);
}

} // namespace tang::graph
