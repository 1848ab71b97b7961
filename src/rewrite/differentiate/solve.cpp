#include "rewrite/differentiate/solve.h"
#include "base/checked.h"
#include "graph/polynomial.h"
#include "graph/prover.h"
#include "graph/typical.h"
#include "rewrite/differentiate/terms.h"
#include "rewrite/simplify_index.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

/// `left == right`; only `left` mentions open indices.
struct Equation {
  ExprId left, right;
  ExprId place, at; ///< as it was, while it stands for one place alone
  bool done = false;
};

class Solver {
public:
  Solver(Graph& graph, const Space& space, std::span<const ExprId> places,
         const std::vector<ExprId>& shape)
      : graph_(graph), s_(graph.exprs), open_(space.axes), choice_(space.choice) {
    // Names of its own for everything new, until the end: the space's indices are still there.
    auto above = [&](IndexId index) { next_ = IndexId(std::max(next_.value, index.value + 1)); };
    next_ = IndexId(0);
    for (Axis& axis : open_) {
      above(axis.index);
      if (axis.lo) require(s_.binary(Op::le, axis.lo, s_.index(axis.index)));
      if (axis.hi) require(s_.binary(Op::lt, s_.index(axis.index), axis.hi));
      axis.lo = axis.hi = {};
    }
    for (ExprId id : reachable(s_, places)) {
      if (s_[id].op == Op::index) above(IndexId(s_[id].ref));
      for (IndexId index : s_[id].bound) above(index);
    }
    for (size_t k = 0; k < shape.size(); ++k) {
      at_.push_back({fresh(), shape[k], "", {}, {}});
      ExprId at = s_.index(at_[k].index);
      equations_.push_back({places[k], at, places[k], at});
    }
  }

  Solution run() {
    bool changed = true;
    while (changed) {
      for (Equation& e : equations_) normalize(e);
      changed = plain() || pairs() || affine() || quotient() || remainder();
    }
    choose();
    for (const Equation& e : equations_)
      if (!e.done)
        require(e.place ? s_.binary(Op::eq, e.place, e.at) : s_.binary(Op::eq, e.left, e.right));
    return finish();
  }

private:
  IndexId fresh() {
    IndexId id = next_;
    next_ = IndexId(next_.value + 1);
    return id;
  }

  const Axis* open_axis(ExprId atom) const {
    const Expr& e = s_[atom];
    if (e.op != Op::index) return nullptr;
    auto at = std::find_if(open_.begin(), open_.end(),
                           [&](const Axis& axis) { return axis.index == IndexId(e.ref); });
    return at == open_.end() ? nullptr : &*at;
  }

  bool mentions_open(ExprId term) const {
    const auto& free = s_[term].free;
    return std::any_of(open_.begin(), open_.end(), [&](const Axis& axis) {
      return std::binary_search(free.begin(), free.end(), axis.index);
    });
  }

  void require(ExprId condition) { conditions_.push_back(condition); }
  ExprId at_least_zero(ExprId term) { return s_.binary(Op::le, s_.integer(0), term); }

  Prover prover() const {
    Prover p(graph_);
    size_t mark = p.mark();
    p.add_axes(at_);
    p.add_axes(all_);
    p.add_axes(open_);
    p.rewind(mark);
    return p;
  }

  ExprId substituted(ExprId term) { return substitute(s_, term, values_); }

  /// Solved indices out of the left side, and what is free of open indices to the right.
  void normalize(Equation& e) {
    if (e.done) return;
    e.left = substituted(e.left), e.right = substituted(e.right);
    if (has_division(s_, e.left)) e.left = simplify_index(s_, prover(), e.left);
    auto p = polynomial_of(s_, e.left), right = polynomial_of(s_, e.right);
    if (!p || !right) return;
    Polynomial moved, kept;
    for (const auto& [atoms, coefficient] : p->terms()) {
      Polynomial term = Polynomial::constant(coefficient);
      for (ExprId atom : atoms) term = *term.times(Polynomial::atom(atom));
      bool open =
          std::any_of(atoms.begin(), atoms.end(), [&](ExprId atom) { return mentions_open(atom); });
      Polynomial& side = open ? kept : moved;
      side = *side.plus(term);
    }
    auto rest = right->minus(moved);
    if (!rest) return;
    e.left = build(s_, kept), e.right = build(s_, *rest);
  }

  /// The coefficient of an open index that occurs in the left side only as such.
  std::optional<int64_t> coefficient(const Polynomial& left, ExprId index) const {
    auto parts = left.split(index);
    auto factor = parts ? parts->first.as_constant() : std::nullopt;
    if (!factor || *factor == 0 || *factor == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    for (const auto& [atoms, c] : parts->second.terms())
      for (ExprId atom : atoms)
        if (std::binary_search(s_[atom].free.begin(), s_[atom].free.end(), IndexId(s_[index].ref)))
          return std::nullopt;
    return factor;
  }

  /// index = numerator / divisor, inside its axis.
  void decide(const Axis axis, ExprId numerator, int64_t divisor) {
    ExprId d = s_.integer(divisor);
    ExprId value = canonical(s_, s_.binary(Op::floordiv, numerator, d));
    if (divisor != 1) require(s_.binary(Op::eq, s_.binary(Op::mod, numerator, d), s_.integer(0)));
    require(at_least_zero(numerator));
    require(s_.binary(Op::lt, numerator, canonical(s_, s_.binary(Op::mul, d, axis.extent))));
    std::unordered_map<IndexId, ExprId> step{{axis.index, value}};
    for (auto& [index, known] : values_) known = substitute(s_, known, step);
    values_[axis.index] = value;
    all_.push_back(axis);
    std::erase_if(open_, [&](const Axis& a) { return a.index == axis.index; });
  }

  /// Solves an equation for one of its open indices.
  void eliminate(Equation& e, const Axis axis, int64_t factor) {
    ExprId index = s_.index(axis.index);
    ExprId rest = s_.binary(Op::sub, e.left, s_.binary(Op::mul, s_.integer(factor), index));
    ExprId numerator = s_.binary(Op::sub, e.right, rest);
    if (factor < 0) numerator = s_.unary(Op::neg, numerator);
    e.done = true;
    decide(axis, canonical(s_, numerator), std::abs(factor));
  }

  /// A place that is one index and nothing else that is open.
  bool plain() {
    for (Equation& e : equations_) {
      auto p = e.done ? std::nullopt : polynomial_of(s_, e.left);
      if (!p || p->terms().size() != 1) continue;
      const auto& [atoms, factor] = *p->terms().begin();
      if (atoms.size() != 1 || (factor != 1 && factor != -1)) continue;
      if (const Axis* axis = open_axis(atoms[0])) {
        eliminate(e, *axis, factor);
        return true;
      }
    }
    return false;
  }

  double weight(const Axis& axis) const { return typical(graph_, axis.extent); }

  /// A sum of indices: the one of largest extent is solved for, the first among equals.
  bool affine() {
    for (Equation& e : equations_) {
      auto p = e.done ? std::nullopt : polynomial_of(s_, e.left);
      if (!p) continue;
      const Axis* best = nullptr;
      int64_t best_factor = 0;
      for (const Axis& axis : open_) {
        auto factor = coefficient(*p, s_.index(axis.index));
        if (factor && (!best || weight(axis) > weight(*best))) best = &axis, best_factor = *factor;
      }
      if (!best) continue;
      eliminate(e, *best, best_factor);
      return true;
    }
    return false;
  }

  /// term = divisor * quotient + remainder, where the left side is a floordiv or mod by a constant.
  struct Division {
    ExprId term;
    int64_t divisor = 1;
  };
  std::optional<Division> division(const Equation& e, Op op) const {
    if (e.done || s_[e.left].op != op) return std::nullopt;
    auto divisor = s_.as_integer(s_[e.left].operands[1]);
    if (!divisor || *divisor <= 0) return std::nullopt;
    return Division{s_[e.left].operands[0], *divisor};
  }

  /// floordiv(x, a*b) as floordiv(floordiv(x, a), b): does `whole` divide `part.term` so?
  bool same_term(const Division& whole, const Division& part) {
    ExprId term = part.term;
    int64_t inner = 1;
    if (s_[term].op == Op::floordiv)
      if (auto c = s_.as_integer(s_[term].operands[1]); c && *c > 0 && whole.term != term)
        inner = *c, term = s_[term].operands[0];
    auto product = checked_mul(inner, part.divisor);
    return product == whole.divisor && canonical(s_, term) == canonical(s_, whole.term);
  }

  bool pairs() {
    for (Equation& low : equations_)
      for (Equation& high : equations_) {
        auto mod = division(low, Op::mod), div = division(high, Op::floordiv);
        if (!mod || !div || !same_term(*div, *mod)) continue;
        ExprId remainder = low.right;
        require(at_least_zero(remainder));
        require(s_.binary(Op::lt, remainder, s_.integer(mod->divisor)));
        ExprId product = s_.binary(Op::mul, s_.integer(mod->divisor), high.right);
        low.done = true;
        high.place = {};
        high.left = mod->term, high.right = canonical(s_, s_.binary(Op::add, product, remainder));
        return true;
      }
    return false;
  }

  Axis new_axis(ExprId extent, const std::string& name) {
    Axis axis{fresh(), extent, name, {}, {}};
    open_.push_back(axis);
    return axis;
  }

  /// Whether an equation for the term can be solved for one of its indices.
  bool is_affine(ExprId term) const {
    auto p = polynomial_of(s_, term);
    return p && std::any_of(open_.begin(), open_.end(), [&](const Axis& axis) {
             return coefficient(*p, s_.index(axis.index)).has_value();
           });
  }

  /// floordiv(x, c) == q: x = c*q + r for each r below c.
  bool quotient() {
    for (Equation& e : equations_) {
      auto d = division(e, Op::floordiv);
      if (!d || !is_affine(d->term)) continue;
      ExprId r = s_.index(new_axis(s_.integer(d->divisor), "r").index);
      ExprId product = s_.binary(Op::mul, s_.integer(d->divisor), e.right);
      e.left = d->term, e.right = product, e.place = {};
      e.left = canonical(s_, s_.binary(Op::sub, e.left, r));
      return true;
    }
    return false;
  }

  /// mod(i, c) == r: i = c*n + r for each n.
  bool remainder() {
    for (Equation& e : equations_) {
      auto d = division(e, Op::mod);
      const Axis* axis = d ? open_axis(d->term) : nullptr;
      if (!axis) continue;
      require(at_least_zero(e.right));
      require(s_.binary(Op::lt, e.right, s_.integer(d->divisor)));
      ExprId rounded = s_.binary(Op::add, axis->extent, s_.integer(d->divisor - 1));
      ExprId extent = canonical(s_, s_.binary(Op::floordiv, rounded, s_.integer(d->divisor)));
      const Axis old = *axis;
      ExprId n = s_.index(new_axis(extent, old.name).index);
      ExprId product = s_.binary(Op::mul, s_.integer(d->divisor), n);
      e.done = true;
      decide(old, canonical(s_, s_.binary(Op::add, product, e.right)), 1);
      return true;
    }
    return false;
  }

  /// Indices that a reduction chose: those still open take the chosen value, others must equal it.
  void choose() {
    if (!choice_) return;
    ExprId position = substituted(choice_->position);
    // Where the place of the choice depends on an index that it would give, it is a condition.
    bool gives = false, depends = false;
    const auto& free = s_[position].free;
    for (const Axis& axis : choice_->axes) {
      if (!open_axis(s_.index(axis.index))) continue;
      gives = true;
      depends |= std::binary_search(free.begin(), free.end(), axis.index);
    }
    if (!gives || depends)
      return require(s_.binary(Op::eq, position, position_of(s_, choice_->axes)));
    require(at_least_zero(position));
    ExprId rest = position;
    for (size_t k = choice_->axes.size(); k-- > 0;) {
      const Axis& axis = choice_->axes[k];
      ExprId digit = k == 0 ? rest : s_.binary(Op::mod, rest, axis.extent);
      rest = s_.binary(Op::floordiv, rest, axis.extent);
      if (!open_axis(s_.index(axis.index))) {
        require(s_.binary(Op::eq, s_.index(axis.index), digit));
        continue;
      }
      std::unordered_map<IndexId, ExprId> step{{axis.index, digit}};
      for (auto& [index, known] : values_) known = substitute(s_, known, step);
      values_[axis.index] = digit;
      std::erase_if(open_, [&](const Axis& a) { return a.index == axis.index; });
    }
  }

  /// Everything under its final names.
  Solution finish() {
    std::unordered_map<IndexId, ExprId> names;
    uint32_t count = 0;
    for (const auto* axes : {&at_, &open_})
      for (const Axis& axis : *axes) names[axis.index] = s_.index(IndexId(count++));
    Renaming rename(s_, names, next_);
    Solution solution;
    for (const Axis& axis : open_) {
      Axis renamed = axis;
      renamed.index = IndexId(s_[names.at(axis.index)].ref);
      solution.values[axis.index] = s_.index(renamed.index);
      solution.rest.push_back(std::move(renamed));
    }
    for (const auto& [index, value] : values_) solution.values[index] = rename(value);
    for (ExprId condition : conditions_)
      solution.conditions.push_back(rename(substituted(condition)));
    return solution;
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Axis> at_, open_;
  std::vector<Axis> all_; ///< solved for
  std::optional<Choice> choice_;
  std::vector<Equation> equations_;
  std::vector<ExprId> conditions_;
  std::unordered_map<IndexId, ExprId> values_;
  IndexId next_;
};

} // namespace

ExprId position_of(ExprStore& s, const std::vector<Axis>& axes) {
  ExprId position = s.integer(0);
  for (const Axis& axis : axes)
    position = s.binary(Op::add, s.binary(Op::mul, position, axis.extent), s.index(axis.index));
  return canonical(s, position);
}

Solution solve(Graph& graph, const Space& space, std::span<const ExprId> places,
               const std::vector<ExprId>& shape) {
  return Solver(graph, space, places, shape).run();
}

} // namespace tang::rewrite
