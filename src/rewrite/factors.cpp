#include "rewrite/factors.h"
#include <algorithm>
#include <cmath>

namespace tang::rewrite {
using namespace graph;

namespace {

bool is_zero(const ExprStore& store, ExprId id) {
  const Expr& e = store[id];
  return (e.op == Op::literal_real && e.real == 0) || (e.op == Op::literal_int && e.integer == 0);
}

/// How many equal factors a power is: its exponent, where that is a small whole literal; 0 where it
/// is not.
int multiplicity(const ExprStore& store, const Expr& e) {
  constexpr double most = 4;
  if (e.op != Op::pow || store[e.operands[1]].op != Op::literal_real) return 0;
  double exponent = store[e.operands[1]].real;
  return exponent >= 1 && exponent <= most && exponent == std::floor(exponent)
             ? static_cast<int>(exponent)
             : 0;
}

} // namespace

Factors factors_of(ExprStore& store, ExprId root, const Expand& expand) {
  struct Part {
    ExprId term;
    bool under;
  };
  Factors found;
  std::vector<Part> stack{{root, false}};
  while (!stack.empty()) {
    auto [id, under] = stack.back();
    stack.pop_back();
    const Expr e = store[id]; // a copy: terms are made below
    // The first factor is taken first: the product is rebuilt in the order it was written.
    if (e.op == Op::mul) {
      stack.push_back({e.operands[1], under}), stack.push_back({e.operands[0], under});
    } else if (e.op == Op::div) {
      stack.push_back({e.operands[1], !under}), stack.push_back({e.operands[0], under});
    } else if (int times = multiplicity(store, e)) {
      stack.insert(stack.end(), static_cast<size_t>(times), {e.operands[0], under});
    } else if (e.op == Op::neg && e.scalar == Scalar::real) {
      found.over.push_back(store.real(-1));
      stack.push_back({e.operands[0], under});
    } else if (e.op == Op::select && !under && is_zero(store, e.operands[2])) {
      found.conditions.push_back(e.operands[0]);
      stack.push_back({e.operands[1], under});
    } else if (e.op == Op::select && !under && is_zero(store, e.operands[1])) {
      found.conditions.push_back(store.unary(Op::logical_not, e.operands[0]));
      stack.push_back({e.operands[2], under});
    } else if (ExprId body = e.op == Op::read && expand ? expand(id) : id; body != id) {
      stack.push_back({body, under});
    } else {
      (under ? found.under : found.over).push_back(id);
    }
  }
  return found;
}

ExprId unfolded(ExprStore& store, ExprId term, const Expand& expand) {
  constexpr size_t max_expansions = 16;
  for (size_t round = 0; round < max_expansions; ++round) {
    ExprId next = graph::rewrite(
        store, term, [&](ExprId id) { return store[id].op == Op::read ? expand(id) : id; });
    if (next == term) break;
    term = next;
  }
  return term;
}

ExprId build(ExprStore& store, const std::vector<ExprId>& over, const std::vector<ExprId>& under) {
  auto product = [&](const std::vector<ExprId>& terms) {
    ExprId all = store.real(1);
    for (ExprId term : terms) all = store.binary(Op::mul, all, term);
    return all;
  };
  return store.binary(Op::div, product(over), product(under));
}

std::vector<ExprId> conjuncts(const ExprStore& store, ExprId condition) {
  std::vector<ExprId> parts, stack;
  if (condition) stack.push_back(condition);
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    const Expr& e = store[id];
    if (e.op == Op::logical_and)
      stack.push_back(e.operands[1]), stack.push_back(e.operands[0]);
    else
      parts.push_back(id);
  }
  return parts;
}

} // namespace tang::rewrite
