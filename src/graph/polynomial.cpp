#include "graph/polynomial.h"
#include "base/checked.h"
#include "base/reachable.h"
#include <algorithm>

namespace tang::graph {

namespace {

/// Where a monomial stands in a list of terms, or would.
template <class Terms>
auto place_of(Terms& terms, const Polynomial::Monomial& monomial) {
  return std::lower_bound(
      terms.begin(), terms.end(), monomial,
      [](const Polynomial::Term& term, const Polynomial::Monomial& m) { return term.first < m; });
}

} // namespace

bool Polynomial::add(Monomial monomial, int64_t coefficient) {
  if (coefficient == 0) return true;
  auto at = place_of(terms_, monomial);
  if (at == terms_.end() || at->first != monomial) {
    terms_.insert(at, Term(std::move(monomial), coefficient));
    return true;
  }
  auto sum = checked_add(at->second, coefficient);
  if (!sum) return false;
  if (*sum == 0)
    terms_.erase(at);
  else
    at->second = *sum;
  return true;
}

Polynomial Polynomial::term(Monomial monomial, int64_t coefficient) {
  Polynomial p;
  if (coefficient != 0) p.terms_.push_back(Term(std::move(monomial), coefficient));
  return p;
}

/// *this + sign * o; both lists ascend.
std::optional<Polynomial> Polynomial::combined(const Polynomial& o, int64_t sign) const {
  Polynomial sum;
  sum.terms_.reserve(terms_.size() + o.terms_.size());
  auto a = terms_.begin();
  for (const auto& [monomial, coefficient] : o.terms_) {
    for (; a != terms_.end() && a->first < monomial; ++a) sum.terms_.push_back(*a);
    auto signed_coefficient = checked_mul(sign, coefficient);
    bool both = a != terms_.end() && a->first == monomial;
    auto total = signed_coefficient && both ? checked_add(a->second, *signed_coefficient)
                                            : signed_coefficient;
    if (!total) return std::nullopt;
    if (*total != 0) sum.terms_.push_back(Term(monomial, *total));
    a += both;
  }
  sum.terms_.append(a, terms_.end());
  return sum;
}

std::optional<Polynomial> Polynomial::plus(const Polynomial& o) const {
  return combined(o, 1);
}

std::optional<Polynomial> Polynomial::minus(const Polynomial& o) const {
  return combined(o, -1);
}

std::optional<Polynomial> Polynomial::times(const Polynomial& o) const {
  // Extents are products of a few dims; more terms than this is no address any more.
  constexpr size_t limit = 256;
  if (terms_.size() * o.terms_.size() > limit) return std::nullopt;
  // The order of the terms stays under a constant factor.
  auto scaled = [](Polynomial p, int64_t factor) -> std::optional<Polynomial> {
    for (auto& [monomial, coefficient] : p.terms_) {
      auto value = checked_mul(coefficient, factor);
      if (!value) return std::nullopt;
      coefficient = *value;
    }
    return p;
  };
  if (auto factor = o.as_constant(); factor && *factor != 0) return scaled(*this, *factor);
  if (auto factor = as_constant(); factor && *factor != 0) return scaled(o, *factor);
  Polynomial product;
  product.terms_.reserve(terms_.size() * o.terms_.size());
  for (const auto& [m1, c1] : terms_)
    for (const auto& [m2, c2] : o.terms_) {
      Monomial monomial;
      std::merge(m1.begin(), m1.end(), m2.begin(), m2.end(), std::back_inserter(monomial));
      auto coefficient = checked_mul(c1, c2);
      if (!coefficient || monomial.size() > 16 || !product.add(std::move(monomial), *coefficient))
        return std::nullopt;
    }
  return product;
}

std::optional<int64_t> Polynomial::as_constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

int64_t Polynomial::coefficient(const Monomial& monomial) const {
  auto at = place_of(terms_, monomial);
  return at != terms_.end() && at->first == monomial ? at->second : 0;
}

std::optional<std::pair<Polynomial, Polynomial>> Polynomial::split(ExprId atom) const {
  std::pair<Polynomial, Polynomial> result;
  for (const auto& [monomial, coefficient] : terms_) {
    auto count = std::count(monomial.begin(), monomial.end(), atom);
    if (count > 1) return std::nullopt;
    if (count == 0) {
      result.second.terms_.push_back(Term(monomial, coefficient)); // in order, as they come
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
    quotient = *quotient.plus(Polynomial::term(monomial, coefficient / divisor));
  }
  int64_t constant = p.constant_term();
  if (remainder) return Polynomial::constant(floormod(constant, divisor));
  return quotient.plus(Polynomial::constant(floordiv(constant, divisor)));
}

} // namespace

namespace {

/// Operands that the polynomial of a term is made of; atoms have none.
std::span<const ExprId> parts_of(const ExprStore& store, const Expr& e) {
  switch (e.op) {
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::neg: return e.operands;
  case Op::floordiv:
  case Op::mod:
    if (store.as_integer(e.operands[1]).value_or(0) > 0) return e.operands;
    return {};
  default: return {};
  }
}

} // namespace

std::optional<Polynomial> polynomial_of(const ExprStore& store, ExprId root) {
  if (!root || store[root].scalar != Scalar::integer) return std::nullopt;
  if (auto value = store.as_integer(root)) return Polynomial::constant(*value);
  if (parts_of(store, store[root]).empty()) return Polynomial::atom(root);
  // Atoms stop the walk, so only sums, products and what divides exactly are visited.
  const auto order = reachable_ids(std::span<const ExprId>(&root, 1),
                                   [&](ExprId id) { return parts_of(store, store[id]); });
  std::vector<Polynomial> done;
  done.reserve(order.size());
  auto of = [&](ExprId id) -> const Polynomial& { return value_for(order, done, id); };
  for (ExprId id : order) {
    const Expr& e = store[id];
    std::optional<Polynomial> value;
    switch (e.op) {
    case Op::literal_int: value = Polynomial::constant(e.integer); break;
    case Op::add: value = of(e.operands[0]).plus(of(e.operands[1])); break;
    case Op::sub: value = of(e.operands[0]).minus(of(e.operands[1])); break;
    case Op::mul: value = of(e.operands[0]).times(of(e.operands[1])); break;
    case Op::neg: value = Polynomial().minus(of(e.operands[0])); break;
    case Op::floordiv:
    case Op::mod:
      if (!parts_of(store, e).empty())
        value = divide(of(e.operands[0]), *store.as_integer(e.operands[1]), e.op == Op::mod);
      if (!value) value = Polynomial::atom(id);
      break;
    default: value = Polynomial::atom(id); break;
    }
    if (!value) return std::nullopt;
    done.push_back(std::move(*value));
  }
  return std::move(done.back());
}

Polynomial normalized(const Polynomial& p) {
  int64_t divisor = 0;
  for (const auto& [monomial, coefficient] : p.terms())
    if (!monomial.empty()) {
      if (coefficient == std::numeric_limits<int64_t>::min()) return p;
      divisor = common_divisor(divisor, coefficient);
    }
  if (divisor <= 1) return p;
  Polynomial q = Polynomial::constant(floordiv(p.constant_term(), divisor));
  for (const auto& [monomial, coefficient] : p.terms())
    if (!monomial.empty()) q = *q.plus(Polynomial::term(monomial, coefficient / divisor));
  return q;
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
