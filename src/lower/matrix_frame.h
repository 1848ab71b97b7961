#pragma once
// A product on matrix units: what its parts share. A block owns block_m x block_n points; its
// operands pass through shared memory in chunks block_k deep, of which `pipeline` are under way at
// once (matrix_operand.h); a warp owns warp_m x warp_n points and multiplies fragments that lie in
// its registers as the instruction's row of atomics/ says (matrix_tile.cpp); in the end it stores
// what it has summed (matrix_results.h).
#include "atomics/match.h"
#include "lower/emit.h"
#include "lower/fragments.h"
#include "lower/tile_axes.h"
#include <map>

namespace tang::lower {

/// Points along the rows or the columns.
struct MatrixPoints {
  std::vector<size_t> axes; ///< positions in the comprehension's points
  ValueId first;            ///< of the block
  ValueId count;            ///< of all
  ValueId warp_first;       ///< of the warp, within the block
};

struct MatrixFrame {
  explicit MatrixFrame(const Emission& emission);
  MatrixFrame(const MatrixFrame&) = delete;

  /// Defines the modes of threads and blocks, and with them everything below.
  void place();

  ValueId divided(ValueId value, int64_t by) {
    return b.values().binary(graph::Op::floordiv, value, b.values().integer(by));
  }

  const Emission& e;
  const graph::Graph& g;
  const plan::Fields& f;
  const graph::Comprehension& c;
  Builder b;
  Terms terms;
  TileAxes axes;

  graph::ElemType format; ///< of both factors in memory
  /// A factor is several numbers (the law split_precision); null: one.
  const graph::Pieces* pieces = nullptr;
  bool tf32 = false;    ///< the unit reads the upper bits of f32
  bool paired = false;  ///< pieces lie two in a register, beside the words they are made of
  Type sum = Type::f32; ///< of the accumulators
  const atomics::Row* product = nullptr;
  int atom_m = 0, atom_n = 0, atom_k = 0; ///< extents of one product

  std::vector<size_t> batch;
  MatrixPoints rows, cols;
  ValueId depth;        ///< terms of the sum
  ValueId lane, thread; ///< numbers in the warp and in the block
  int thread_count = 0;
  std::vector<ValueId> lane_digits; ///< by the modes of the accumulators' lanes
};

} // namespace tang::lower
