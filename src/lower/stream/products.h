#pragma once
// The two kinds of products of a streamed reduction: scores of rows with a stretch, and what
// weights add up of a stretch.
#include "lower/stream/lanes.h"
#include "lower/stream/tiles.h"

namespace tang::lower {

class StreamProducts {
public:
  StreamProducts(const Emission& e, const graph::Streaming& streaming, Terms& terms,
                 const StreamTiles& tiles, MatrixUnit& unit, const StreamLanes& lanes,
                 ValueId warp_first);

  /// Loads fragments of the rows once, where registers allow; they have arrived.
  void hold_rows();
  /// Computes all scores of the stretch in a slot of the ring.
  void scores(ValueId slot);
  /// The registers of a score that terms name by its fold; empty for other terms.
  kernel::TensorId score(ExprId fold) const;
  /// state += weights times the stretch of `amount`'s read.
  void add(const graph::Streaming::Amount& amount, kernel::TensorId weights, kernel::TensorId state,
           ValueId slot);

private:
  struct Score {
    const graph::Streaming::Score* score;
    kernel::TensorId state, rows;
    MatrixUnit::Source source; ///< of the rows
  };
  void load_rows(const Score& score, ValueId into, ValueId q);
  void compute(const Score& score, ValueId slot);
  /// The first register of fragment `number` in registers loaded by groups.
  kernel::Ref fragment(kernel::TensorId fragments, std::vector<ValueId> before, ValueId number,
                       const MatrixUnit::Source& source);
  ValueId integer(int64_t n) { return b_.values().integer(n); }

  const graph::Streaming& s_;
  const plan::Fields& f_;
  Terms& terms_;
  Builder& b_;
  const StreamTiles& tiles_;
  MatrixUnit& unit_;
  const StreamLanes& lanes_;
  ValueId warp_first_; ///< the warp's first row in the block
  int column_tiles_;
  std::vector<Score> scores_;
};

} // namespace tang::lower
