#pragma once
// Warps that multiply matrices: what rows of atomics/ say about the fragments that a thread holds.
#include "atomics/match.h"
#include "lower/emit.h"

namespace tang::lower {

class MatrixUnit {
public:
  /// Factors in `format`, sums in f32. Factors of f32 are rounded to what a unit of tf32 reads.
  MatrixUnit(Builder& builder, const Machine& machine, graph::ElemType format);

  /// Adds the modes of a warp's lanes to the block, then those of `warps`; returns the warp's
  /// number.
  ValueId add_threads(int warps);

  /// Values of a thread's accumulators along one side of a tile: value `value * i` of an atom lies
  /// `place * i` further along the side, i < count.
  struct Digit {
    int count = 1, value = 1, place = 1;
  };
  Digit rows() const { return digit("m"); }
  Digit columns() const { return digit("n"); }

  /// How fragments of one operand come from a tile in shared memory.
  struct Source {
    const atomics::Row* row;
    layout::Layout lanes; ///< where a lane's load begins
    /// By how much its values lie behind that, of which each is loaded by itself; empty where they
    /// come together.
    std::optional<layout::Layout> each;
    int group = 1;  ///< fragments along the operand's side that one load brings
    int values = 0; ///< of one fragment
  };
  /// Fragments of A (side m) or B (side n) whose neighbours in memory lie along `contiguous`, "k"
  /// or the side. Several at once where `most` fragments are wanted.
  Source source(const std::string& side, const std::string& contiguous, int most) const;
  /// Fragments of B for an A that comes from a chain.
  Source chained_source(const std::string& contiguous, int most) const;
  /// Loads the fragments that begin at these coordinates of a tile: `place` makes the reference of
  /// a point along the side and one along k.
  void load(const Source& source, const std::string& side, kernel::Ref into,
            const std::function<kernel::Ref(ValueId point, ValueId term)>& place);
  /// d += a b, each the first register of a fragment.
  void multiply(kernel::Ref d, kernel::Ref a, kernel::Ref b);

  /// How the accumulators of neighbours along the columns, one after the other, are a fragment of
  /// A: then a result is a factor of the next product without an exchange among lanes. A sum may
  /// take its terms in any order, so columns are terms in the order that lets them be.
  struct Chain {
    std::vector<int> values;  ///< accumulator of each value of A
    std::vector<int> columns; ///< by the term of A
  };
  const Chain& chain() const { return chain_; }
  /// Makes accumulators, in the order of `chain`'s numbers, the fragment of A that begins there.
  void become_factor(kernel::Ref fragment, kernel::Ref accumulators);
  /// Holds for one of the lanes that hold parts of a row.
  ValueId first_of_row() const { return first_of_row_; }
  /// Masks of the shuffles among lanes that hold parts of one row.
  std::vector<int> column_masks() const;

  int atom_m = 0, atom_n = 0, atom_k = 0; ///< an instruction's extents
  int d_values = 0, a_values = 0;         ///< of a thread's fragments
  ValueId lane, warp, thread;             ///< numbers in the warp and in the block
  ValueId lane_m, lane_n;                 ///< coordinates of the lane's first accumulator
  int lane_count = 0, thread_count = 0;   ///< of a warp and of the block

private:
  Digit digit(const std::string& basis) const;
  Chain find_chain() const;
  /// So many values behind a place in registers.
  kernel::Ref behind(kernel::Ref place, int values);
  Source source_of(const layout::Layout& fragment, const std::string& side,
                   const std::string& contiguous, int most) const;

  Builder& b_;
  const Machine& machine_;
  graph::ElemType format_;
  const atomics::Row* product_;
  const atomics::Row* round_ = nullptr; ///< of f32
  Chain chain_;
  ValueId first_of_row_;
};

} // namespace tang::lower
