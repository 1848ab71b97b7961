#include "graph/scaled_monoid.h"
#include <algorithm>

namespace tang::graph {

namespace {

/// Whether a term is the state of this field at the field's own place, on one side.
bool is_state(const Graph& graph, const Monoid& monoid, ExprId id, Op side, uint32_t field) {
  const Expr& e = graph.exprs[id];
  const auto& axes = monoid.fields[field].axes;
  if (e.op != side || e.ref != field || e.operands.size() != axes.size()) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Expr& place = graph.exprs[e.operands[i]];
    if (place.op != Op::index || place.ref != axes[i].index.value) return false;
  }
  return true;
}

bool is_reference(const Graph& graph, const Monoid& monoid, uint32_t field) {
  const Expr& e = graph.exprs[monoid.combine[field]];
  if (!monoid.fields[field].axes.empty() || (e.op != Op::max && e.op != Op::min)) return false;
  return is_state(graph, monoid, e.operands[0], Op::lhs, field) &&
         is_state(graph, monoid, e.operands[1], Op::rhs, field);
}

class Weights {
public:
  Weights(const Graph& graph, const Monoid& monoid, const std::vector<uint32_t>& references)
      : graph_(graph), monoid_(monoid), references_(references) {}

  /// The weight of `field`'s state on one side of a sum: empty = 1; nothing where it is no weight.
  std::optional<ExprId> of(ExprId term, Op side, uint32_t field) const {
    if (is_state(graph_, monoid_, term, side, field)) return ExprId();
    const Expr& e = graph_.exprs[term];
    if (e.op != Op::mul) return std::nullopt;
    for (int i : {0, 1})
      if (is_state(graph_, monoid_, e.operands[i], side, field) && is_weight(e.operands[1 - i]))
        return e.operands[1 - i];
    return std::nullopt;
  }

  using Fall = ScaledMonoid::Amount::Fall;

  /// The fall of both weights of an amount.
  std::optional<Fall> fall(ExprId left, ExprId right) const {
    if (!left || !right) return std::nullopt;
    auto of_left = fall(left, Op::lhs, Op::rhs), of_right = fall(right, Op::rhs, Op::lhs);
    return of_left == of_right ? of_left : std::nullopt;
  }

private:
  /// `other <= own ? 1 : exp(own - other)`
  std::optional<Fall> fall(ExprId weight, Op own, Op other) const {
    const Expr& choice = graph_.exprs[weight];
    const Expr& power = graph_.exprs[choice.operands[2]];
    if (power.op != Op::exp && power.op != Op::exp2) return std::nullopt;
    const Expr &difference = graph_.exprs[power.operands[0]],
               &condition = graph_.exprs[choice.operands[0]];
    if (difference.op != Op::sub) return std::nullopt;
    ExprId from = difference.operands[0], to = difference.operands[1];
    if (condition.operands[0] != to || condition.operands[1] != from) return std::nullopt;
    const Expr &a = graph_.exprs[from], &b = graph_.exprs[to];
    if (a.op != own || b.op != other || a.ref != b.ref) return std::nullopt;
    if (graph_.exprs[monoid_.combine[a.ref]].op != Op::max) return std::nullopt;
    return Fall{a.ref, power.op};
  }
  /// A term over references that is 1 where both sides have the same: a choice of which the
  /// condition holds there.
  bool is_weight(ExprId weight) const {
    for (ExprId id : reachable(graph_.exprs, {&weight, 1})) {
      const Expr& e = graph_.exprs[id];
      bool state = e.op == Op::lhs || e.op == Op::rhs;
      if (e.op == Op::fold || e.op == Op::read || e.op == Op::acc) return false;
      if (state && !std::count(references_.begin(), references_.end(), e.ref)) return false;
    }
    const Expr& choice = graph_.exprs[weight];
    if (choice.op != Op::select) return false;
    const Expr& condition = graph_.exprs[choice.operands[0]];
    if (condition.op != Op::le) return false;
    const Expr &a = graph_.exprs[condition.operands[0]], &b = graph_.exprs[condition.operands[1]];
    bool same = a.ref == b.ref &&
                ((a.op == Op::lhs && b.op == Op::rhs) || (a.op == Op::rhs && b.op == Op::lhs));
    const Expr& one = graph_.exprs[choice.operands[1]];
    return same && one.op == Op::literal_real && one.real == 1;
  }

  const Graph& graph_;
  const Monoid& monoid_;
  const std::vector<uint32_t>& references_;
};

} // namespace

std::optional<ScaledMonoid> scaled_monoid(const Graph& graph, const Monoid& monoid) {
  if (monoid.form != Monoid::Form::expressions) return std::nullopt;
  ScaledMonoid out;
  for (const MonoidField& field : monoid.fields)
    if (field.scalar != Scalar::real) return std::nullopt;
  for (uint32_t f = 0; f < monoid.fields.size(); ++f)
    if (is_reference(graph, monoid, f)) out.references.push_back(f);
  Weights weights(graph, monoid, out.references);
  for (uint32_t f = 0; f < monoid.fields.size(); ++f) {
    if (std::count(out.references.begin(), out.references.end(), f)) continue;
    const Expr& sum = graph.exprs[monoid.combine[f]];
    const Expr& zero = graph.exprs[monoid.fields[f].identity];
    if (sum.op != Op::add || zero.op != Op::literal_real || zero.real != 0) return std::nullopt;
    auto left = weights.of(sum.operands[0], Op::lhs, f),
         right = weights.of(sum.operands[1], Op::rhs, f);
    if (!left || !right) return std::nullopt;
    out.amounts.push_back({f, *left, *right, weights.fall(*left, *right)});
  }
  return out;
}

} // namespace tang::graph
