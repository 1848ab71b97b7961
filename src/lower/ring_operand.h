#pragma once
// One operand of a contraction in tiles: a ring of chunks in shared memory, points side by side
// whichever way they lie in memory, how they are filled, and a thread's values of one term.
#include "lower/tile_frame.h"

namespace tang::lower {

/// Points along the rows or the columns, and where a thread's own lie.
struct RingPoints {
  std::vector<size_t> axes;      ///< positions in the comprehension's points
  int block = 0, warp = 0;       ///< extents of the block's and of a warp's tile
  int per_thread = 1, lanes = 1; ///< points of a thread, and threads of a warp along this side
  ValueId first, count;          ///< of the block, of all
  ValueId warp_number, lane;     ///< of the thread

  /// The place in the block of the first of a thread's group of neighbours. Lanes side by side own
  /// groups side by side, so that a warp reads shared memory without bank conflicts.
  ValueId place(Builder& b, ValueId group) const;
};

class RingOperand {
public:
  RingOperand(TileFrame& frame, ExprId operand, const RingPoints& points, std::string name,
              ValueId depth, ValueId thread, int threads);

  /// Starts to copy part `part` of `parts` of chunk number `step` into a slot of the ring.
  void fill(ValueId slot, ValueId step, int part, int parts);
  /// Puts a chunk into its slot that came through registers; nothing where copies do so themselves.
  void settle(ValueId slot);
  /// Whether a chunk comes through registers: its elements are computed, or nothing copies them.
  bool through_registers() const { return !move_; }
  /// Loads a thread's values of term `k` of a slot.
  void load(int buffer, ValueId slot, ValueId k);
  ValueId value(int buffer, ValueId i) const;
  kernel::TensorId tile() const { return tile_; }

private:
  /// What the thread moves as its element number `s` of a chunk.
  struct Element {
    ValueId point, term;
  };
  Element element(ValueId s) const;
  void over(int first, int end, const std::function<void(ValueId s)>& inside);
  void copy(ValueId slot, ValueId term, const Element& at);
  void hold(ValueId s, ValueId term);
  bool copies_as_it_is() const;
  int count() const { return points_.block * f_.f.block_k / threads_; }

  TileFrame& f_;
  ExprId operand_;
  const RingPoints& points_;
  std::string name_;
  ValueId depth_, thread_;
  int threads_;
  bool along_sum_;
  const atomics::Row* move_ = nullptr;
  kernel::TensorId tile_, values_;
  kernel::TensorId ahead_; ///< the thread's elements of a chunk that comes through registers
};

} // namespace tang::lower
