#include "rewrite/simplify_index.h"
#include "base/checked.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

Polynomial monomial(const Polynomial::Monomial& atoms, int64_t coefficient) {
  Polynomial p = Polynomial::constant(coefficient);
  for (ExprId atom : atoms) p = *p.times(Polynomial::atom(atom));
  return p;
}

/// p = c*quotient + remainder, with every coefficient that c divides in the quotient.
struct Division {
  Polynomial quotient, remainder;
};

Division divide(const Polynomial& p, int64_t c) {
  Division d;
  for (const auto& [atoms, coefficient] : p.terms()) {
    // The constant is split so that the remainder's part of it lies in 0..c-1.
    int64_t q =
        atoms.empty() ? floordiv(coefficient, c) : (coefficient % c == 0 ? coefficient / c : 0);
    d.quotient = *d.quotient.plus(monomial(atoms, q));
    d.remainder = *d.remainder.plus(monomial(atoms, coefficient - q * c));
  }
  return d;
}

/// `floordiv` or `mod` by a positive constant, where the rest is known to stay below it.
ExprId divided(ExprStore& store, const Prover& prover, ExprId id) {
  const Expr& e = store[id];
  auto c = store.as_integer(e.operands[1]);
  auto p = polynomial_of(store, e.operands[0]);
  if (!c || *c <= 0 || !p) return id;
  Division d = divide(*p, *c);
  auto above = Polynomial::constant(*c - 1).minus(d.remainder);
  bool mod = e.op == Op::mod;
  bool exact = above && prover.nonnegative(d.remainder) && prover.nonnegative(*above);
  if (exact) return build(store, mod ? d.remainder : d.quotient);
  // floordiv(c*q + r, c) = q + floordiv(r, c)
  if (d.quotient.is_zero()) return id;
  ExprId rest = store.binary(e.op, build(store, d.remainder), store.integer(*c));
  if (mod) return rest;
  return canonical(store, store.binary(Op::add, build(store, d.quotient), rest));
}

/// c*floordiv(p, c) + mod(p, c) = p, also as part of a sum and under a common factor.
Polynomial recombined(const ExprStore& store, Polynomial sum) {
  for (const auto& [atoms, coefficient] : sum.terms())
    for (ExprId atom : atoms) {
      const Expr& e = store[atom];
      auto c = e.op == Op::mod ? store.as_integer(e.operands[1]) : std::nullopt;
      if (!c || *c <= 0) continue;
      auto scaled = checked_mul(coefficient, *c);
      if (!scaled) continue;
      for (const auto& [other_atoms, other] : sum.terms())
        for (ExprId partner : other_atoms) {
          if (other != *scaled || store[partner].op != Op::floordiv ||
              store[partner].operands != e.operands)
            continue;
          auto rest = [](Polynomial::Monomial list, ExprId without) {
            list.erase(std::find(list.begin(), list.end(), without));
            return list;
          };
          if (rest(atoms, atom) != rest(other_atoms, partner)) continue;
          auto p = polynomial_of(store, e.operands[0]);
          auto whole = p ? p->times(monomial(rest(atoms, atom), coefficient)) : std::nullopt;
          auto less = sum.minus(monomial(atoms, coefficient));
          if (less) less = less->minus(monomial(other_atoms, other));
          if (less && whole) less = less->plus(*whole);
          if (less && whole) return recombined(store, std::move(*less));
        }
    }
  return sum;
}

} // namespace

ExprId simplify_index(ExprStore& store, const Prover& prover, ExprId root) {
  if (store[root].scalar != Scalar::integer) return root;
  ExprId divisions = graph::rewrite(store, root, [&](ExprId id) {
    Op op = store[id].op;
    return op == Op::floordiv || op == Op::mod ? divided(store, prover, id) : id;
  });
  auto p = polynomial_of(store, divisions);
  return p ? build(store, recombined(store, std::move(*p))) : divisions;
}

} // namespace tang::rewrite
