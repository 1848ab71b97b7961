#include "kernel/value_terms.h"
#include "graph/polynomial.h"

namespace tang::kernel {

using graph::ExprId;

ValueTerms::ValueTerms(graph::ExprStore& exprs, const ValueStore& store, Vars& vars,
                       std::vector<ExprId>& done, Unknown unknown)
    : e_(exprs), store_(store), vars_(vars), done_(done), unknown_(std::move(unknown)) {
  done_.resize(store.size());
}

ExprId ValueTerms::term(ValueId root, const std::function<void(ValueId)>& made) {
  std::vector<ValueId> stack{root};
  while (!stack.empty()) {
    ValueId id = stack.back();
    if (done_[id.value]) {
      stack.pop_back();
      continue;
    }
    const Value& v = store_[id];
    bool ready = true;
    if (has_meaning(v))
      for (ValueId operand : v.operands)
        if (!done_[operand.value]) stack.push_back(operand), ready = false;
    if (!ready) continue;
    stack.pop_back();
    ExprId term = one(id, v);
    done_[id.value] = term ? term : unknown_(v.type, store_.range(id));
    if (made) made(id);
  }
  return done_[root.value];
}

/// Whether the value's operands say what it is: integers and booleans made of such.
bool ValueTerms::has_meaning(const Value& v) const {
  if (is_real(v.type)) return false;
  if (v.form == Form::convert) return is_integer(v.type) && is_integer_operand(v);
  if (v.form != Form::operation) return false;
  switch (v.op) {
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::min:
  case Op::max:
  case Op::neg:
  case Op::abs:
  case Op::logical_and:
  case Op::logical_or:
  case Op::logical_not:
  case Op::select: return true;
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return is_integer_operand(v);
  // The prover knows quotients by constants.
  case Op::floordiv:
  case Op::mod: return store_.as_integer(v.operands[1]).value_or(0) > 0;
  default: return false;
  }
}

/// Empty for what has no meaning in the graph.
ExprId ValueTerms::one(ValueId id, const Value& v) {
  auto in = [&](size_t i) { return done_[v.operands[i].value]; };
  switch (v.form) {
  case Form::literal:
    if (is_real(v.type)) return {};
    return v.type == Type::boolean ? e_.boolean(v.integer) : e_.integer(v.integer);
  case Form::variable: {
    auto [at, fresh] = vars_.try_emplace(VarId(v.ref));
    if (fresh) at->second = unknown_(v.type, store_.range(id));
    return at->second;
  }
  case Form::convert: return has_meaning(v) ? in(0) : ExprId();
  case Form::element:
  case Form::round: return {};
  case Form::operation: break;
  }
  if (!has_meaning(v)) return {};
  if (v.op == Op::floordiv || v.op == Op::mod)
    return e_.binary(v.op, graph::canonical(e_, in(0)), in(1));
  if (v.op == Op::select) return e_.select(in(0), in(1), in(2));
  return v.operands.size() == 1 ? e_.unary(v.op, in(0)) : e_.binary(v.op, in(0), in(1));
}

} // namespace tang::kernel
