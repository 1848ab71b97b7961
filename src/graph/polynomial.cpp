#include "graph/polynomial.h"
#include "base/checked.h"
#include <algorithm>

namespace tang::graph {

bool Polynomial::add(const Monomial& monomial, int64_t coefficient) {
  if (coefficient == 0) return true;
  auto [at, inserted] = terms_.try_emplace(monomial, coefficient);
  if (inserted) return true;
  auto sum = checked_add(at->second, coefficient);
  if (!sum) return false;
  if (*sum == 0)
    terms_.erase(at);
  else
    at->second = *sum;
  return true;
}

Polynomial Polynomial::constant(int64_t value) {
  Polynomial p;
  p.add({}, value);
  return p;
}

Polynomial Polynomial::atom(ExprId id) {
  Polynomial p;
  p.add({id}, 1);
  return p;
}

std::optional<Polynomial> Polynomial::plus(const Polynomial& o) const {
  Polynomial sum = *this;
  for (const auto& [monomial, coefficient] : o.terms_)
    if (!sum.add(monomial, coefficient)) return std::nullopt;
  return sum;
}

std::optional<Polynomial> Polynomial::minus(const Polynomial& o) const {
  Polynomial difference = *this;
  for (const auto& [monomial, coefficient] : o.terms_)
    if (coefficient == std::numeric_limits<int64_t>::min() ||
        !difference.add(monomial, -coefficient))
      return std::nullopt;
  return difference;
}

std::optional<Polynomial> Polynomial::times(const Polynomial& o) const {
  // Extents are products of a few dims; more terms than this is no address any more.
  constexpr size_t limit = 256;
  if (terms_.size() * o.terms_.size() > limit) return std::nullopt;
  Polynomial product;
  for (const auto& [m1, c1] : terms_)
    for (const auto& [m2, c2] : o.terms_) {
      Monomial monomial;
      std::merge(m1.begin(), m1.end(), m2.begin(), m2.end(), std::back_inserter(monomial));
      auto coefficient = checked_mul(c1, c2);
      if (!coefficient || monomial.size() > 16 || !product.add(monomial, *coefficient))
        return std::nullopt;
    }
  return product;
}

std::optional<int64_t> Polynomial::as_constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

int64_t Polynomial::constant_term() const {
  auto at = terms_.find({});
  return at == terms_.end() ? 0 : at->second;
}

std::optional<std::pair<Polynomial, Polynomial>> Polynomial::split(ExprId atom) const {
  std::pair<Polynomial, Polynomial> result;
  for (const auto& [monomial, coefficient] : terms_) {
    auto count = std::count(monomial.begin(), monomial.end(), atom);
    if (count > 1) return std::nullopt;
    if (count == 0) {
      result.second.add(monomial, coefficient);
      continue;
    }
    Monomial others;
    std::copy_if(monomial.begin(), monomial.end(), std::back_inserter(others),
                 [&](ExprId id) { return id != atom; });
    result.first.add(others, coefficient);
  }
  return result;
}

namespace {

/// floordiv(p, c) as a polynomial when c divides every coefficient but a constant remainder below c
/// that cannot carry: then the quotient is exact for every value of the atoms.
std::optional<Polynomial> divide(const Polynomial& p, int64_t divisor, bool remainder) {
  Polynomial quotient;
  for (const auto& [monomial, coefficient] : p.terms()) {
    if (monomial.empty()) continue;
    if (coefficient % divisor != 0) return std::nullopt;
    Polynomial term = Polynomial::constant(coefficient / divisor);
    for (ExprId atom : monomial) term = *term.times(Polynomial::atom(atom));
    quotient = *quotient.plus(term);
  }
  int64_t constant = p.constant_term();
  if (remainder) return Polynomial::constant(floormod(constant, divisor));
  return quotient.plus(Polynomial::constant(floordiv(constant, divisor)));
}

} // namespace

std::optional<Polynomial> polynomial_of(const ExprStore& store, ExprId root) {
  if (!root || store[root].scalar != Scalar::integer) return std::nullopt;
  // Atoms stop the walk, so only sums and products are visited.
  std::unordered_map<ExprId, Polynomial> done;
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    const Expr& e = store[id];
    if (done.contains(id)) {
      stack.pop_back();
      continue;
    }
    bool arithmetic = e.op == Op::add || e.op == Op::sub || e.op == Op::mul || e.op == Op::neg;
    bool division = (e.op == Op::floordiv || e.op == Op::mod) &&
                    store.as_integer(e.operands[1]).value_or(0) > 0;
    if (arithmetic || division) {
      bool ready = true;
      for (ExprId operand : e.operands)
        if (!done.contains(operand)) stack.push_back(operand), ready = false;
      if (!ready) continue;
    }
    stack.pop_back();
    std::optional<Polynomial> value;
    switch (e.op) {
    case Op::literal_int: value = Polynomial::constant(e.integer); break;
    case Op::add: value = done[e.operands[0]].plus(done[e.operands[1]]); break;
    case Op::sub: value = done[e.operands[0]].minus(done[e.operands[1]]); break;
    case Op::mul: value = done[e.operands[0]].times(done[e.operands[1]]); break;
    case Op::neg: value = Polynomial().minus(done[e.operands[0]]); break;
    case Op::floordiv:
    case Op::mod:
      if (division)
        value = divide(done[e.operands[0]], *store.as_integer(e.operands[1]), e.op == Op::mod);
      if (!value) value = Polynomial::atom(id);
      break;
    default: value = Polynomial::atom(id); break;
    }
    if (!value) return std::nullopt;
    done[id] = std::move(*value);
  }
  return done.at(root);
}

ExprId build(ExprStore& store, const Polynomial& polynomial) {
  ExprId sum;
  // Terms with atoms first, the constant last: `8*h + d - 1`.
  auto append = [&](ExprId product, int64_t coefficient) {
    if (!product)
      product = store.integer(coefficient);
    else if (coefficient != 1 && coefficient != -1) {
      int64_t magnitude =
          sum && coefficient < 0 && coefficient != std::numeric_limits<int64_t>::min()
              ? -coefficient
              : coefficient;
      ExprId scaled = store.binary(Op::mul, store.integer(magnitude), product);
      sum = !sum ? scaled : store.binary(magnitude == coefficient ? Op::add : Op::sub, sum, scaled);
      return;
    } else if (coefficient == -1) {
      sum = sum ? store.binary(Op::sub, sum, product) : store.unary(Op::neg, product);
      return;
    }
    sum = sum ? store.binary(Op::add, sum, product) : product;
  };
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    if (monomial.empty()) continue;
    ExprId product;
    for (ExprId atom : monomial) product = product ? store.binary(Op::mul, product, atom) : atom;
    append(product, coefficient);
  }
  int64_t constant = polynomial.constant_term();
  if (!sum) return store.integer(constant);
  if (constant < 0 && constant != std::numeric_limits<int64_t>::min())
    return store.binary(Op::sub, sum, store.integer(-constant));
  return store.binary(Op::add, sum, store.integer(constant));
}

ExprId canonical(ExprStore& store, ExprId id) {
  auto polynomial = polynomial_of(store, id);
  return polynomial ? build(store, *polynomial) : id;
}

} // namespace tang::graph
