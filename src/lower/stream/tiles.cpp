#include "lower/stream/tiles.h"
#include "base/check.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Op;
using kernel::LoopKind;
using kernel::Ref;

namespace {

constexpr int copied_bytes = 16;

const Axis& streamed_axis(const Emission& e) {
  return std::get<graph::Comprehension>(e.nodes[0]->definition).reduction->axes[0];
}

/// Whether two reads are the same but for their innermost index.
bool differ_in_inner_only(const graph::Graph& g, ExprId a, ExprId b) {
  const graph::Expr &x = g.exprs[a], &y = g.exprs[b];
  return x.ref == y.ref && x.operands.size() == y.operands.size() &&
         std::equal(x.operands.begin(), x.operands.end() - 1, y.operands.begin());
}

} // namespace

StreamTiles::StreamTiles(const Emission& e, const graph::Streaming& streaming, Terms& terms,
                         TileAxes& axes, MatrixUnit& unit)
    : e_(e), g_(e.graph), s_(streaming), stream_(streamed_axis(e)), terms_(terms),
      b_(terms.builder()), axes_(axes), unit_(unit),
      commit_(ask(b_, e.machine, atomics::GroupShape{atomics::Kind::commit, "cp_async"})),
      wait_(ask(b_, e.machine, atomics::GroupShape{atomics::Kind::wait, "cp_async"})) {
  TANG_CHECK(commit_ && wait_, "no asynchronous copies for `{}`", e.name);
  for (const graph::Streaming::Score& score : s_.scores) {
    add(score.row, score.depth, true, false);
    add(score.column, score.depth, false, false);
  }
  for (const graph::Streaming::Amount& amount : s_.amounts)
    if (amount.read) add(amount.read, amount.axis, false, e.fields.warp_n > 0);
  for (ExprId read : s_.columns)
    columns_.push_back({read, b_.shared(g_[graph::TensorId(g_.exprs[read].ref)].name + "_line",
                                        g_[graph::TensorId(g_.exprs[read].ref)].type,
                                        {e.fields.pipeline, e.fields.block_n})});
}

void StreamTiles::add(ExprId read, const Axis& inner, bool rows, bool part) {
  if (place_of_.contains(read)) return;
  for (size_t i = 0; i < tiles_.size(); ++i)
    if (tiles_[i].rows == rows && tiles_[i].part == part &&
        differ_in_inner_only(g_, tiles_[i].read, read)) {
      place_of_[read] = i;
      return;
    }
  Tile tile{read, inner, 0, part, rows, {}};
  int step = std::max(unit_.atom_k, 2 * unit_.atom_n);
  tile.width = static_cast<int>((*g_.exprs.as_integer(inner.extent) + step - 1) / step * step);
  if (part) tile.width = std::min(tile.width, e_.fields.warp_n);
  // Lines of 16 bytes more than a multiple of 32 lie in different banks.
  int64_t pitch = tile.width + copied_bytes * 8 / graph::info(s_.format).bits;
  std::string name = g_[graph::TensorId(g_.exprs[read].ref)].name + (rows ? "_rows" : "_tile");
  int64_t lines = rows ? e_.fields.block_m : e_.fields.block_n;
  tile.tensor = rows ? b_.shared(name, s_.format, {lines, tile.width}, {pitch, 1})
                     : b_.shared(name, s_.format, {e_.fields.pipeline, lines, tile.width},
                                 {lines * pitch, pitch, 1});
  place_of_[read] = tiles_.size();
  tiles_.push_back(tile);
}

void StreamTiles::fill_rows(ValueId first, ValueId count) {
  for (const Tile& tile : tiles_)
    if (tile.rows) fill(tile, {}, first, count);
}

void StreamTiles::fill(ValueId slot, ValueId first) {
  ValueId extent = b_.extent(stream_.extent);
  for (const Tile& tile : tiles_)
    if (!tile.rows) fill(tile, slot, first, extent);
  for (const Column& column : columns_) fill(column, slot, first);
}

void StreamTiles::shared_out(int count, const std::function<void(ValueId)>& inside) {
  auto& v = b_.values();
  int threads = unit_.thread_count;
  b_.loop("c", count / threads, LoopKind::unrolled,
          [&](ValueId c) { inside(v.add(unit_.thread, v.mul(c, v.integer(threads)))); });
  int rest = count % threads;
  if (!rest) return;
  ValueId last = v.add(unit_.thread, v.integer(count - rest));
  b_.when(v.less(unit_.thread, v.integer(rest)), [&] { inside(last); });
}

void StreamTiles::fill(const Tile& tile, std::optional<ValueId> slot, ValueId first,
                       ValueId count) {
  auto& v = b_.values();
  int run = copied_bytes * 8 / graph::info(s_.format).bits;
  int chunks = tile.width / run, lines = tile.rows ? e_.fields.block_m : e_.fields.block_n;
  b_.spec("Move", "", {tile.tensor}, {}, [&] {
    shared_out(lines * chunks, [&](ValueId number) {
      terms_.scope([&] {
        ValueId place = b_.let("place", v.binary(Op::floordiv, number, v.integer(chunks))),
                at = b_.let("at",
                            v.mul(v.binary(Op::mod, number, v.integer(chunks)), v.integer(run)));
        ValueId line = b_.let("line", v.add(first, place));
        ValueId inner = tile.part ? b_.let("inner", v.add(first_column_, at)) : at;
        ValueId exists = v.both(v.less(line, count), v.less(inner, b_.extent(tile.inner.extent)));
        if (tile.rows)
          axes_.bind_points_if(s_.rows, line);
        else
          axes_.bind_sum_if(line);
        terms_.bind(tile.inner.index, inner);
        Ref to{tile.tensor, {place, at}};
        if (slot) to.coordinates.insert(to.coordinates.begin(), *slot);
        move(tile.read, std::move(to), copied_bytes, exists);
      });
    });
  });
}

void StreamTiles::fill(const Column& column, ValueId slot, ValueId first) {
  auto& v = b_.values();
  b_.spec("Move", "", {column.tensor}, {}, [&] {
    shared_out(e_.fields.block_n, [&](ValueId place) {
      terms_.scope([&] {
        ValueId line = b_.let("line", v.add(first, place));
        axes_.bind_sum_if(line);
        move(column.read, {column.tensor, {slot, place}},
             graph::info(b_.kernel()[column.tensor].type).bits / 8,
             v.less(line, b_.extent(stream_.extent)));
      });
    });
  });
}

void StreamTiles::move(ExprId id, Ref to, int bytes, ValueId exists) {
  const graph::Expr& read = g_.exprs[id];
  auto [tensor, dropped] = terms_.memory_of(read);
  graph::ElemType type = b_.kernel()[tensor].type;
  const atomics::Row* row = ask(
      b_, e_.machine,
      atomics::MoveShape{kernel::Memory::shared, kernel::Memory::global, type, bytes, true, true});
  TANG_CHECK(row, "nothing copies {} bytes of `{}`", bytes, e_.name);
  Ref from{tensor, {}};
  for (size_t i = dropped; i < read.operands.size(); ++i)
    from.coordinates.push_back(b_.values().convert(Type::index, terms_.lower(read.operands[i])));
  b_.emit({kernel::Atom{row, {std::move(to), std::move(from)}, {}, exists}});
}

void StreamTiles::arrive() {
  b_.emit({kernel::Atom{wait_, {}, {e_.fields.pipeline - 2}, {}}});
  b_.emit({kernel::Barrier{}});
}

std::optional<ValueId> StreamTiles::column(ExprId read, ValueId slot, ValueId place) {
  for (const Column& column : columns_)
    if (column.read == read) {
      const kernel::Tensor& t = b_.kernel()[column.tensor];
      return b_.load(g_[graph::TensorId(g_.exprs[read].ref)].name, register_type(t.type),
                     {column.tensor, {slot, place}});
    }
  return std::nullopt;
}

} // namespace tang::lower
