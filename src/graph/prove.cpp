// The search behind Prover::nonnegative.
//
// A goal is a polynomial over integer atoms. Each step replaces it by one that is not larger, for
// every value that the facts allow:
//   - an atom with a meaning (floordiv, mod, min, max, abs, select) by what bounds it;
//   - an index by the end of its axis that makes the goal least, outer axes last;
//   - a dim by lo + d with d >= 0: a polynomial in such d without negative coefficients is >= 0;
//   - the goal by goal - t*fact, with t >= 0 chosen so that a monomial cancels.
// Where a step multiplies the goal by c, the slack c-1 is added: for an integer g, c*g + c-1 >= 0
// means g >= 0. Nothing else is lost, so `floordiv(j, 16)` is compared with `ceil` exactly.
#include "base/check.h"
#include "base/checked.h"
#include "graph/interval.h"
#include "graph/prover.h"
#include <algorithm>
#include <functional>

namespace tang::graph {
namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t greatest = std::numeric_limits<int64_t>::max();

using Maybe = std::optional<Polynomial>;

Maybe scaled(const Polynomial& p, int64_t factor) {
  return p.times(Polynomial::constant(factor));
}

/// c*p + c-1; see the head of this file.
Maybe scaled_goal(const Polynomial& p, int64_t c) {
  auto s = scaled(p, c);
  return s ? s->plus(Polynomial::constant(c - 1)) : std::nullopt;
}

/// The monomial `m` without the atoms of `part`; empty optional when it does not hold them all.
std::optional<Polynomial::Monomial> quotient(const Polynomial::Monomial& m,
                                             const Polynomial::Monomial& part) {
  if (!std::includes(m.begin(), m.end(), part.begin(), part.end())) return std::nullopt;
  Polynomial::Monomial rest;
  std::set_difference(m.begin(), m.end(), part.begin(), part.end(), std::back_inserter(rest));
  return rest;
}

} // namespace

class Proof {
public:
  explicit Proof(const Prover& prover)
      : prover_(prover), s_(prover.graph_.exprs), facts_(prover.facts_),
        work_(prover.depth_ == 0 ? 600 : 60) {}

  /// Uses at most `facts` facts.
  bool prove(const Polynomial& goal, int facts);
  /// A fact that no value of its atoms fulfils.
  bool contradiction();

private:
  /// What stands for an atom: `scale * goal` is at least the goal with `value / divisor` for the
  /// atom.
  struct Bound {
    Polynomial value;
    int64_t divisor = 1;
  };
  enum class Need : uint8_t { one, all }; ///< how many of the bounds must prove the goal
  struct Step {
    ExprId atom;
    Need need = Need::one;
    std::vector<Bound> bounds;
  };

  IntRange range(ExprId id) { return prover_.range(id, ranges_); }
  IntRange range(const Polynomial& p);
  int sign(const Polynomial& p);
  std::optional<Polynomial> operand(ExprId atom, size_t k) {
    return polynomial_of(s_, s_[atom].operands[k]);
  }
  std::optional<int64_t> positive_divisor(ExprId atom);
  IntRange remainder_range(const Polynomial& p, int64_t divisor);
  std::vector<ExprId> atoms_of(const Polynomial& goal) const;
  std::optional<Step> meaning(const Polynomial& goal, ExprId atom);
  void division(const Polynomial& goal, int sign, Step& step);
  std::optional<Step> index_ends(const Polynomial& goal);
  std::optional<Step> constant_ends(const Polynomial& goal);
  bool take(const Polynomial& goal, const Step& step, int facts);
  bool branches(const Polynomial& goal, ExprId atom, int facts);
  std::optional<bool> by_meaning(const Polynomial& goal, int facts);
  bool by_elimination(const Polynomial& goal);
  bool by_dims(const Polynomial& goal);
  bool by_facts(const Polynomial& goal, int facts);
  Maybe without(const Polynomial& goal, const Polynomial& fact, int64_t fc, int64_t gc,
                const Polynomial::Monomial& rest);

  const Prover& prover_;
  const ExprStore& s_;
  const std::vector<Polynomial>& facts_;
  std::unordered_map<ExprId, IntRange> ranges_;
  int work_; ///< steps before giving up; typical proofs take under ten
};

/// A fact says it, or says even more.
bool Prover::is_fact(const Polynomial& p) const {
  return std::any_of(facts_.begin(), facts_.end(), [&](const Polynomial& fact) {
    auto more = p.minus(fact);
    auto by = more ? more->as_constant() : std::nullopt;
    return by && *by >= 0;
  });
}

bool Prover::nonnegative(const Polynomial& p) const {
  // A choice whose condition needs a choice whose condition ...: a chain of them ends here.
  constexpr int deepest = 2;
  if (depth_ > deepest) return false;
  if (is_fact(normalized(p))) return true;
  // Short proofs first: most goals need no fact or one.
  for (int facts = 0; facts <= 3; ++facts) {
    if (Proof(*this).prove(p, facts)) return true;
    if (facts_.empty()) return false;
  }
  // Where the facts exclude each other there is no point, and everything holds.
  return Proof(*this).contradiction();
}

bool Prover::contradictory() const {
  return std::any_of(facts_.begin(), facts_.end(), [&](const Polynomial& fact) {
    auto opposite = Polynomial().minus(fact);
    if (opposite) opposite = opposite->minus(Polynomial::constant(1));
    return opposite && nonnegative(*opposite);
  });
}

bool Proof::contradiction() {
  return std::any_of(facts_.begin(), facts_.end(),
                     [&](const Polynomial& fact) { return range(normalized(fact)).hi < 0; });
}

IntRange Proof::range(const Polynomial& p) {
  IntRange sum = interval::point(0);
  for (const auto& [monomial, coefficient] : p.terms()) {
    IntRange product = interval::point(coefficient);
    for (size_t k = 0; k < monomial.size();) {
      size_t end = k;
      IntRange atom = range(monomial[k]), power = interval::point(1);
      for (; end < monomial.size() && monomial[end] == monomial[k]; ++end)
        power = interval::multiply(power, atom);
      // An even power is no less than 0.
      if ((end - k) % 2 == 0) power.lo = std::max<int64_t>(power.lo, 0);
      product = interval::multiply(product, power);
      k = end;
    }
    sum = interval::add(sum, product);
  }
  return sum;
}

/// 1: >= 0, -1: <= 0, 0: unknown.
int Proof::sign(const Polynomial& p) {
  IntRange r = range(p);
  return r.lo >= 0 ? 1 : r.hi <= 0 ? -1 : 0;
}

std::optional<int64_t> Proof::positive_divisor(ExprId atom) {
  auto divisor = s_.as_integer(s_[atom].operands[1]);
  return divisor && *divisor > 0 ? divisor : std::nullopt;
}

/// The values of mod(p, divisor): p is a constant modulo the common divisor of its steps.
IntRange Proof::remainder_range(const Polynomial& p, int64_t divisor) {
  int64_t step = divisor;
  for (const auto& [monomial, coefficient] : p.terms()) {
    if (monomial.empty()) continue;
    int64_t multiple = common_divisor(coefficient, divisor);
    for (ExprId atom : monomial)
      if (s_[atom].op == Op::dim)
        multiple = common_divisor(
            checked_mul(multiple, common_divisor(prover_.graph_[DimId(s_[atom].ref)].step, divisor))
                .value_or(multiple),
            divisor);
    step = common_divisor(step, multiple);
  }
  int64_t offset = floormod(p.constant_term(), step);
  return {offset, divisor - step + offset};
}

std::vector<ExprId> Proof::atoms_of(const Polynomial& goal) const {
  std::vector<ExprId> atoms;
  for (const auto& [monomial, coefficient] : goal.terms())
    atoms.insert(atoms.end(), monomial.begin(), monomial.end());
  std::sort(atoms.begin(), atoms.end(), std::greater<>());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  return atoms;
}

/// Bounds of floordiv(p, c) and mod(p, c) from c*q + r = p.
void Proof::division(const Polynomial& goal, int sign, Step& step) {
  const Expr& e = s_[step.atom];
  auto c = positive_divisor(step.atom);
  auto p = operand(step.atom, 0);
  if (!c || !p) return;
  IntRange r = remainder_range(*p, *c);
  if (e.op == Op::floordiv) {
    auto high = p->minus(Polynomial::constant(r.lo)), low = p->minus(Polynomial::constant(r.hi));
    if (!high || !low) return;
    if (sign >= 0) step.bounds.push_back({std::move(*low), *c});
    if (sign <= 0) step.bounds.push_back({std::move(*high), *c});
    step.need = sign == 0 ? Need::all : Need::one;
    return;
  }
  for (ExprId other : atoms_of(goal))
    if (s_[other].op == Op::floordiv && s_[other].operands == e.operands) {
      auto multiple = scaled(Polynomial::atom(other), *c);
      auto exact = multiple ? p->minus(*multiple) : std::nullopt;
      if (exact) step.bounds.push_back({std::move(*exact)});
      return;
    }
  if (sign >= 0) step.bounds.push_back({Polynomial::constant(r.lo)});
  if (sign <= 0) step.bounds.push_back({Polynomial::constant(r.hi)});
  step.need = sign == 0 ? Need::all : Need::one;
  if (sign < 0 && range(*p).lo >= 0) step.bounds.push_back({std::move(*p)});
}

/// The step that replaces an atom by what it means; empty for atoms without (or not linear).
std::optional<Proof::Step> Proof::meaning(const Polynomial& goal, ExprId atom) {
  const Expr& e = s_[atom];
  auto parts = goal.split(atom);
  if (!parts) return std::nullopt;
  int direction = sign(parts->first);
  Step step{atom, Need::one, {}};
  auto add = [&](size_t k, bool negated = false) {
    auto p = operand(atom, k);
    if (p && negated) p = Polynomial().minus(*p);
    if (p) step.bounds.push_back({std::move(*p)});
  };
  switch (e.op) {
  case Op::floordiv:
  case Op::mod: division(goal, direction, step); break;
  // The value is one of two: both must prove the goal, unless the atom's side of it is known.
  case Op::min:
    step.need = direction < 0 ? Need::one : Need::all;
    add(0), add(1);
    break;
  case Op::max:
    step.need = direction > 0 ? Need::one : Need::all;
    add(0), add(1);
    break;
  case Op::abs:
    step.need = direction > 0 ? Need::one : Need::all;
    add(0), add(0, true);
    break;
  case Op::cast:
    if (s_[e.operands[0]].scalar == Scalar::integer &&
        range_of(e.to).contains(range(e.operands[0])))
      add(0);
    break;
  default: break;
  }
  bool incomplete = step.need == Need::all && step.bounds.size() != 2;
  return step.bounds.empty() || incomplete ? std::nullopt : std::optional(std::move(step));
}

/// The innermost axis whose index occurs, at the end that makes the goal least.
std::optional<Proof::Step> Proof::index_ends(const Polynomial& goal) {
  auto atoms = atoms_of(goal);
  for (auto axis = prover_.axes_.rbegin(); axis != prover_.axes_.rend(); ++axis) {
    auto at = std::find_if(atoms.begin(), atoms.end(), [&](ExprId id) {
      return s_[id].op == Op::index && IndexId(s_[id].ref) == axis->index;
    });
    if (at == atoms.end()) continue;
    auto parts = goal.split(*at);
    if (!parts) return std::nullopt;
    int direction = sign(parts->first);
    Step step{*at, direction == 0 ? Need::all : Need::one, {}};
    auto below = [&](ExprId bound) {
      auto p = polynomial_of(s_, bound);
      if (p) p = p->minus(Polynomial::constant(1));
      if (p) step.bounds.push_back({std::move(*p)});
    };
    if (direction >= 0) {
      auto lo = axis->lo ? polynomial_of(s_, axis->lo) : std::nullopt;
      if (lo && direction > 0) step.bounds.push_back({std::move(*lo)});
      step.bounds.push_back({Polynomial()});
    }
    if (direction <= 0) {
      size_t before = step.bounds.size();
      if (axis->hi && direction < 0) below(axis->hi);
      below(axis->extent);
      if (step.bounds.size() == before) return std::nullopt;
    }
    return step;
  }
  return std::nullopt;
}

/// An atom that is bounded by constants only: a read, a dim that should be large.
std::optional<Proof::Step> Proof::constant_ends(const Polynomial& goal) {
  for (ExprId atom : atoms_of(goal)) {
    auto parts = goal.split(atom);
    if (!parts) continue;
    int direction = sign(parts->first);
    IntRange r = range(atom);
    if (direction > 0 && r.lo != least && s_[atom].op != Op::dim)
      return Step{atom, Need::one, {{Polynomial::constant(r.lo)}}};
    if (direction < 0 && r.hi != greatest)
      return Step{atom, Need::one, {{Polynomial::constant(r.hi)}}};
  }
  return std::nullopt;
}

bool Proof::take(const Polynomial& goal, const Step& step, int facts) {
  auto parts = goal.split(step.atom);
  TANG_CHECK(parts.has_value(), "a proof step replaces an atom that is not linear");
  bool all = step.need == Need::all;
  for (const Bound& bound : step.bounds) {
    auto rest =
        bound.divisor == 1 ? Maybe(parts->second) : scaled_goal(parts->second, bound.divisor);
    auto product = parts->first.times(bound.value);
    auto next = rest && product ? product->plus(*rest) : std::nullopt;
    bool proved = next && prove(*next, facts);
    if (proved != all) return proved;
  }
  return all;
}

/// A `select` is one of its branches, under its condition.
bool Proof::branches(const Polynomial& goal, ExprId atom, int facts) {
  const Expr& e = s_[atom];
  work_ -= 20; // a prover is copied
  for (bool taken : {true, false}) {
    auto value = operand(atom, taken ? 1 : 2);
    if (!value) return false;
    Prover inner = prover_;
    ++inner.depth_;
    inner.assume(e.operands[0], taken);
    Proof proof(inner);
    proof.work_ = work_ / 2;
    if (!proof.take(goal, Step{atom, Need::one, {{*value}}}, facts)) return false;
  }
  return true;
}

/// Opens the outermost atom that has a meaning; empty when there is none.
std::optional<bool> Proof::by_meaning(const Polynomial& goal, int facts) {
  // Operands have smaller ids, so the outermost atom comes first.
  for (ExprId atom : atoms_of(goal)) {
    if (s_[atom].op == Op::select && goal.split(atom)) return branches(goal, atom, facts);
    if (auto step = meaning(goal, atom)) return take(goal, *step, facts);
  }
  return std::nullopt;
}

bool Proof::by_elimination(const Polynomial& goal) {
  Polynomial rest = goal;
  while (true) {
    if (--work_ < 0) return false;
    rest = normalized(rest);
    IntRange r = range(rest);
    if (r.lo >= 0) return true;
    if (r.hi < 0) return false;
    auto step = index_ends(rest);
    if (!step) break;
    if (step->bounds.size() > 1) return take(rest, *step, 0);
    auto parts = rest.split(step->atom);
    auto product = parts->first.times(step->bounds[0].value);
    auto next = product ? product->plus(parts->second) : std::nullopt;
    if (!next) return false;
    rest = std::move(*next);
    // An extent may be a `min` or a `floordiv`.
    if (auto opened = by_meaning(rest, 0)) return *opened;
  }
  if (by_dims(rest)) return true;
  auto step = constant_ends(rest);
  return step && take(rest, *step, 0);
}

/// Every dim as its least value plus something not negative.
bool Proof::by_dims(const Polynomial& goal) {
  Polynomial shifted;
  for (const auto& [monomial, coefficient] : goal.terms()) {
    Polynomial product = Polynomial::constant(coefficient);
    for (ExprId atom : monomial) {
      int64_t lo = range(atom).lo;
      if (lo == least) return false;
      auto value = Polynomial::atom(atom).plus(Polynomial::constant(lo));
      auto next = value ? product.times(*value) : std::nullopt;
      if (!next) return false;
      product = std::move(*next);
    }
    auto next = shifted.plus(product);
    if (!next) return false;
    shifted = std::move(*next);
  }
  return std::all_of(shifted.terms().begin(), shifted.terms().end(),
                     [](const auto& term) { return term.second >= 0; });
}

/// goal*|fc|/g - fact*rest*|gc|/g with g = gcd: the monomial they share is gone.
Maybe Proof::without(const Polynomial& goal, const Polynomial& fact, int64_t fc, int64_t gc,
                     const Polynomial::Monomial& rest) {
  if (fc == least || gc == least) return std::nullopt;
  int64_t g = common_divisor(fc, gc);
  auto left = scaled_goal(goal, std::abs(fc) / g);
  auto right = fact.times(Polynomial::term(rest, std::abs(gc) / g));
  return left && right ? left->minus(*right) : std::nullopt;
}

bool Proof::by_facts(const Polynomial& goal, int facts) {
  for (size_t f = 0; f < facts_.size(); ++f)
    for (const auto& [fm, fc] : facts_[f].terms()) {
      if (fm.empty()) continue;
      for (const auto& [gm, gc] : goal.terms()) {
        if (gm.empty() || (gc < 0) != (fc < 0)) continue;
        auto rest = quotient(gm, fm);
        if (!rest) continue;
        bool grows = std::all_of(rest->begin(), rest->end(),
                                 [&](ExprId atom) { return range(atom).lo >= 0; });
        if (!grows) continue;
        auto next = without(goal, facts_[f], fc, gc, *rest);
        if (next && prove(*next, facts - 1)) return true;
        if (work_ < 0) return false;
      }
    }
  return false;
}

bool Proof::prove(const Polynomial& given, int facts) {
  if (--work_ < 0) return false;
  Polynomial goal = normalized(given);
  IntRange r = range(goal);
  if (r.lo >= 0) return true;
  if (r.hi < 0) return false;
  auto opened = by_meaning(goal, facts);
  if (opened == true || (!opened && by_elimination(goal))) return true;
  return facts > 0 && by_facts(goal, facts);
}

} // namespace tang::graph
