#pragma once
// The vectors of a row that a thread visits, with the loads of what is read along the row: before
// anything is computed (all of the row in registers), or vector by vector.
#include "lower/row_registers.h"

namespace tang::lower {

/// One of the vectors that a thread visits.
struct RowVector {
  ValueId chunk;
  ValueId place; ///< where it would begin if the row were long enough, before 0 where mirrored
  ValueId own;   ///< whether it is, so that the vector is this thread's own; empty = always
  ValueId first; ///< its first element, in the row
};

/// The part of a row that is asked for; empty = to the row's own end.
struct RowStretch {
  ValueId lo, hi;
};

class RowVectors {
public:
  RowVectors(RowFrame& frame, RowRegisters& registers) : f_(frame), r_(registers) {}

  /// Loads what is needed from the start, once, where the fields hold a row in registers.
  void load_row();
  /// What the bounds of an axis leave of the row.
  RowStretch stretch_of(const graph::Axis& axis);
  /// Whether a chunk of the row, the same for all its threads, meets a stretch; empty = it may.
  ValueId touches(ValueId chunk, const RowStretch& stretch);
  /// Visits this thread's vectors; what only `members` read along the row is loaded for each.
  void over_vectors(std::span<const graph::Comprehension* const> members, const RowStretch& stretch,
                    kernel::LoopKind kind, const std::function<void(const RowVector&)>& inside);
  /// Visits the elements of a vector with the inner index bound, from its end where the row is
  /// mirrored.
  void over_elements(const RowVector& at, const std::function<void()>& inside);

private:
  kernel::Ref row_ref(const graph::Expr& read, ValueId first);
  ValueId first_of(ValueId chunk);
  ValueId in_row(ValueId dealt);
  ValueId nearest(ValueId first, const RowStretch& stretch);
  ValueId round_length();
  void over_chunks(const std::function<void(const RowVector&)>& inside);
  void over_rounds(const RowStretch& stretch, const std::function<void(const RowVector&)>& inside);
  void load_late(std::span<const graph::Comprehension* const> members, ValueId first);

  RowFrame& f_;
  RowRegisters& r_;
};

} // namespace tang::lower
