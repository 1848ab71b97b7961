#include "rewrite/linear_form.h"
#include <vector>

namespace tang::rewrite {
using namespace graph;

namespace {

std::optional<double> literal(const ExprStore& store, ExprId id) {
  const Expr& e = store[id];
  return e.op == Op::literal_real ? std::optional(e.real) : std::nullopt;
}

} // namespace

void LinearForm::add(const LinearForm& other, double factor) {
  constant += factor * other.constant;
  for (const auto& [atom, coefficient] : other.coefficients) {
    auto [at, fresh] = coefficients.try_emplace(atom, 0.0);
    at->second += factor * coefficient;
    if (at->second == 0) coefficients.erase(at);
  }
}

LinearForm linear_form(const ExprStore& store, ExprId root) {
  // What a term contributes to its users, from the root down: ids of users are greater, so that
  // each shared term is taken apart once.
  std::map<ExprId, double, std::greater<>> open{{root, 1.0}};
  LinearForm form;
  auto give = [&](ExprId id, double factor) { open[id] += factor; };
  while (!open.empty()) {
    auto [id, factor] = *open.begin();
    open.erase(open.begin());
    if (factor == 0) continue;
    const Expr& e = store[id];
    if (e.op == Op::literal_real) {
      form.constant += factor * e.real;
    } else if (e.op == Op::add || e.op == Op::sub) {
      give(e.operands[0], factor);
      give(e.operands[1], e.op == Op::add ? factor : -factor);
    } else if (e.op == Op::neg) {
      give(e.operands[0], -factor);
    } else if (auto by = e.op == Op::mul ? literal(store, e.operands[0]) : std::nullopt) {
      give(e.operands[1], factor * *by);
    } else if (auto by = e.op == Op::mul ? literal(store, e.operands[1]) : std::nullopt) {
      give(e.operands[0], factor * *by);
    } else if (auto by = e.op == Op::div ? literal(store, e.operands[1]) : std::nullopt) {
      give(e.operands[0], factor / *by);
    } else {
      form.coefficients[id] += factor;
    }
  }
  std::erase_if(form.coefficients, [](const auto& part) { return part.second == 0; });
  return form;
}

ExprId build(ExprStore& store, const LinearForm& form) {
  ExprId sum;
  auto append = [&](ExprId term, bool positive) {
    if (sum)
      sum = store.binary(positive ? Op::add : Op::sub, sum, term);
    else
      sum = positive ? term : store.unary(Op::neg, term);
  };
  for (bool positive : {true, false})
    for (const auto& [atom, coefficient] : form.coefficients)
      if ((coefficient > 0) == positive)
        append(store.binary(Op::mul, store.real(positive ? coefficient : -coefficient), atom),
               positive);
  if (form.constant != 0 || !sum) {
    if (!sum) return store.real(form.constant);
    append(store.real(form.constant > 0 ? form.constant : -form.constant), form.constant > 0);
  }
  return sum;
}

} // namespace tang::rewrite
