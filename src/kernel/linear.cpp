#include "kernel/linear.h"
#include "base/checked.h"
#include "kernel/interval.h"
#include <algorithm>

namespace tang::kernel {

using graph::Polynomial;

namespace {

bool is_op(const Value& v, Op op) {
  return v.form == Form::operation && v.op == op;
}

} // namespace

Polynomial product_form(const ValueStore& store, ValueId id) {
  auto single = [&](ValueId factor) {
    auto literal = store.as_integer(factor);
    return literal ? Polynomial::constant(*literal) : Polynomial::atom(atom_of(factor));
  };
  if (!is_op(store[id], Op::mul)) return single(id);
  Polynomial form = Polynomial::constant(1);
  std::vector<ValueId> stack{id};
  while (!stack.empty()) {
    ValueId factor = stack.back();
    stack.pop_back();
    if (is_op(store[factor], Op::mul)) {
      for (ValueId operand : store[factor].operands) stack.push_back(operand);
      continue;
    }
    auto next = form.times(single(factor));
    if (!next) return Polynomial::atom(atom_of(id));
    form = std::move(*next);
  }
  return form;
}

std::optional<Polynomial> linear_form(const ValueStore& store, ValueId root) {
  if (!root || !is_integer(store[root].type)) return std::nullopt;
  // How often each value counts in the sum, from the root down: the largest id first, so that a
  // value is opened when all that its users say is known.
  InlineVector<std::pair<ValueId, int64_t>, 16> heap{{root, 1}};
  auto add = [&](ValueId id, std::optional<int64_t> times) {
    if (!times) return false;
    heap.push_back({id, *times}), std::push_heap(heap.begin(), heap.end());
    return true;
  };
  Polynomial form;
  while (!heap.empty()) {
    auto [id, times] = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    while (!heap.empty() && heap.front().first == id) {
      auto sum = checked_add(times, heap.front().second);
      if (!sum) return std::nullopt;
      times = *sum;
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    const Value& v = store[id];
    bool inside = true;
    if (is_op(v, Op::add)) {
      inside = add(v.operands[0], times) && add(v.operands[1], times);
    } else if (is_op(v, Op::sub)) {
      inside = add(v.operands[0], times) && add(v.operands[1], checked_mul(times, -1));
    } else if (is_op(v, Op::neg)) {
      inside = add(v.operands[0], checked_mul(times, -1));
    } else {
      // A literal factor multiplies a sum, a symbolic one makes it an atom.
      bool product = is_op(v, Op::mul);
      auto left = product ? store.as_integer(v.operands[0]) : std::nullopt;
      auto right = product && !left ? store.as_integer(v.operands[1]) : std::nullopt;
      if (left || right) {
        inside =
            add(v.operands[left ? 1 : 0], checked_mul(times, left.value_or(right.value_or(1))));
      } else {
        auto term = product_form(store, id).times(Polynomial::constant(times));
        auto sum = term ? form.plus(*term) : std::nullopt;
        if (!sum) return std::nullopt;
        form = std::move(*sum);
      }
    }
    if (!inside) return std::nullopt;
  }
  return form;
}

std::optional<Polynomial> expanded_form(const ValueStore& store, ValueId root) {
  if (!root || !is_integer(store[root].type)) return std::nullopt;
  auto inner = [&](const Value& v) {
    return is_op(v, Op::add) || is_op(v, Op::sub) || is_op(v, Op::neg) || is_op(v, Op::mul);
  };
  std::unordered_map<ValueId, Polynomial> done;
  std::vector<ValueId> stack{root};
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
      form = Polynomial::atom(atom_of(id));
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
