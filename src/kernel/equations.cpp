#include "kernel/equations.h"
#include "base/checked.h"
#include "kernel/linear.h"

namespace tang::kernel {

using graph::ExprId;

Equations equations_of(const ValueStore& host, ValueId condition) {
  Equations found;
  std::vector<ValueId> stack;
  if (condition) stack.push_back(condition);
  while (!stack.empty()) {
    const Value& v = host[stack.back()];
    stack.pop_back();
    if (v.form != Form::operation) continue;
    if (v.op == Op::logical_and) stack.insert(stack.end(), v.operands.begin(), v.operands.end());
    auto constant = v.op == Op::eq ? host.as_integer(v.operands[1]) : std::nullopt;
    if (!constant) continue;
    const Value& left = host[v.operands[0]];
    bool mod = left.form == Form::operation && left.op == Op::mod;
    auto divisor = mod ? host.as_integer(left.operands[1]) : std::nullopt;
    if (!mod) found.constants[v.operands[0]] = *constant;
    if (constant != 0 || divisor.value_or(0) <= 0) continue;
    int64_t& multiple = found.multiples.try_emplace(left.operands[0], 1).first->second;
    multiple =
        checked_mul(multiple / common_divisor(multiple, *divisor), *divisor).value_or(multiple);
  }
  return found;
}

bool Residues::keep(int64_t factor, int64_t offset, int64_t c) {
  constexpr int64_t most = 4096;
  auto a = checked_mul(factor, modulus), product = checked_mul(factor, rest);
  auto b = product ? checked_add(*product, offset) : std::nullopt;
  if (!a || !b || c < 1 || c > most) return false;
  for (int64_t u = 0; u < c; ++u) {
    if (floormod(floormod(*a, c) * u + floormod(*b, c), c) != 0) continue;
    auto wider = checked_mul(modulus, c / common_divisor(*a, c));
    auto first = checked_mul(modulus, u);
    first = first ? checked_add(*first, rest) : std::nullopt;
    if (!wider || !first) return false;
    modulus = *wider, rest = *first;
    return true;
  }
  return false;
}

std::optional<Line> line_of(const ValueStore& store, const graph::Polynomial& form) {
  std::optional<Line> line;
  for (const auto& [monomial, coefficient] : form.terms()) {
    if (monomial.empty()) continue;
    if (monomial.size() != 1 || line) return std::nullopt;
    const Value& v = store[value_of(monomial[0])];
    if (v.form != Form::variable) return std::nullopt;
    line = Line{VarId(v.ref), coefficient, form.constant_term()};
  }
  return line;
}

std::optional<Alone> lone_variable(const ValueStore& store, const graph::Polynomial& form,
                                   const std::unordered_map<VarId, ExprId>& known) {
  for (const auto& [monomial, coefficient] : form.terms()) {
    if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const Value& v = store[value_of(monomial[0])];
    if (v.form != Form::variable || known.contains(VarId(v.ref))) continue;
    auto parts = form.split(monomial[0]);
    if (parts && parts->first.as_constant()) return Alone{monomial[0], VarId(v.ref), coefficient};
  }
  return std::nullopt;
}

} // namespace tang::kernel
