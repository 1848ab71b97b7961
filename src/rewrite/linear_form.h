#pragma once
// Real terms as sums of literals times atoms, so that scores written in different ways compare
// equal: `(s - m) * c`, `c*s - c*m`, `s/4 - m/4`.
#include "graph/expr.h"
#include <map>
#include <optional>

namespace tang::rewrite {

/// constant + Σ coefficient · atom, over the reals (language.md 5: reassociation is a law).
struct LinearForm {
  std::map<graph::ExprId, double> coefficients; ///< none is 0
  double constant = 0;

  bool is_zero() const { return coefficients.empty() && constant == 0; }
  void add(const LinearForm& other, double factor);
};

/// Sums, differences, negation, and products and quotients with a literal are taken apart; every
/// other term is an atom. Linear in the size of the term.
LinearForm linear_form(const graph::ExprStore& store, graph::ExprId term);

/// The form as a term: positive parts first.
graph::ExprId build(graph::ExprStore& store, const LinearForm& form);

} // namespace tang::rewrite
