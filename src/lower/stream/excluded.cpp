#include "lower/stream/excluded.h"
#include <limits>
#include <set>

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;

namespace {

/// The least f32 that rounds to infinity in tf32.
constexpr double infinite_in_tf32 = 0x1.ffep127;

} // namespace

Excluded::Excluded(const Emission& e, const graph::Streaming& streaming, Terms& terms,
                   TileAxes& axes, StreamTiles& tiles, const MatrixUnit& unit,
                   const StreamLanes& lanes)
    : e_(e), s_(streaming), terms_(terms), b_(terms.builder()), axes_(axes), tiles_(tiles),
      unit_(unit), lanes_(lanes) {
  auto& v = b_.values();
  met_ = b_.registers("met", Type::i32, {});
  warps_ = b_.shared("met_by", graph::ElemType::i32, {unit.thread_count / unit.lane_count});
  b_.store({met_, {}}, v.integer(0, Type::i32));
}

ValueId Excluded::is_finite(ValueId value) {
  auto& v = b_.values();
  if (s_.format == graph::ElemType::f32)
    return v.binary(Op::lt, v.unary(Op::abs, value), v.real(infinite_in_tf32, Type::f32));
  return v.binary(Op::eq, v.binary(Op::sub, value, value), v.real(0, Type::f32));
}

void Excluded::sift(ValueId slot) {
  auto& v = b_.values();
  b_.emit({kernel::Barrier{}});
  std::set<kernel::TensorId> done;
  for (const graph::Streaming::Amount& amount : s_.amounts) {
    if (!amount.read || !done.insert(tiles_.of(amount.read).tensor).second) continue;
    const StreamTiles::Tile& tile = tiles_.of(amount.read);
    int run = 128 / graph::info(s_.format).bits;
    int chunks = tile.width / run;
    tiles_.shared_out(e_.fields.block_n * chunks, [&](ValueId number) {
      ValueId line = b_.let("line", v.binary(Op::floordiv, number, v.integer(chunks))),
              at =
                  b_.let("at", v.mul(v.binary(Op::mod, number, v.integer(chunks)), v.integer(run)));
      kernel::TensorId values = b_.registers("values", Type::f32, {run});
      kernel::Ref memory{tile.tensor, {slot, line, at}}, registers{values, {v.integer(0)}};
      b_.emit({kernel::Copy{registers, memory, run, {}}});
      ValueId finite;
      for (int i = 0; i < run; ++i)
        finite = v.both(finite, is_finite(b_.element(values, {v.integer(i)})));
      finite = b_.let("finite", finite);
      b_.when(v.unary(Op::logical_not, finite), [&] {
        b_.store({met_, {}}, v.integer(1, Type::i32));
        b_.loop("e", run, LoopKind::unrolled, [&](ValueId e) {
          ValueId value = b_.element(values, {e});
          b_.store({values, {e}}, v.select(is_finite(value), value, v.real(0, Type::f32)));
        });
        b_.emit({kernel::Copy{memory, registers, run, {}}});
      });
    });
  }
  b_.emit({kernel::Barrier{}});
}

void Excluded::settle() {
  auto& v = b_.values();
  for (int mask = 1; mask < unit_.lane_count; mask *= 2) {
    VarId other = v.add_var({"other", Type::i32, {}, {}});
    b_.emit({kernel::Shfl{other, b_.element(met_), mask}});
    b_.store({met_, {}}, v.binary(Op::max, b_.element(met_), v.variable(other)));
  }
  int warps = unit_.thread_count / unit_.lane_count;
  b_.when(v.binary(Op::eq, unit_.lane, v.integer(0)), [&] {
    b_.store({warps_, {unit_.warp}}, b_.element(met_));
  });
  b_.emit({kernel::Barrier{}});
  any_ = v.integer(0, Type::i32);
  for (int w = 0; w < warps; ++w)
    any_ = v.binary(Op::max, any_, b_.load("met_in", Type::i32, {warps_, {v.integer(w)}}));
  any_ = b_.let("any", any_);
}

void Excluded::restore(const graph::Streaming::Amount& amount, kernel::TensorId state,
                       ValueId first_column, ValueId count, ValueId begin, ValueId end,
                       StreamBounds& bounds) {
  auto& v = b_.values();
  const auto& c = std::get<graph::Comprehension>(e_.nodes[0]->definition);
  const graph::Axis& stream = c.reduction->axes[0];
  ValueId extent = b_.extent(amount.axis.extent),
          nan = v.real(std::numeric_limits<double>::quiet_NaN(), Type::f32);
  int tiles = tiles_.of(amount.read).width / unit_.atom_n;
  b_.when(v.less(v.integer(0, Type::i32), any_), [&] {
    b_.loop(stream.name, begin, end, v.integer(1), LoopKind::serial, [&](ValueId place) {
      lanes_.over_rows([&](const StreamLanes::Row& row) {
        ValueId number = b_.let("row", lanes_.number(row));
        b_.when(v.less(number, count), [&] {
          axes_.bind_points(s_.rows, number);
          terms_.bind(stream, place);
          b_.when(bounds.takes_part(place), [&] {
            lanes_.over_columns(row, tiles, [&](ValueId tile, ValueId value, ValueId column) {
              ValueId at = b_.let("column", v.add(first_column, column));
              b_.when(v.less(at, extent), [&] {
                terms_.bind(amount.axis, at);
                kernel::Ref sum{state, {row.tile, tile, value}};
                b_.store(sum, v.select(is_finite(terms_.lower(amount.read)),
                                       b_.element(state, sum.coordinates), nan));
              });
            });
          });
        });
      });
    });
  });
}

} // namespace tang::lower
