#pragma once
// One operand of a product on matrix units: a ring of tiles in shared memory, how they are filled,
// and the fragments that warps load from them.
#include "lower/matrix_frame.h"
#include <functional>

namespace tang::lower {

class MatrixOperand {
public:
  /// `name`: m or n, what the instruction calls the points; `points` stay where they are.
  MatrixOperand(MatrixFrame& frame, ExprId operand, const MatrixPoints& points, std::string name,
                int block, int warp, const atomics::Operand& fragment);

  void allocate();
  /// Which lines and which units of a line the thread copies, for every chunk.
  void place();
  /// Starts to copy part `part` of `parts` of chunk number `step` into a slot of the ring.
  void fill(ValueId slot, ValueId step, int part, int parts);
  /// Puts a chunk into its slot that came through registers; nothing where copies do so themselves.
  void settle(ValueId slot);
  /// Whether a chunk comes through registers: lines begin where no copy of a word does.
  bool through_registers() const { return unit() > f_.f.vector; }
  /// Loads the fragments of a warp from term `k` of a slot on.
  void load(int buffer, ValueId slot, int k);
  /// Makes pieces of the fragments in a buffer, where factors are split.
  void split(int buffer);
  /// The first register of fragment number `i`.
  kernel::Ref fragment(int buffer, ValueId i) { return at(fragments_, buffer, i); }
  /// The same of a piece of a split factor.
  kernel::Ref piece(int number, int buffer, ValueId i) {
    return at(pieces_[number], buffer_of(number, buffer), i);
  }
  kernel::TensorId registers() const { return pieces_.empty() ? fragments_ : pieces_[0]; }
  kernel::TensorId tile() const { return tile_; }
  /// Neighbours in memory are terms of the sum.
  bool along_sum() const { return along_sum_; }

private:
  void choose_load(const layout::Layout& fragment);
  void load_whole(int buffer, ValueId slot, int k);
  void load_each(int buffer, ValueId slot, int k);
  void round(int buffer, ValueId i);
  kernel::Ref at(kernel::TensorId registers, int buffer, ValueId i);
  /// Heads of f32 lie where the words did, every other piece in one buffer of its own.
  int buffer_of(int piece, int buffer) const { return piece == 0 && !f_.paired ? buffer : 0; }
  kernel::Ref tile_element(ValueId slot, ValueId point, ValueId term) const;
  kernel::Ref memory();
  void copy(ValueId slot, ValueId step, ValueId line, int element);
  void over_lines(int first, int end, const std::function<void(ValueId)>& inside);
  int unit() const { return plan::copied_at_once(f_.f); }
  int lines_at_once() const { return f_.thread_count / (inner() / unit()); }
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
  int at_once_ = 1;                            ///< so many that are neighbours
  const atomics::Row *each_ = nullptr, *round_ = nullptr;
  std::vector<const atomics::Row*> cuts_; ///< what makes each piece of a word, or of a pair
  std::vector<kernel::TensorId> pieces_;
  kernel::TensorId tile_, fragments_;
  kernel::TensorId ahead_; ///< the thread's part of a chunk that comes through registers
  ValueId chunk_, row_;    ///< the thread's unit of a line, and its first line
};

} // namespace tang::lower
