#pragma once
// The body of one kernel moved into another: values, variables and tensors get numbers there.
#include "kernel/kernel.h"
#include <unordered_map>

namespace tang::kernel {

/// What stands in `into` for variables and tensors of `from`; whatever is missing is added.
struct Graft {
  std::unordered_map<VarId, VarId> vars;
  std::unordered_map<TensorId, TensorId> tensors;
};

class Grafter {
public:
  Grafter(Kernel& into, const Kernel& from, Graft known);

  VarId var(VarId id);
  TensorId tensor(TensorId id);
  ValueId value(ValueId id); ///< an empty id stays one
  Body body(const Body& body);

private:
  void in_place(Body& body);
  void in_place(Ref& ref);

  Kernel& into_;
  const Kernel& from_;
  Graft known_;
  std::unordered_map<ValueId, ValueId> values_;
};

} // namespace tang::kernel
