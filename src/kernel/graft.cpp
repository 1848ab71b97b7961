#include "kernel/graft.h"
#include "base/check.h"

namespace tang::kernel {

Grafter::Grafter(Kernel& into, const Kernel& from, Graft known)
    : into_(into), from_(from), known_(std::move(known)) {}

VarId Grafter::var(VarId id) {
  auto [at, fresh] = known_.vars.try_emplace(id);
  if (fresh) at->second = into_.values.add_var(from_.values[id]);
  return at->second;
}

TensorId Grafter::tensor(TensorId id) {
  if (auto at = known_.tensors.find(id); at != known_.tensors.end()) return at->second;
  Tensor moved = from_[id];
  for (auto* list : {&moved.shape, &moved.stride})
    for (ValueId& size : *list) size = value(size);
  TensorId to = into_.add(std::move(moved));
  known_.tensors.emplace(id, to);
  return to;
}

ValueId Grafter::value(ValueId root) {
  if (!root) return root;
  if (auto at = values_.find(root); at != values_.end()) return at->second;
  for (ValueId id : reachable(from_.values, {&root, 1})) {
    if (values_.contains(id)) continue;
    Value v = from_.values[id]; // a copy: it gets the numbers of the other store
    for (ValueId& operand : v.operands) operand = values_.at(operand);
    if (v.form == Form::variable) v.ref = var(VarId(v.ref)).value;
    if (v.form == Form::element) v.ref = tensor(TensorId(v.ref)).value;
    const auto operands = v.operands;
    ValueId moved = into_.values.exactly(std::move(v));
    // In the order that this store keeps operands in.
    if (!operands.empty()) moved = into_.values.with_operands(moved, operands);
    values_.emplace(id, moved);
  }
  return values_.at(root);
}

Body Grafter::body(const Body& from) {
  Body moved = from;
  map_values(moved, [this](ValueId id) { return value(id); });
  in_place(moved);
  return moved;
}

void Grafter::in_place(Ref& ref) {
  ref.tensor = tensor(ref.tensor);
}

/// Bodies nest only as deep as emitters nest them.
void Grafter::in_place(Body& body) {
  for (Stmt& stmt : body)
    std::visit(Overload{[&](For& s) {
                          s.var = var(s.var);
                          in_place(s.body);
                        },
                        [&](If& s) { in_place(s.then), in_place(s.otherwise); },
                        [&](Let& s) { s.var = var(s.var); },
                        [&](Delinearize& s) {
                          for (VarId& id : s.vars) id = var(id);
                        },
                        [&](Allocate& s) { s.tensor = tensor(s.tensor); },
                        [&](Load& s) {
                          s.var = var(s.var);
                          in_place(s.src);
                        },
                        [&](Store& s) { in_place(s.dst); },
                        [&](Copy& s) { in_place(s.dst), in_place(s.src); },
                        [&](Shfl& s) { s.var = var(s.var); }, [](Barrier&) {},
                        [&](Atom& s) {
                          for (Ref& operand : s.operands) in_place(operand);
                        },
                        [&](Spec& s) {
                          for (auto* list : {&s.outputs, &s.inputs})
                            for (TensorId& id : *list) id = tensor(id);
                          in_place(s.body);
                        }},
               stmt.node);
}

} // namespace tang::kernel
