#include "bound/formulas.h"
#include "base/checked.h"
#include "graph/text_terms.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::bound {
using namespace graph;

namespace {

std::optional<int64_t> binary_value(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::add: return checked_add(a, b);
  case Op::sub: return checked_sub(a, b);
  case Op::mul: return checked_mul(a, b);
  case Op::floordiv: return floordiv(a, b);
  case Op::mod: return floormod(a, b);
  case Op::min: return std::min(a, b);
  case Op::max: return std::max(a, b);
  case Op::eq: return a == b;
  case Op::ne: return a != b;
  case Op::lt: return a < b;
  case Op::le: return a <= b;
  case Op::logical_and: return a && b;
  case Op::logical_or: return a || b;
  default: return std::nullopt;
  }
}

} // namespace

std::optional<int64_t> value_of(const ExprStore& store, ExprId root,
                                std::span<const int64_t> dims) {
  std::unordered_map<ExprId, int64_t> values;
  for (ExprId id : reachable(store, {&root, 1})) {
    const Expr& e = store[id];
    auto operand = [&](size_t n) { return values.at(e.operands[n]); };
    std::optional<int64_t> value;
    if (e.op == Op::literal_int || e.op == Op::literal_bool)
      value = e.integer;
    else if (e.op == Op::dim && e.ref < dims.size())
      value = dims[e.ref];
    else if (e.op == Op::neg && e.scalar == Scalar::integer)
      value = checked_sub(0, operand(0));
    else if (e.op == Op::logical_not)
      value = !operand(0);
    else if (e.op == Op::select)
      value = operand(0) ? operand(1) : operand(2);
    else if (e.operands.size() == 2 && e.op != Op::read && e.scalar != Scalar::real)
      value = binary_value(e.op, operand(0), operand(1));
    if (!value) return std::nullopt;
    values[id] = *value;
  }
  return values.at(root);
}

Formulas::Formulas(const Graph& graph)
    : graph_(graph), dims_(graph_), names_(std::make_unique<Names>(graph_)) {}
Formulas::~Formulas() = default;

ExprId Formulas::canonical_binary(Op op, ExprId a, ExprId b) {
  auto [at, added] = known_.try_emplace({op, a, b});
  if (added) at->second = canonical(store(), store().binary(op, a, b));
  return at->second;
}
ExprId Formulas::sum(ExprId a, ExprId b) {
  return canonical_binary(Op::add, a, b);
}
ExprId Formulas::difference(ExprId a, ExprId b) {
  return canonical_binary(Op::sub, a, b);
}
ExprId Formulas::product(ExprId a, ExprId b) {
  return canonical_binary(Op::mul, a, b);
}
ExprId Formulas::quotient(ExprId a, int64_t divisor) {
  return divisor == 1 ? a : canonical_binary(Op::floordiv, a, number(divisor));
}
bool Formulas::proves_less_equal(ExprId a, ExprId b) {
  if (a == b) return true;
  auto [at, added] = proved_.try_emplace({Op::le, a, b});
  if (added) at->second = dims_.less_equal(a, b);
  return at->second;
}
ExprId Formulas::ceil_quotient(ExprId a, int64_t divisor) {
  return quotient(sum(a, number(divisor - 1)), divisor);
}
ExprId Formulas::least(ExprId a, ExprId b) {
  if (proves_less_equal(a, b)) return a;
  if (proves_less_equal(b, a)) return b;
  return store().binary(Op::min, a, b);
}
ExprId Formulas::most(ExprId a, ExprId b) {
  if (proves_less_equal(a, b)) return b;
  if (proves_less_equal(b, a)) return a;
  return store().binary(Op::max, a, b);
}

ExprId Formulas::volume(std::span<const ExprId> extents) {
  ExprId product_of = number(1);
  for (ExprId extent : extents) product_of = product(product_of, positive(extent));
  return product_of;
}

ExprId Formulas::bytes(ElemType type, ExprId elements) {
  int bits = info(type).bits;
  if (bits < 8) return ceil_quotient(elements, 8 / bits);
  return product(elements, number(bits / 8));
}

std::string Formulas::text(ExprId id) const {
  auto polynomial = polynomial_of(store(), id);
  TermPrinter printer(graph_, *names_);
  if (!polynomial) return printer.print(id);
  std::string text;
  auto append = [&](const Polynomial::Monomial& monomial, int64_t coefficient) {
    bool negative = coefficient < 0;
    if (!text.empty()) text += negative ? " - " : " + ";
    if (text.empty() && negative) text += '-';
    auto magnitude = negative ? -static_cast<uint64_t>(coefficient) : uint64_t(coefficient);
    std::string product;
    if (magnitude != 1 || monomial.empty()) product = fmt::format("{}", magnitude);
    for (ExprId atom : monomial)
      product += (product.empty() ? "" : "*") + printer.print(atom, Level::product);
    text += product;
  };
  for (const auto& [monomial, coefficient] : polynomial->terms())
    if (!monomial.empty()) append(monomial, coefficient);
  if (int64_t constant = polynomial->constant_term(); constant || text.empty())
    append({}, constant);
  return text;
}

} // namespace tang::bound
