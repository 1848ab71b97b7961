#include "lower/stream/products.h"

namespace tang::lower {

using graph::Op;
using graph::Streaming;
using kernel::LoopKind;
using kernel::Ref;

StreamProducts::StreamProducts(const Emission& e, const Streaming& streaming, Terms& terms,
                               const StreamTiles& tiles, MatrixUnit& unit, const StreamLanes& lanes,
                               ValueId warp_first)
    : s_(streaming), f_(e.fields), terms_(terms), b_(terms.builder()), tiles_(tiles), unit_(unit),
      lanes_(lanes), warp_first_(warp_first), column_tiles_(f_.block_n / unit.atom_n) {
  for (const Streaming::Score& score : s_.scores)
    scores_.push_back({&score, lanes_.per_element("score", column_tiles_), {}, {}});
}

kernel::TensorId StreamProducts::score(ExprId fold) const {
  for (const Score& s : scores_)
    if (s.score->fold == fold) return s.state;
  return {};
}

void StreamProducts::hold_rows() {
  for (Score& s : scores_) {
    int depth = tiles_.of(s.score->row).width / unit_.atom_k;
    s.source = unit_.source("m", "k", lanes_.row_tiles());
    s.rows = b_.fragments("rows", s_.format,
                          {f_.hold_rows ? depth : 1, lanes_.row_tiles() / s.source.group,
                           int64_t{unit_.a_values} * s.source.group});
    if (f_.hold_rows)
      b_.loop("q", depth, LoopKind::unrolled, [&](ValueId q) { load_rows(s, q, q); });
  }
}

void StreamProducts::load_rows(const Score& s, ValueId into, ValueId q) {
  auto& v = b_.values();
  const StreamTiles::Tile& tile = tiles_.of(s.score->row);
  int reach = unit_.atom_m * s.source.group;
  b_.loop("i", lanes_.row_tiles() / s.source.group, LoopKind::unrolled, [&](ValueId i) {
    unit_.load(s.source, "m", {s.rows, {into, i, integer(0)}}, [&](ValueId point, ValueId term) {
      return Ref{tile.tensor,
                 {v.add(v.add(warp_first_, v.mul(i, integer(reach))), point),
                  v.add(v.mul(q, integer(unit_.atom_k)), term)}};
    });
  });
}

Ref StreamProducts::fragment(kernel::TensorId fragments, std::vector<ValueId> before,
                             ValueId number, const MatrixUnit::Source& source) {
  auto& v = b_.values();
  ValueId group = integer(source.group);
  before.push_back(v.binary(Op::floordiv, number, group));
  before.push_back(v.mul(v.binary(Op::mod, number, group), integer(source.values)));
  return {fragments, std::move(before)};
}

void StreamProducts::scores(ValueId slot) {
  for (const Score& s : scores_) compute(s, slot);
}

void StreamProducts::compute(const Score& s, ValueId slot) {
  auto& v = b_.values();
  const StreamTiles::Tile& tile = tiles_.of(s.score->column);
  MatrixUnit::Source source = unit_.source("n", "k", column_tiles_);
  lanes_.clear(s.state, column_tiles_);
  kernel::TensorId columns = b_.fragments(
      "columns", s_.format, {column_tiles_ / source.group, int64_t{source.values} * source.group});
  int reach = unit_.atom_n * source.group;
  b_.spec("MatMul", "", {s.state}, {tile.tensor}, [&] {
    b_.loop("q", tile.width / unit_.atom_k, LoopKind::unrolled, [&](ValueId q) {
      if (!f_.hold_rows) load_rows(s, integer(0), q);
      b_.loop("j", column_tiles_ / source.group, LoopKind::unrolled, [&](ValueId j) {
        unit_.load(source, "n", {columns, {j, integer(0)}}, [&](ValueId point, ValueId term) {
          return Ref{tile.tensor,
                     {slot, v.add(v.mul(j, integer(reach)), point),
                      v.add(v.mul(q, integer(unit_.atom_k)), term)}};
        });
      });
      lanes_.over_tiles(column_tiles_, [&](ValueId i, ValueId j) {
        unit_.multiply({s.state, {i, j, integer(0)}},
                       fragment(s.rows, {f_.hold_rows ? q : integer(0)}, i, s.source),
                       fragment(columns, {}, j, source));
      });
    });
  });
}

void StreamProducts::add(const Streaming::Amount& amount, kernel::TensorId weights,
                         kernel::TensorId state, ValueId slot) {
  auto& v = b_.values();
  const StreamTiles::Tile& tile = tiles_.of(amount.read);
  int tiles = tile.width / unit_.atom_n;
  MatrixUnit::Source source = unit_.chained_source("n", tiles);
  kernel::TensorId columns =
      b_.fragments("columns", s_.format, {1, int64_t{source.values} * source.group});
  int reach = unit_.atom_n * source.group;
  // Few fragments of columns at once: the sums fill the registers.
  b_.spec("MatMul", "", {state}, {weights, tile.tensor}, [&] {
    b_.loop("q", f_.block_n / unit_.atom_k, LoopKind::unrolled, [&](ValueId q) {
      b_.loop("j", tiles / source.group, LoopKind::unrolled, [&](ValueId j) {
        unit_.load(source, "n", {columns, {integer(0), integer(0)}},
                   [&](ValueId point, ValueId term) {
                     return Ref{tile.tensor,
                                {slot, v.add(v.mul(q, integer(unit_.atom_k)), term),
                                 v.add(v.mul(j, integer(reach)), point)}};
                   });
        lanes_.over_tiles(source.group, [&](ValueId i, ValueId n) {
          unit_.multiply({state, {i, v.add(v.mul(j, integer(source.group)), n), integer(0)}},
                         {weights, {i, q, integer(0)}}, fragment(columns, {}, n, source));
        });
      });
    });
  });
}

} // namespace tang::lower
