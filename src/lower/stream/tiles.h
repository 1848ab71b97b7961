#pragma once
// What a streamed reduction keeps in shared memory: the rows of a block, and a ring of stretches of
// the streamed axis, filled by asynchronous copies.
#include "graph/streaming.h"
#include "lower/emit.h"
#include "lower/matrix_unit.h"
#include "lower/tile_axes.h"

namespace tang::lower {

class StreamTiles {
public:
  StreamTiles(const Emission& e, const graph::Streaming& streaming, Terms& terms, TileAxes& axes,
              MatrixUnit& unit);

  /// A read in shared memory: lines of rows or of the streamed axis, along the line the depth of a
  /// score or the axis of a field, zeros up to a multiple of what an instruction takes.
  struct Tile {
    ExprId read;
    graph::Axis inner;
    int width = 0;     ///< padded extent of `inner`, or of a part of it
    bool part = false; ///< only the block's columns of the amounts
    bool rows = false;
    kernel::TensorId tensor;
  };
  /// The tile of a factor; reads that differ only in the name of their inner axis share one.
  const Tile& of(ExprId read) const { return tiles_[place_of_.at(read)]; }

  /// Tiles of amounts begin at this column.
  void set_first_column(ValueId first) { first_column_ = first; }
  /// `first` is the block's first row, of `count`.
  void fill_rows(ValueId first, ValueId count);
  /// A stretch of the streamed axis from `first` on into a slot of the ring.
  void fill(ValueId slot, ValueId first);
  void commit() { b_.emit({kernel::Atom{commit_, {}, {}, {}}}); }
  /// The oldest stretch under way is there, and everybody is done with the one before.
  void arrive();
  /// Each thread takes its share of `count` things: `inside` is given the number of one.
  void shared_out(int count, const std::function<void(ValueId)>& inside);
  /// The element of a read along the streamed axis at a place of the stretch.
  std::optional<ValueId> column(ExprId read, ValueId slot, ValueId place);

private:
  struct Column {
    ExprId read;
    kernel::TensorId tensor;
  };
  void add(ExprId read, const graph::Axis& inner, bool rows, bool part);
  void fill(const Tile& tile, std::optional<ValueId> slot, ValueId first, ValueId count);
  void fill(const Column& column, ValueId slot, ValueId first);
  void move(ExprId read, kernel::Ref to, int bytes, ValueId exists);

  const Emission& e_;
  const graph::Graph& g_;
  const graph::Streaming& s_;
  const graph::Axis& stream_;
  Terms& terms_;
  Builder& b_;
  TileAxes& axes_;
  MatrixUnit& unit_;
  std::vector<Tile> tiles_;
  std::map<ExprId, size_t> place_of_;
  std::vector<Column> columns_;
  const atomics::Row *commit_, *wait_;
  ValueId first_column_;
};

} // namespace tang::lower
