#pragma once
// The running state of a monoid in registers.
#include "lower/terms.h"

namespace tang::lower {

/// State of one reduction, fold or scan: a register tensor per field.
class Accumulator {
public:
  /// `types`: machine format of each field.
  Accumulator(Terms& terms, graph::MonoidId monoid, const std::string& name,
              std::vector<Type> types);

  /// The identity in every field.
  void init();
  /// state = combine(state, element), where the element's fields are the terms `body` (topk: value
  /// and index), needed only where `filter` holds. `field_axes` are the indices that the body of an
  /// indexed field uses.
  void combine(std::span<const ExprId> body, std::span<const std::vector<graph::Axis>> field_axes,
               ExprId filter = {});
  /// state = combine(state, other): `other` gives field values at their places. Where it lowers
  /// terms of the node, it does so in `Terms::outside`.
  void merge(const Terms::State& other, ValueId condition = {});
  /// Runs `inside` and keeps what it combines only where the condition holds (empty = always),
  /// without a branch. Scalar fields only.
  void only_where(ValueId condition, const std::function<void()>& inside);
  /// A field's value; empty places for a scalar field.
  ValueId value(uint32_t field, const std::vector<ValueId>& places);
  /// What acc terms mean while this is the node's reduction.
  Terms::State state();
  const std::vector<kernel::TensorId>& fields() const { return fields_; }
  const std::vector<Type>& types() const { return types_; }
  bool commutes() const { return monoid().commutative; }
  Builder& builder() { return terms_.builder(); }

private:
  const graph::Monoid& monoid() const;
  std::vector<int64_t> shape_of(uint32_t field) const;
  bool is_pointwise(uint32_t field) const;
  void combine_indexed(std::span<const ExprId> body,
                       std::span<const std::vector<graph::Axis>> field_axes);
  void merge_fields(ValueId condition);
  void insert(ValueId value, ValueId index, ValueId condition);
  template <class F>
  void over_field(uint32_t field, F&& inside, bool bind = false);
  template <class F>
  void over_own_axes(uint32_t field, F&& inside);
  Terms& terms_;
  graph::MonoidId monoid_;
  std::vector<kernel::TensorId> fields_;
  std::vector<Type> types_;
};

/// The format of each field of a node's reduction: reals compute in `real`; an integer field in 32
/// bits only where `accumulate` promises it or the extents and operand ranges prove it.
std::vector<Type> field_types(const graph::Graph& graph, const graph::Comprehension& node,
                              const graph::Prover& prover, Type real);

} // namespace tang::lower
