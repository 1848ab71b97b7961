#pragma once
// Elements that take no part contribute nothing, whatever their data (language.md 5). On matrix
// units they have weight 0, and 0 times inf or NaN is NaN. So in stretches where some element takes
// no part, what is not finite becomes 0 before the product; once such a value was met, every sum
// that it takes part in becomes NaN at the end.
#include "lower/stream/bounds.h"
#include "lower/stream/lanes.h"
#include "lower/stream/tiles.h"

namespace tang::lower {

class Excluded {
public:
  Excluded(const Emission& e, const graph::Streaming& streaming, Terms& terms, TileAxes& axes,
           StreamTiles& tiles, const MatrixUnit& unit, const StreamLanes& lanes);

  /// Makes the amounts' reads in a slot finite; scores were computed from it.
  void sift(ValueId slot);
  /// Whether some thread of the block met such a value: a number that is 0 where none did.
  void settle();
  /// Gives the sums of an amount what its elements in `begin` .. `end` that are not finite make of
  /// them. Columns of the state begin at `first_column`; `count` rows.
  void restore(const graph::Streaming::Amount& amount, kernel::TensorId state, ValueId first_column,
               ValueId count, ValueId begin, ValueId end, StreamBounds& bounds);

private:
  ValueId is_finite(ValueId value);

  const Emission& e_;
  const graph::Streaming& s_;
  Terms& terms_;
  Builder& b_;
  TileAxes& axes_;
  StreamTiles& tiles_;
  const MatrixUnit& unit_;
  const StreamLanes& lanes_;
  kernel::TensorId met_, warps_;
  ValueId any_;
};

} // namespace tang::lower
