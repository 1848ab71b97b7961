#include "rewrite/differentiate/shift.h"
#include "base/check.h"
#include "graph/polynomial.h"
#include "graph/reads.h"
#include "rewrite/differentiate/monoid.h"
#include "rewrite/differentiate/online.h"
#include <algorithm>
#include <cmath>

namespace tang::rewrite {
using namespace graph;

namespace {

using Kind = Shift::Kind;
const Shift unchanged, no_identity{Kind::unknown, 0, {}, {}};

Shift shift(Kind kind, double degree, std::vector<ExprId> row) {
  if (degree == 0) return unchanged;
  return {kind, degree, std::move(row), {}};
}

bool is_still(const Shift& s) {
  return s.kind == Kind::none || s.kind == Kind::zero;
}

/// The shifts of the terms of one node.
class Terms {
public:
  Terms(Graph& graph, const Shifts& shifts, TensorId source)
      : graph_(graph), s_(graph.exprs), shifts_(shifts), source_(source) {}

  std::vector<Shift> states; ///< of the reduction's fields

  Shift of(ExprId root) {
    for (ExprId id : reachable(s_, {&root, 1}))
      if (!known_.contains(id)) known_[id] = derive(s_[id]); // copies of terms: reads make new ones
    return known_.at(root);
  }

private:
  Shift derive(const Expr e) {
    auto at = [&](size_t k) -> const Shift& { return known_.at(e.operands[k]); };
    switch (e.op) {
    case Op::literal_real: return {e.real == 0 ? Kind::zero : Kind::none, 0, {}, {}};
    case Op::literal_bool: return {Kind::none, 0, {}, e.integer != 0};
    case Op::read: return read(e);
    case Op::acc: return e.ref < states.size() ? states[e.ref] : no_identity;
    case Op::fold: return fold(e);
    case Op::neg:
      return at(0).kind == Kind::additive ? shift(Kind::additive, -at(0).degree, at(0).row) : at(0);
    case Op::add: return sum(at(0), at(1), 1);
    case Op::sub: return sum(at(0), at(1), -1);
    case Op::mul: return product(e, at(0), at(1), 1);
    case Op::div: return product(e, at(0), at(1), -1);
    case Op::exp: return turned(at(0), Kind::additive, Kind::multiplicative);
    case Op::log: return turned(at(0), Kind::multiplicative, Kind::additive);
    case Op::sqrt: return power(at(0), 0.5);
    case Op::rsqrt: return power(at(0), -0.5);
    case Op::abs: return at(0).kind == Kind::additive ? no_identity : at(0);
    case Op::min:
    case Op::max: return same(at(0), at(1));
    case Op::select: return select(at(0), at(1), at(2));
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le: return comparison(e, at(0), at(1));
    case Op::logical_not:
      return {at(0).kind, 0, {}, at(0).truth ? std::optional(!*at(0).truth) : std::nullopt};
    case Op::logical_and:
    case Op::logical_or: return connected(e.op == Op::logical_or, at(0), at(1));
    case Op::literal_int:
    case Op::index:
    case Op::dim:
    case Op::lhs:
    case Op::rhs:
    case Op::sign:
    case Op::floordiv:
    case Op::mod:
    case Op::pow:
    case Op::atan2:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::exp2:
    case Op::log2:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::tanh:
    case Op::erf:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::shl:
    case Op::shr:
    case Op::to_real:
    case Op::cast: break;
    }
    bool still = std::all_of(e.operands.begin(), e.operands.end(),
                             [&](ExprId id) { return is_still(known_.at(id)); });
    return still ? unchanged : no_identity;
  }

  Shift read(const Expr& e) {
    for (ExprId place : places_of(e))
      if (!is_still(known_.at(place))) return no_identity;
    Shift inside;
    auto found = shifts_.find(TensorId(e.ref));
    if (found != shifts_.end()) {
      inside = found->second;
      std::unordered_map<IndexId, ExprId> map;
      for (uint32_t k = 0; k < places_of(e).size(); ++k) map[IndexId(k)] = e.operands[k];
      for (ExprId& term : inside.row) term = canonical(s_, substitute(s_, term, map));
    }
    return e.guarded ? same(inside, known_.at(e.operands.back())) : inside;
  }

  /// Both change alike; 0 changes as anything that is scaled.
  static Shift same(const Shift& a, const Shift& b) {
    if (a.kind == Kind::zero && b.kind == Kind::multiplicative) return b;
    if (b.kind == Kind::zero && a.kind == Kind::multiplicative) return a;
    if (is_still(a) && is_still(b))
      return a.kind == Kind::zero && b.kind == Kind::zero ? a : unchanged;
    return a == b ? a : no_identity;
  }

  static Shift sum(const Shift& a, const Shift& b, double sign) {
    if (a.kind == Kind::additive || b.kind == Kind::additive) {
      if (is_still(b)) return a;
      if (is_still(a)) return shift(Kind::additive, sign * b.degree, b.row);
      if (a.kind != b.kind || a.row != b.row) return no_identity;
      return shift(Kind::additive, a.degree + sign * b.degree, a.row);
    }
    return same(a, b);
  }

  Shift product(const Expr& e, const Shift& a, const Shift& b, double sign) const {
    if (a.kind == Kind::unknown || b.kind == Kind::unknown) return no_identity;
    auto scaled = [&](const Shift& x, ExprId by) {
      const Expr& factor = s_[by];
      if (factor.op != Op::literal_real || !std::isfinite(factor.real)) return no_identity;
      return shift(Kind::additive, sign > 0 ? x.degree * factor.real : x.degree / factor.real,
                   x.row);
    };
    if (a.kind == Kind::additive) return scaled(a, e.operands[1]);
    if (b.kind == Kind::additive) return sign > 0 ? scaled(b, e.operands[0]) : no_identity;
    if (is_still(b)) return a;
    if (is_still(a)) return shift(Kind::multiplicative, sign * b.degree, b.row);
    if (a.row != b.row) return no_identity;
    return shift(Kind::multiplicative, a.degree + sign * b.degree, a.row);
  }

  static Shift turned(const Shift& a, Kind from, Kind to) {
    if (is_still(a)) return unchanged;
    return a.kind == from ? shift(to, a.degree, a.row) : no_identity;
  }

  static Shift power(const Shift& a, double exponent) {
    if (is_still(a)) return unchanged;
    if (a.kind != Kind::multiplicative) return no_identity;
    return shift(Kind::multiplicative, a.degree * exponent, a.row);
  }

  static Shift select(const Shift& condition, const Shift& a, const Shift& b) {
    if (!is_still(condition)) return no_identity;
    if (condition.truth) return *condition.truth ? a : b;
    return same(a, b);
  }

  /// Where m is infinite a choice by that takes nothing from it; elsewhere m is no infinity, and
  /// nothing that it is added to becomes one.
  Shift comparison(const Expr& e, const Shift& a, const Shift& b) const {
    if (is_still(a) && is_still(b)) return unchanged;
    if (a.kind == Kind::unknown || b.kind == Kind::unknown) return no_identity;
    auto is_infinite = [&](ExprId id) {
      return s_[id].op == Op::literal_real && std::isinf(s_[id].real);
    };
    auto is_source = [&](ExprId id) {
      return s_[id].op == Op::read && TensorId(s_[id].ref) == source_;
    };
    for (size_t k : {0, 1})
      if (is_infinite(e.operands[k])) {
        bool equality = e.op == Op::eq || e.op == Op::ne;
        if (equality && is_source(e.operands[1 - k])) return {Kind::none, 0, {}, e.op == Op::ne};
        return unchanged;
      }
    if (a == b) return unchanged; // x < y and x + t < y + t, c*x < c*y for c > 0
    bool with_zero = (a.kind == Kind::zero && b.kind == Kind::multiplicative) ||
                     (b.kind == Kind::zero && a.kind == Kind::multiplicative);
    return with_zero ? unchanged : no_identity;
  }

  static Shift connected(bool absorbing, const Shift& a, const Shift& b) {
    if (a.truth == absorbing || b.truth == absorbing) return {Kind::none, 0, {}, absorbing};
    if (!is_still(a) || !is_still(b)) return no_identity;
    if (a.truth && b.truth) return {Kind::none, 0, {}, !absorbing};
    return unchanged;
  }

  Shift fold(const Expr& e) {
    const Shift body = known_.at(e.operands[0]), filter = known_.at(e.operands[1]);
    if (is_still(body) && is_still(filter)) return unchanged;
    if (!is_still(filter)) return no_identity;
    return reduced(body, kind_of(graph_, MonoidId(e.ref), 0), e.bound);
  }

public:
  /// The shift of what joins bodies over the indices.
  Shift reduced(const Shift& body, FieldKind kind, std::span<const IndexId> over) const {
    if (is_still(body)) return unchanged;
    for (ExprId term : body.row)
      for (IndexId index : over)
        if (std::binary_search(s_[term].free.begin(), s_[term].free.end(), index))
          return no_identity;
    bool keeps = kind == FieldKind::additive
                     ? body.kind == Kind::multiplicative
                     : kind != FieldKind::general && body.kind != Kind::unknown;
    return keeps ? body : no_identity;
  }

private:
  Graph& graph_;
  ExprStore& s_;
  const Shifts& shifts_;
  TensorId source_;
  std::unordered_map<ExprId, Shift> known_;
};

/// The states of a reduction or scan.
std::vector<Shift> states_of(Graph& graph, const Comprehension& c, Terms& terms) {
  const Reduction& r = *c.reduction;
  const Monoid m = graph[r.monoid];
  std::vector<Shift> bodies, states;
  bool still = !r.filter || is_still(terms.of(r.filter));
  if (!still) return std::vector<Shift>(m.fields.size(), no_identity);
  for (ExprId body : r.body) {
    bodies.push_back(terms.of(body));
    still &= is_still(bodies.back());
  }
  std::vector<IndexId> over;
  for (const Axis& axis : r.axes) over.push_back(axis.index);
  if (c.scan) over.push_back(c.points[c.scan->axis].index);
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (still) {
      states.push_back(unchanged);
    } else if (m.form == Monoid::Form::topk) {
      // Values are some of the elements; which they are does not change with all of them.
      Shift value = terms.reduced(bodies[0], FieldKind::maximum, over);
      states.push_back(f == 0 || value.kind == Kind::unknown ? value : unchanged);
    } else if (auto max = scaled_by_maximum(graph, r.monoid, f); max && !c.scan) {
      // Relative to the maximum: a shift of all that is compared leaves it.
      Shift value = terms.reduced(bodies[*max], FieldKind::maximum, over);
      states.push_back(value.kind == Kind::unknown || value.kind == Kind::multiplicative
                           ? no_identity
                           : terms.reduced(bodies[f], FieldKind::additive, over));
    } else {
      states.push_back(terms.reduced(bodies[f], kind_of(graph, r.monoid, f), over));
      // Other fields may stand in the combine; only a field by itself is known.
      if (fields_behind(graph, r.monoid, f).size() > 1) states.back() = no_identity;
    }
  }
  return states;
}

std::vector<Shift> shifts_of(Graph& graph, const Comprehension& c, const Shifts& shifts,
                             TensorId source) {
  Terms terms(graph, shifts, source);
  if (c.reduction) terms.states = states_of(graph, c, terms);
  std::vector<Shift> found;
  for (const Result& result : c.results) {
    Shift value = terms.of(result.value);
    std::unordered_map<IndexId, ExprId> places;
    uint32_t place = 0;
    for (const auto* axes : {&c.points, &result.extra})
      for (const Axis& axis : *axes) places[axis.index] = graph.exprs.index(IndexId(place++));
    for (ExprId& term : value.row) term = substitute(graph.exprs, term, places);
    found.push_back(std::move(value));
  }
  return found;
}

} // namespace

std::vector<Shift> shifts_of(Graph& graph, const Node& node, const Shifts& shifts,
                             TensorId source) {
  return std::visit(
      Overload{
          [&](const Comprehension& c) { return shifts_of(graph, c, shifts, source); },
          [&](const Recur&) { return std::vector<Shift>(defines_of(node).size(), no_identity); },
          [](const Gradient& g) -> std::vector<Shift> { reject(g); }},
      node.definition);
}

} // namespace tang::rewrite
