#pragma once
// A contraction in tiles without matrix units: the operands of its two sides, and the state of its
// monoid at a thread's own points, which tile.cpp and ring_tile.cpp fill and combine.
#include "lower/emit.h"
#include "lower/tile_axes.h"

namespace tang::lower {

/// A register tile per field of the monoid, thread_m x thread_n.
using Accumulators = std::vector<kernel::TensorId>;

struct TileFrame {
  explicit TileFrame(const Emission& emission);
  TileFrame(const TileFrame&) = delete;

  Type operand_type(ExprId id) const { return terms.type_of(id); }
  /// Whether an operand's neighbours in memory are terms of the sum, not points of its side.
  bool along_sum(ExprId operand, const std::vector<size_t>& side) const;

  /// The identity at every point of a thread.
  Accumulators accumulators();
  using Values = std::function<ValueId(size_t operand)>;
  /// acc[i, j] = combine(acc[i, j], body), with the values of either side's operands given by their
  /// numbers.
  void update(const Accumulators& acc, ValueId i, ValueId j, const Values& a, const Values& b);
  /// Stores the results of the point that is bound, of which acc[i, j] is the state.
  void results(const Accumulators& acc, ValueId i, ValueId j);

  const Emission& e;
  const graph::Graph& g;
  const plan::Fields& f;
  const graph::Comprehension& c;
  const graph::Reduction& r;
  Builder b;
  Terms terms;
  TileAxes axes;
  graph::Sides sides;
  graph::Operands operands; ///< each side in the order of their appearance
  std::vector<Type> types;  ///< of each field

private:
  graph::Prover prover_with_axes() const;
  void note_product();
};

/// Groups of neighbours that a thread owns along one side: shared memory is read in vectors.
inline int neighbours_of(int per_thread) {
  return per_thread < 4 ? per_thread : 4;
}

} // namespace tang::lower
