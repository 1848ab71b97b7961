#pragma once
// The references of a streamed reduction (graph/scaled_monoid.h): what is kept of them for each
// row, and the weights that bring amounts and elements to them.
#include "graph/streaming.h"
#include "lower/stream/lanes.h"

namespace tang::lower {

class References {
public:
  using Row = StreamLanes::Row;
  using Fall = graph::ScaledMonoid::Amount::Fall;
  /// Kept as `term`, of which the field is `factor` times, factor > 0: scores as matrix units leave
  /// them are compared without being scaled.
  struct Reference {
    uint32_t field;
    graph::Op op;
    ExprId term;
    double factor;
    kernel::TensorId state, next, elements; ///< of rows; of the elements of a stretch
  };
  /// What amounts are multiplied by when a reference moves, for all that fall alike.
  struct Scale {
    Fall fall;
    size_t reference;
    double rate; ///< the weight is 2^(rate * distance) of what is kept
    kernel::TensorId factor;
    kernel::TensorId level; ///< rate * what is kept
  };

  /// Elements are those of `column_tiles` tiles along the columns.
  References(Terms& terms, const StreamLanes& lanes, const graph::Reduction& reduction,
             int column_tiles)
      : terms_(terms), b_(terms.builder()), lanes_(lanes), r_(reduction),
        column_tiles_(column_tiles) {}

  const Reference& add(uint32_t field, const std::string& name);
  size_t scale_of(const Fall& fall);
  bool empty() const { return references_.empty(); }
  const std::vector<Reference>& all() const { return references_; }
  const std::vector<Scale>& scales() const { return scales_; }

  /// The reference that nothing lies below.
  ValueId identity(const Reference& r);
  /// A reference's field, from what is kept of it.
  ValueId kept(const Reference& r, ValueId value);

  /// What the lanes of a row found becomes `next`, with the factors that lead there.
  void gather(const Row& row);
  /// `next` becomes the state.
  void settle(const Row& row);

  /// A weight of the monoid as it is written, where lhs and rhs stand for these references.
  ValueId weight(ExprId term, const std::function<ValueId(const Reference&)>& left,
                 const std::function<ValueId(const Reference&)>& right);
  /// The weight of an element, of which `own` is kept, that falls to the row's reference;
  /// `finite`: which is known to be.
  ValueId fallen(const Scale& s, ValueId own, const Row& row, bool finite);

  /// Whether some factor of the thread's rows is not 1.
  ValueId moved(const Scale& s);
  /// Whether a reference that weights fall to is no number in one of the thread's rows; empty where
  /// none falls.
  ValueId some_infinite();

private:
  void gather(const Scale& s, const Row& row);
  ValueId some_row(const std::string& name, const std::function<ValueId(const Row&)>& holds);

  Terms& terms_;
  Builder& b_;
  const StreamLanes& lanes_;
  const graph::Reduction& r_;
  int column_tiles_;
  std::vector<Reference> references_;
  std::vector<Scale> scales_;
};

} // namespace tang::lower
