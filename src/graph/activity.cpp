#include "graph/activity.h"
#include "base/check.h"
#include <algorithm>

namespace tang::graph {

bool Activity::flows(const ExprStore& store, const Expr& e, size_t operand) {
  if (e.scalar != Scalar::real || store[e.operands[operand]].scalar != Scalar::real) return false;
  switch (e.op) {
  case Op::literal_int:
  case Op::literal_real:
  case Op::literal_bool:
  case Op::index:
  case Op::dim:
  case Op::acc:
  case Op::lhs:
  case Op::rhs:
  case Op::to_real:
  case Op::floor:
  case Op::ceil:
  case Op::round:
  case Op::sign:
  case Op::floordiv:
  case Op::bit_and:
  case Op::bit_or:
  case Op::bit_xor:
  case Op::shl:
  case Op::shr:
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le:
  case Op::logical_and:
  case Op::logical_or:
  case Op::logical_not: return false;
  case Op::read:
  case Op::fold:
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::neg:
  case Op::min:
  case Op::max:
  case Op::abs:
  case Op::mod:
  case Op::div:
  case Op::pow:
  case Op::atan2:
  case Op::exp:
  case Op::exp2:
  case Op::log:
  case Op::log2:
  case Op::sqrt:
  case Op::rsqrt:
  case Op::sin:
  case Op::cos:
  case Op::tan:
  case Op::tanh:
  case Op::erf:
  case Op::select:
  case Op::cast: return true;
  }
  TANG_CHECK(false, "no derivative for op {}", static_cast<int>(e.op));
}

bool Activity::operator()(ExprId root) {
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    const Expr& e = store_[id];
    if (known_.contains(id)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    for (size_t k = 0; k < e.operands.size(); ++k)
      if (flows(store_, e, k) && !known_.contains(e.operands[k]))
        stack.push_back(e.operands[k]), ready = false;
    if (!ready) continue;
    stack.pop_back();
    bool is_leaf = e.op == Op::read || e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs;
    bool active = is_leaf && e.scalar == Scalar::real && leaf_(id);
    for (size_t k = 0; k < e.operands.size() && !active; ++k)
      active = flows(store_, e, k) && known_.at(e.operands[k]);
    known_[id] = active;
  }
  return known_.at(root);
}

std::vector<char> active_fields(const Graph& graph, const Reduction& reduction,
                                Activity& in_bodies) {
  const Monoid& monoid = graph[reduction.monoid];
  std::vector<char> active(monoid.fields.size(), 0);
  for (size_t f = 0; f < active.size(); ++f)
    active[f] = monoid.fields[f].scalar == Scalar::real && in_bodies(reduction.body[f]);
  if (monoid.form == Monoid::Form::topk) return active;
  for (bool changed = true; changed;) {
    auto before = active;
    Activity in_states(graph.exprs, [&](ExprId id) { return before[graph.exprs[id].ref] != 0; });
    for (size_t f = 0; f < active.size(); ++f)
      active[f] = before[f] || in_states(monoid.combine[f]);
    changed = active != before;
  }
  return active;
}

namespace {

using TensorSet = std::unordered_set<TensorId>;

void add_active(const Graph& graph, const Comprehension& c, TensorSet& active) {
  const ExprStore& s = graph.exprs;
  Activity in_tensors(
      s, [&](ExprId id) { return s[id].op == Op::read && active.contains(TensorId(s[id].ref)); });
  std::vector<char> fields;
  if (c.reduction) fields = active_fields(graph, *c.reduction, in_tensors);
  Activity in_results(s, [&](ExprId id) {
    const Expr& e = s[id];
    return e.op == Op::read ? active.contains(TensorId(e.ref)) : fields[e.ref] != 0;
  });
  std::vector<TensorId> found;
  for (const Result& result : c.results)
    if (in_results(result.value)) found.push_back(result.tensor);
  active.insert(found.begin(), found.end());
}

void add_active(const Graph& graph, const Recur& r, TensorSet& active) {
  auto is_real = [&](TensorId id) { return scalar_of(graph[id].type) == Scalar::real; };
  for (const Carry& carry : r.carries)
    if (active.contains(carry.init)) active.insert(carry.current);
  // What one step makes active is active in the next; each round adds a carry.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node& node : r.body) add_active(graph, node, active);
    for (const Carry& carry : r.carries)
      if (active.contains(carry.next) && is_real(carry.next))
        changed |= active.insert(carry.current).second;
  }
  for (const Carry& carry : r.carries)
    if (active.contains(carry.current)) active.insert(carry.last);
  for (const Collect& collect : r.collects)
    if (active.contains(collect.value)) active.insert(collect.stacked);
}

/// The gradient of what is active may be, in every pair.
void add_active(const Gradient& g, TensorSet& active) {
  bool any = active.contains(g.of) || (g.cotangent && active.contains(g.cotangent));
  for (const GradientPair& pair : g.pairs)
    if (any) active.insert(pair.result);
}

} // namespace

void add_active(const Graph& graph, const Node& node, TensorSet& active) {
  // Nesting of recurrences is bounded by the parser's nesting limit.
  std::visit(Overload{[&](const Comprehension& c) { add_active(graph, c, active); },
                      [&](const Recur& r) { add_active(graph, r, active); },
                      [&](const Gradient& g) { add_active(g, active); }},
             node.definition);
}

} // namespace tang::graph
