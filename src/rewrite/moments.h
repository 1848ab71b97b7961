#pragma once
// Central moments as a monoid: how Σ weight · Π (variable - mean) of two parts of a row give that
// of the whole.
//
// Let a part have the means µ and the whole the means µ'. With δ = µ - µ' the binomial theorem
// gives Σ w (x - µ')^d = Σ_e C(d, e) δ^(d-e) Σ w (x - µ)^e, so a set of moments that holds every
// lower one is closed under joining. Sources: Welford, Technometrics 4, 1962; Chan, Golub, LeVeque,
// "Updating formulae and a pairwise algorithm for computing sample variances", 1979; Pébay,
// "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
// statistical moments", SAND2008-6212.
#include "graph/graph.h"
#include <map>

namespace tang::rewrite {

/// The degree of each variable, without trailing zeros; none is degree 0.
using Degrees = std::vector<int>;
int total(const Degrees& degrees);

/// The fields of one state, asked for one by one.
class Moments {
public:
  explicit Moments(graph::ExprStore& store) : s_(store) {}

  /// The number of a weight or variable; equal ones get one number.
  size_t weight(graph::ExprId weight);
  /// `x` around its mean under |weight|: the absolute value, since weights may cancel.
  size_t variable(graph::ExprId x, size_t weight);
  /// Fields for the moment and every lower one.
  void need(size_t weight, const Degrees& degrees);
  size_t fields() const { return fields_.size(); }

  graph::Monoid monoid() const;
  /// The state of one element, a term per field.
  std::vector<graph::ExprId> body() const;
  /// Over the final state.
  graph::ExprId mean(size_t variable) const;
  /// Empty where it is 0 whatever the data: the first moment around its own mean.
  graph::ExprId moment(size_t weight, const Degrees& degrees) const;

private:
  enum class Kind : uint8_t { total, mean, moment };
  struct Field {
    Kind kind;
    size_t of; ///< a weight, or for `mean` a variable
    Degrees degrees;
    friend auto operator<=>(const Field&, const Field&) = default;
  };
  struct Weight {
    graph::ExprId term;
    bool nonnegative;
  };
  struct Variable {
    graph::ExprId term;
    size_t weight;
  };

  uint32_t add(Field field);
  graph::ExprId state(graph::Op side, const Field& field) const;
  Field total_of(size_t weight) const;
  bool self_centred(size_t weight, const Degrees& degrees) const;
  bool vanishes(size_t weight, const Degrees& degrees) const;
  graph::ExprId share(size_t weight) const;
  graph::ExprId gap(size_t variable) const;
  graph::ExprId shift(graph::Op side, size_t variable) const;
  graph::ExprId power(graph::ExprId base, int exponent) const;
  graph::ExprId combined(const Field& field) const;
  graph::ExprId joined(size_t weight, const Degrees& degrees) const;
  graph::ExprId between_means(size_t weight, const Degrees& degrees) const;

  graph::ExprStore& s_;
  std::vector<Weight> weights_;
  std::vector<Variable> variables_;
  std::vector<Field> fields_;
  std::map<Field, uint32_t> numbers_;
};

/// True when a term is never negative, NaN aside.
bool is_nonnegative(const graph::ExprStore& store, graph::ExprId term);

} // namespace tang::rewrite
