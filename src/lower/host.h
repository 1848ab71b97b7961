#pragma once
// Host values: what the launcher computes from dims. All integers are 64-bit.
#include "kernel/program.h"
#include "lower/builder.h"

namespace tang::lower {

class Host {
public:
  Host(const graph::Graph& graph, kernel::Program& program);

  /// An integer term over dims.
  ValueId term(ExprId id);
  /// A kernel's value over its scalar parameters, whose host values are `scalars`.
  ValueId import(const kernel::Kernel& kernel, ValueId id, std::span<const ValueId> scalars);
  /// The host value of a scalar parameter.
  ValueId scalar(const ScalarSource& source);
  /// Declares the host variable of a recurrence's step.
  VarId declare_step(graph::TensorId step, const std::string& name);
  /// Elements in memory: the product of the extents, or 1 + the largest offset when strided.
  ValueId elements(const graph::Tensor& tensor);
  /// What to check of an output in strides; empty where they leave room at all sizes.
  std::optional<kernel::Room> room(const graph::Tensor& tensor, kernel::BufferId buffer);
  /// What the declaration of an input promises about its data; empty for nothing.
  std::optional<kernel::Promise> promise(const graph::Tensor& tensor, kernel::BufferId buffer);
  /// Elements in front of a parameter's part of its tensor.
  ValueId offset(const TensorSource& source);
  ValueId bytes(graph::ElemType type, ValueId elements);
  kernel::ValueStore& values() { return program_.values; }

private:
  const graph::Graph& graph_;
  kernel::Program& program_;
  std::unordered_map<graph::TensorId, VarId> steps_;
};

} // namespace tang::lower
