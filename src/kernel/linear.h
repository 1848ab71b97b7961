#pragma once
// Index values as sums of products, the normal form behind simplification and proofs.
//
//   (block*4 + warp)*32 + lane + 1   is   { {block}: 128, {warp}: 32, {lane}: 1, {}: 1 }
//
// The arithmetic is graph::Polynomial's, which never looks at what its atoms are: here an atom is a
// value, under the number of its ValueId.
#include "graph/polynomial.h"
#include "kernel/value.h"

namespace tang::kernel {

inline graph::ExprId atom_of(ValueId id) {
  return graph::ExprId(id.value);
}
inline ValueId value_of(graph::ExprId atom) {
  return ValueId(atom.value);
}

/// Literal factors are distributed over sums, symbolic ones are not: in `(i + j)*S` the sum is an
/// atom. Empty where a coefficient leaves 64 bits or the value is no integer.
std::optional<graph::Polynomial> linear_form(const ValueStore& store, ValueId id);

/// The factors of a product, such as `S*(i + j)*4`: one monomial with its coefficient.
graph::Polynomial product_form(const ValueStore& store, ValueId id);

/// All products of sums multiplied out: equal polynomials are equal values.
std::optional<graph::Polynomial> expanded_form(const ValueStore& store, ValueId id);

/// The value of a form, simplified.
ValueId build(ValueStore& store, const graph::Polynomial& form);

/// Interval of a form from the ranges of its atoms.
graph::IntRange range(const ValueStore& store, const graph::Polynomial& form);

} // namespace tang::kernel
