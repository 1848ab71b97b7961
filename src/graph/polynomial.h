#pragma once
// Integer expressions as polynomials over atoms: the normal form of view places, extents and
// bounds.
//
//   8*h + d + H*i - 1   is   { {}: -1, {d}: 1, {h}: 8, {H, i}: 1 }
//
// An atom is any integer term that is not a sum, product or literal: an index, a dim, a `floordiv`,
// a `mod`, a gathered read.
#include "base/inline_vector.h"
#include "graph/expr.h"

namespace tang::graph {

class Polynomial {
public:
  using Monomial = InlineVector<ExprId, 4>;  ///< atoms, ascending; empty for the constant
  using Term = std::pair<Monomial, int64_t>; ///< and its coefficient, never 0
  using Terms = InlineVector<Term, 2>;

  Polynomial() = default;
  static Polynomial constant(int64_t value) { return term({}, value); }
  static Polynomial atom(ExprId id) { return term({id}, 1); }
  static Polynomial term(Monomial monomial, int64_t coefficient);

  /// Empty when a coefficient leaves 64 bits.
  std::optional<Polynomial> plus(const Polynomial& o) const;
  std::optional<Polynomial> minus(const Polynomial& o) const;
  std::optional<Polynomial> times(const Polynomial& o) const;

  /// Ascending by monomial.
  const Terms& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  /// The value when no atom occurs.
  std::optional<int64_t> as_constant() const;
  int64_t constant_term() const { return coefficient({}); }
  /// Of the monomial; 0 where it does not occur.
  int64_t coefficient(const Monomial& monomial) const;
  /// The polynomial that multiplies `atom` when it occurs only to the first power; and what is
  /// left.
  std::optional<std::pair<Polynomial, Polynomial>> split(ExprId atom) const;
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

private:
  bool add(Monomial monomial, int64_t coefficient);
  std::optional<Polynomial> combined(const Polynomial& o, int64_t sign) const;
  Terms terms_;
};

/// Empty when the term is not an integer or a coefficient overflows. `floordiv` and `mod` by a
/// positive constant that divides exactly are resolved; others are atoms.
std::optional<Polynomial> polynomial_of(const ExprStore& store, ExprId id);

/// g*X + k >= 0 means X + floor(k/g) >= 0 for an integer X: the inequality `p >= 0` in least terms.
Polynomial normalized(const Polynomial& p);

/// Builds the term back, in a canonical order (so equal polynomials give equal ids).
ExprId build(ExprStore& store, const Polynomial& polynomial);

/// The canonical form of an integer term, or the term itself where there is none.
ExprId canonical(ExprStore& store, ExprId id);

} // namespace tang::graph
