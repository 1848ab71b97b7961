#include "kernel/linear.h"
#include "kernel/interval.h"

namespace tang::kernel {

using graph::Polynomial;

namespace {

bool is_op(const Value& v, Op op) {
  return v.form == Form::operation && v.op == op;
}

} // namespace

Polynomial product_form(const ValueStore& store, ValueId id) {
  Polynomial form = Polynomial::constant(1);
  std::vector<ValueId> stack{id};
  while (!stack.empty()) {
    ValueId factor = stack.back();
    stack.pop_back();
    if (is_op(store[factor], Op::mul)) {
      for (ValueId operand : store[factor].operands) stack.push_back(operand);
      continue;
    }
    auto literal = store.as_integer(factor);
    auto next =
        form.times(literal ? Polynomial::constant(*literal) : Polynomial::atom(atom_of(factor)));
    if (!next) return Polynomial::atom(atom_of(id));
    form = std::move(*next);
  }
  return form;
}

namespace {

/// Walks sums, differences and products bottom-up; `expand` multiplies sums out.
std::optional<Polynomial> form_of(const ValueStore& store, ValueId root, bool expand) {
  if (!root || !is_integer(store[root].type)) return std::nullopt;
  std::unordered_map<ValueId, Polynomial> done;
  std::vector<ValueId> stack{root};
  auto inner = [&](const Value& v) {
    if (is_op(v, Op::add) || is_op(v, Op::sub) || is_op(v, Op::neg)) return true;
    return is_op(v, Op::mul) && (expand || store.as_integer(v.operands[0]).has_value() ||
                                 store.as_integer(v.operands[1]).has_value());
  };
  while (!stack.empty()) {
    ValueId id = stack.back();
    const Value& v = store[id];
    if (done.contains(id)) {
      stack.pop_back();
      continue;
    }
    std::optional<Polynomial> form;
    if (auto literal = store.as_integer(id)) {
      form = Polynomial::constant(*literal);
    } else if (!inner(v)) {
      form = product_form(store, id);
    } else {
      size_t waiting = stack.size();
      for (ValueId operand : v.operands)
        if (!done.contains(operand)) stack.push_back(operand);
      if (stack.size() != waiting) continue;
      const Polynomial& a = done.at(v.operands[0]);
      const Polynomial& b = done.at(v.operands.back());
      form = v.op == Op::add   ? a.plus(b)
             : v.op == Op::sub ? a.minus(b)
             : v.op == Op::neg ? Polynomial().minus(a)
                               : a.times(b);
    }
    stack.pop_back();
    if (!form) return std::nullopt;
    done.emplace(id, std::move(*form));
  }
  return std::move(done.at(root));
}

} // namespace

std::optional<Polynomial> linear_form(const ValueStore& store, ValueId id) {
  return form_of(store, id, false);
}

std::optional<Polynomial> expanded_form(const ValueStore& store, ValueId id) {
  return form_of(store, id, true);
}

ValueId build(ValueStore& store, const Polynomial& form) {
  ValueId sum = store.integer(form.constant_term());
  for (const auto& [monomial, coefficient] : form.terms()) {
    if (monomial.empty()) continue;
    ValueId product = store.integer(coefficient);
    for (graph::ExprId atom : monomial) product = store.mul(product, value_of(atom));
    sum = store.add(sum, product);
  }
  return sum;
}

graph::IntRange range(const ValueStore& store, const Polynomial& form) {
  IntRange total{0, 0};
  for (const auto& [monomial, coefficient] : form.terms()) {
    IntRange product{1, 1};
    for (graph::ExprId atom : monomial) product = multiply(product, store.range(value_of(atom)));
    total = add(total, scale(product, coefficient));
  }
  return total;
}

} // namespace tang::kernel
