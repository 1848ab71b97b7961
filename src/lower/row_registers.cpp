#include "lower/row_registers.h"
#include "lower/vectors.h"
#include <algorithm>
#include <unordered_set>

namespace tang::lower {

using graph::Comprehension;
using graph::Expr;
using graph::Op;
using graph::TensorId;

std::optional<ValueId> RowRegisters::held(ExprId id) {
  const Expr& e = f_.g.exprs[id];
  std::optional<ValueId> value;
  if (auto at = rows.find(TensorId(e.ref)); at != rows.end())
    value = at->second;
  else if (auto kept = elements.find(TensorId(e.ref)); kept != elements.end())
    value = f_.b.element(kept->second, {chunk, lane});
  else if (auto read = loaded.find(id); read != loaded.end())
    value = f_.b.element(read->second, {chunk, lane});
  else if (auto one = late.find(id); one != late.end())
    value = f_.b.element(one->second, {lane});
  if (!value) return value;
  return e.scalar == graph::Scalar::real ? f_.terms.convert(*value, f_.terms.real()) : *value;
}

std::vector<ExprId> RowRegisters::kept_terms(size_t member) {
  constexpr size_t most = 3;
  if (!f_.f.chunks || member + 1 == f_.group.nodes.size()) return {};
  std::unordered_set<ExprId> later;
  for (size_t n = member + 1; n < f_.group.nodes.size(); ++n) {
    auto all = graph::roots(*f_.group.nodes[n]);
    for (ExprId id : graph::reachable(f_.g.exprs, all)) later.insert(id);
  }
  const Comprehension& c = *f_.group.nodes[member];
  std::vector<ExprId> stack, found;
  auto roots = graph::roots(c);
  if (c.reduction)
    stack = c.reduction->body;
  else
    for (const graph::Result& result : c.results) stack.push_back(result.value);
  std::unordered_set<ExprId> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    const Expr& e = f_.g.exprs[id];
    bool moves = std::binary_search(e.free.begin(), e.free.end(), f_.group.inner.index);
    if (!moves || e.op == Op::read || e.op == Op::index || kept_.contains(id)) continue;
    if (e.scalar == graph::Scalar::real && e.op != Op::to_real && later.contains(id) &&
        in_registers(id)) {
      found.push_back(id);
      continue;
    }
    for (ExprId operand : e.operands)
      if (seen.insert(operand).second) stack.push_back(operand);
  }
  order_by_appearance(f_.g.exprs, roots, found);
  if (kept_.size() + found.size() > most) found.clear();
  return found;
}

bool RowRegisters::in_registers(ExprId root) const {
  for (ExprId id : graph::reachable(f_.g.exprs, {&root, 1})) {
    const Expr& e = f_.g.exprs[id];
    if (e.has_state) return false;
    if (e.op != Op::read || e.guarded || loaded.contains(id) || late.contains(id)) continue;
    if (!rows.contains(TensorId(e.ref)) && !elements.contains(TensorId(e.ref))) return false;
  }
  return true;
}

void RowRegisters::keep(const std::vector<ExprId>& terms) {
  for (ExprId id : terms) {
    ValueId value = f_.b.let("t", f_.terms.lower(id));
    f_.b.store({kept_arrays_.at(id), {chunk, lane}}, value);
    kept_[id] = kept_arrays_.at(id);
  }
}

void RowRegisters::allocate_kept(const std::vector<ExprId>& terms) {
  for (ExprId id : terms)
    kept_arrays_[id] = f_.b.registers("kept", f_.terms.real(), {f_.f.chunks, f_.f.vector});
}

std::optional<ValueId> RowRegisters::kept_value(ExprId id) {
  auto at = kept_.find(id);
  if (at == kept_.end()) return std::nullopt;
  return f_.b.element(at->second, {chunk, lane});
}

} // namespace tang::lower
