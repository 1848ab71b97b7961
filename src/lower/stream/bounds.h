#pragma once
// Which stretches of the streamed axis a block of rows needs, and which elements of them take part.
#include "graph/streaming.h"
#include "lower/tile_axes.h"

namespace tang::lower {

/// Whether later rows take more of the streamed axis.
bool bounds_grow(const graph::Graph& graph, const graph::Comprehension& node,
                 const graph::Streaming& streaming);

class StreamBounds {
public:
  /// Rows `first` .. first+block_m of `rows`, stretches of block_n elements. Emits what the rows of
  /// the block have in common.
  StreamBounds(Terms& terms, const graph::Comprehension& node, const graph::Streaming& streaming,
               ValueId first, ValueId rows, int block_m, int block_n);

  ValueId begin() const { return begin_; } ///< the first stretch
  ValueId end() const { return end_; }     ///< behind the last
  /// Whether some element of the stretch from `place` on takes no part; empty = certainly.
  ValueId edge(ValueId place);
  /// Whether element `place` takes part in the row whose indices are bound.
  ValueId takes_part(ValueId place);

private:
  /// The least (or greatest) value of a bound over the block's rows; nothing where that is not
  /// seen from its form.
  std::optional<ValueId> over_rows(ExprId bound, bool greatest);

  Terms& terms_;
  Builder& b_;
  const graph::Comprehension& c_;
  const graph::Axis& axis_;
  const graph::Streaming& s_;
  ValueId first_, last_; ///< rows of the block
  int block_n_;
  ValueId extent_, begin_, end_;
  std::optional<ValueId> low_, high_; ///< all rows take all of low_ .. high_
};

} // namespace tang::lower
