#pragma once
// What a thread of a row kernel holds in registers: values of the whole row, its own elements, what
// it has read, and terms that later members use again.
#include "lower/row_frame.h"

namespace tang::lower {

struct RowRegisters {
  explicit RowRegisters(RowFrame& frame) : f_(frame) {}

  ValueId chunk, lane;                                            ///< the element at hand
  std::unordered_map<graph::TensorId, ValueId> rows;              ///< a value per row
  std::unordered_map<graph::TensorId, kernel::TensorId> elements; ///< [chunk, lane]
  std::unordered_map<ExprId, kernel::TensorId> loaded; ///< reads of the whole row: [chunk, lane]
  std::unordered_map<ExprId, kernel::TensorId> late;   ///< reads of one vector: [lane]

  /// A read that needs no memory: a row value, an element kept in registers.
  std::optional<ValueId> held(ExprId read);
  /// A term that is kept, at the element at hand.
  std::optional<ValueId> kept_value(ExprId term);
  /// The largest terms of a member that later members use again at the same element: they stay in
  /// registers, so that an exponential of a row is taken once.
  std::vector<ExprId> kept_terms(size_t member);
  void allocate_kept(const std::vector<ExprId>& terms);
  /// Computes terms at the element at hand and keeps them.
  void keep(const std::vector<ExprId>& terms);
  /// Whether a term reads nothing but registers (or what is guarded), so that it may be computed
  /// even where a filter excludes the element.
  bool in_registers(ExprId root) const;

private:
  RowFrame& f_;
  std::unordered_map<ExprId, kernel::TensorId> kept_, kept_arrays_;
};

} // namespace tang::lower
