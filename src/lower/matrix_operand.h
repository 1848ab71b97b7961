#pragma once
// One operand of a product on matrix units: a ring of tiles in shared memory, how they are filled,
// and the fragments that warps load from them.
#include "lower/matrix_frame.h"

namespace tang::lower {

class MatrixOperand {
public:
  /// `name`: m or n, what the instruction calls the points; `points` stay where they are.
  MatrixOperand(MatrixFrame& frame, ExprId operand, const MatrixPoints& points, std::string name,
                int block, int warp, const atomics::Operand& fragment);

  void allocate();
  /// Starts to copy chunk number `step` into a slot of the ring.
  void fill(ValueId slot, ValueId step);
  /// Loads the fragments of a warp from term `k` of a slot on.
  void load(int buffer, ValueId slot, int k);
  /// Makes heads of the fragments in a buffer, and keeps their rests, where factors are split.
  void split(int buffer);
  /// The first register of fragment number `i`; of a split factor that of the head.
  kernel::Ref fragment(int buffer, ValueId i) { return at(fragments_, buffer, i); }
  kernel::Ref rest(ValueId i) { return at(rests_, 0, i); }
  kernel::TensorId registers() const { return fragments_; }
  kernel::TensorId tile() const { return tile_; }
  /// Neighbours in memory are terms of the sum.
  bool along_sum() const { return along_sum_; }

private:
  void choose_load(const layout::Layout& fragment);
  void load_whole(int buffer, ValueId slot, int k);
  void load_each(int buffer, ValueId slot, int k);
  void round(int buffer, ValueId i);
  kernel::Ref at(kernel::TensorId registers, int buffer, ValueId i);
  kernel::Ref tile_element(ValueId slot, ValueId point, ValueId term) const;
  kernel::Ref memory();
  int outer() const { return along_sum_ ? block_ : f_.f.block_k; }
  int inner() const { return along_sum_ ? f_.f.block_k : block_; }

  MatrixFrame& f_;
  ExprId operand_;
  const MatrixPoints& points_;
  std::string name_;
  int block_, warp_, atom_, values_;
  bool along_sum_ = true;
  int group_ = 1;                              ///< fragments that are loaded together
  std::optional<atomics::FragmentLoad> whole_; ///< by a warp together
  layout::Layout fragment_;                    ///< or value by value
  const atomics::Row *each_ = nullptr, *round_ = nullptr, *head_ = nullptr, *rest_ = nullptr;
  kernel::TensorId tile_, fragments_, rests_;
};

} // namespace tang::lower
