#include "interpret/kernel/host.h"
#include "interpret/scalar_ops.h"

namespace tang::interpret::simulator {

using kernel::Form;
using kernel::Type;
using kernel::Value;
using kernel::ValueId;

namespace {

using Known = std::unordered_map<ValueId, std::optional<int64_t>>;

std::optional<int64_t> operation(const Value& v, const Known& known) {
  auto operand = [&](size_t i) { return known.at(v.operands[i]); };
  std::optional<int64_t> a = operand(0);
  switch (v.op) {
  case Op::select:
    if (!a) return std::nullopt;
    return operand(*a ? 1 : 2);
  case Op::logical_and:
    if (a == 0 || operand(1) == 0) return 0;
    return a ? operand(1) : std::nullopt;
  case Op::logical_or:
    if ((a && *a) || (operand(1) && *operand(1))) return 1;
    return a ? operand(1) : std::nullopt;
  case Op::logical_not: return a ? std::optional<int64_t>(!*a) : std::nullopt;
  case Op::min:
    // Bounds are held where they begin to matter.
    if (a.has_value() != operand(1).has_value()) return a ? a : operand(1);
    break;
  default: break;
  }
  if (!a) return std::nullopt;
  if (v.operands.size() == 1) return integer_unary(v.op, *a);
  std::optional<int64_t> b = operand(1);
  if (!b) return std::nullopt;
  switch (v.op) {
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return integer_compare(v.op, *a, *b);
  default: return integer_binary(v.op, *a, *b);
  }
}

} // namespace

std::optional<int64_t> host_value(const kernel::ValueStore& store, ValueId root,
                                  const HostVariables& variables) {
  Known known;
  for (ValueId id : kernel::reachable(store, {&root, 1})) {
    const Value& v = store[id];
    std::optional<int64_t>& value = known[id];
    switch (v.form) {
    case Form::literal:
      if (!kernel::is_real(v.type)) value = v.integer;
      break;
    case Form::variable: {
      auto at = variables.find(kernel::VarId(v.ref));
      if (at != variables.end()) value = at->second;
      break;
    }
    case Form::convert: value = known.at(v.operands[0]); break;
    case Form::operation: value = operation(v, known); break;
    case Form::element:
    case Form::round: break;
    }
  }
  return known.at(root);
}

} // namespace tang::interpret::simulator
