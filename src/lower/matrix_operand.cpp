#include "lower/matrix_operand.h"
#include "base/check.h"

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;
using kernel::Memory;
using kernel::Ref;
using layout::Layout;

namespace {

/// Where value number `index` lies behind its lane's place.
std::map<std::string, int64_t> offsets_of(const Layout& values, int64_t index) {
  std::map<std::string, int64_t> at;
  for (const layout::Mode& mode : values.leaves) {
    at[mode.stride.basis] += index % mode.size.factor * mode.stride.amount.factor;
    index /= mode.size.factor;
  }
  return at;
}

} // namespace

MatrixOperand::MatrixOperand(MatrixFrame& frame, ExprId operand, const MatrixPoints& points,
                             std::string name, int block, int warp,
                             const atomics::Operand& fragment)
    : f_(frame), operand_(operand), points_(points), name_(std::move(name)), block_(block),
      warp_(warp), atom_(extent_along(fragment.layout, name_)), values_(fragment.values) {
  along_sum_ = !graph::contiguous_along(f_.g, operand, f_.c.points[points.axes.back()].index);
  choose_load(fragment.layout);
  if (!f_.tf32) return;
  auto rounding = [&](atomics::Rounds to) {
    const atomics::Row* row = ask(f_.b, f_.e.machine, atomics::Rounding{to});
    TANG_CHECK(row, "nothing makes the {} tf32 for `{}`", atomics::name(to), f_.e.name);
    return row;
  };
  if (f_.split)
    head_ = rounding(atomics::Rounds::head), rest_ = rounding(atomics::Rounds::rest);
  else
    round_ = rounding(atomics::Rounds::nearest);
}

/// As many fragments at once as an instruction loads; else each register by itself.
void MatrixOperand::choose_load(const Layout& fragment) {
  for (int group : {4, 2, 1}) {
    if (warp_ % (atom_ * group) != 0) continue;
    atomics::FragmentShape shape{f_.format, repeated(fragment, group, name_),
                                 along_sum_ ? "k" : name_};
    whole_ = atomics::find_fragment_load(f_.e.machine.target, shape);
    if (!whole_) continue;
    group_ = group;
    ask(f_.b, f_.e.machine, std::move(shape));
    return;
  }
  fragment_ = fragment;
  each_ = ask(f_.b, f_.e.machine,
              atomics::MoveShape{Memory::registers, Memory::shared, f_.format,
                                 graph::info(f_.format).bits / 8});
  TANG_CHECK(each_ && graph::info(f_.format).bits == 32, "nothing loads a fragment of `{}`",
             f_.e.name);
}

void MatrixOperand::allocate() {
  // A line of 16 bytes more than a power of two begins in other banks than the next; values that
  // are loaded one by one take eight banks of each of four lines.
  int bytes = each_ ? 32 : 16, pitch = inner() + bytes * 8 / graph::info(f_.format).bits;
  tile_ = f_.b.shared(name_ + "_tile", f_.format, {f_.f.pipeline, outer(), inner()},
                      {int64_t{outer()} * pitch, pitch, 1});
  fragments_ = f_.b.fragments(name_ + "_frag", f_.format,
                              {2, warp_ / (atom_ * group_), int64_t{values_} * group_});
  if (f_.split)
    rests_ = f_.b.fragments(name_ + "_rest", f_.format,
                            {1, warp_ / (atom_ * group_), int64_t{values_} * group_});
}

void MatrixOperand::fill(ValueId slot, ValueId step) {
  Builder& b = f_.b;
  auto& v = b.values();
  int unit = f_.f.vector, block_k = f_.f.block_k, chunks = inner() / unit;
  int lines_at_once = f_.thread_count / chunks;
  ValueId chunk = b.let("chunk", v.binary(Op::mod, f_.thread, v.integer(chunks))),
          row = b.let("row", v.binary(Op::floordiv, f_.thread, v.integer(chunks)));
  ValueId units =
      along_sum_ ? f_.axes.groups_of_sum(unit) : f_.axes.groups_of_points(points_.axes, unit);
  ValueId lines = along_sum_ ? points_.count : f_.depth;
  ValueId first_unit =
              along_sum_ ? v.mul(step, v.integer(block_k / unit)) : f_.divided(points_.first, unit),
          first_line = along_sum_ ? points_.first : v.mul(step, v.integer(block_k));
  ValueId at = b.let("unit", v.add(first_unit, chunk));
  const atomics::Row* move =
      ask(b, f_.e.machine,
          atomics::MoveShape{Memory::shared, Memory::global, f_.format,
                             unit * graph::info(f_.format).bits / 8, true, true});
  TANG_CHECK(move, "nothing copies {} elements of `{}`", unit, f_.e.name);
  b.loop("s", outer() / lines_at_once, LoopKind::unrolled, [&](ValueId i) {
    f_.terms.scope([&] {
      ValueId place = v.add(row, v.mul(i, v.integer(lines_at_once)));
      ValueId line = b.let("line", v.add(first_line, place));
      ValueId exists = v.both(v.less(line, lines), v.less(at, units));
      if (along_sum_) {
        f_.axes.bind_points_if(points_.axes, line);
        f_.axes.bind_sum_if(at, unit);
      } else {
        f_.axes.bind_sum_if(line);
        f_.axes.bind_points_if(points_.axes, at, unit);
      }
      Ref to{tile_, {slot, place, v.mul(chunk, v.integer(unit))}};
      b.emit({kernel::Atom{move, {to, memory()}, {}, exists}});
    });
  });
}

/// The element in memory that the operand reads at the bound indices.
Ref MatrixOperand::memory() {
  const graph::Expr& read = f_.g.exprs[operand_];
  auto [tensor, dropped] = f_.terms.memory_of(read);
  Ref ref{tensor, {}};
  for (size_t i = dropped; i < read.operands.size(); ++i)
    ref.coordinates.push_back(f_.b.values().convert(Type::index, f_.terms.lower(read.operands[i])));
  return ref;
}

Ref MatrixOperand::tile_element(ValueId slot, ValueId point, ValueId term) const {
  return {tile_, {slot, along_sum_ ? point : term, along_sum_ ? term : point}};
}

void MatrixOperand::load(int buffer, ValueId slot, int k) {
  f_.b.spec("Move", "", {fragments_}, {tile_}, [&] {
    if (whole_)
      load_whole(buffer, slot, k);
    else
      load_each(buffer, slot, k);
  });
}

void MatrixOperand::load_whole(int buffer, ValueId slot, int k) {
  auto& v = f_.b.values();
  auto at = lane_coordinates(f_.b, f_.lane, whole_->lanes);
  int reach = atom_ * group_;
  f_.b.loop("i", warp_ / reach, LoopKind::unrolled, [&](ValueId i) {
    ValueId point = v.add(v.add(points_.warp_first, v.mul(i, v.integer(reach))), at[name_]),
            term = v.add(v.integer(k), at["k"]);
    Ref to{fragments_, {v.integer(buffer), i, v.integer(0)}};
    f_.b.emit({kernel::Atom{whole_->row, {to, tile_element(slot, point, term)}, {}, {}}});
    round(buffer, i);
  });
}

void MatrixOperand::load_each(int buffer, ValueId slot, int k) {
  auto& v = f_.b.values();
  std::vector<Layout> parts = fragment_.parts();
  auto at = lane_coordinates(f_.b, f_.lane, parts[0]);
  f_.b.loop("i", warp_ / atom_, LoopKind::unrolled, [&](ValueId i) {
    ValueId first = v.add(v.add(points_.warp_first, v.mul(i, v.integer(atom_))), at[name_]);
    for (int value = 0; value < values_; ++value) {
      auto offsets = offsets_of(parts[1], value);
      ValueId point = v.add(first, v.integer(offsets[name_])),
              term = v.add(v.integer(k + offsets["k"]), at["k"]);
      Ref to{fragments_, {v.integer(buffer), i, v.integer(value)}};
      f_.b.emit({kernel::Atom{each_, {to, tile_element(slot, point, term)}, {}, {}}});
    }
    round(buffer, i);
  });
}

/// To nearest, which the unit by itself does not: it drops the lower bits.
void MatrixOperand::round(int buffer, ValueId i) {
  if (!round_) return;
  auto& v = f_.b.values();
  f_.b.loop("e", int64_t{values_} * group_, LoopKind::unrolled, [&](ValueId e) {
    Ref value{fragments_, {v.integer(buffer), i, e}};
    f_.b.emit({kernel::Atom{round_, {value, value}, {}, {}}});
  });
}

void MatrixOperand::split(int buffer) {
  if (!f_.split) return;
  auto& v = f_.b.values();
  f_.b.spec("Move", "", {fragments_, rests_}, {fragments_}, [&] {
    f_.b.loop("i", warp_ / (atom_ * group_), LoopKind::unrolled, [&](ValueId i) {
      f_.b.loop("e", int64_t{values_} * group_, LoopKind::unrolled, [&](ValueId e) {
        Ref value{fragments_, {v.integer(buffer), i, e}}, rest{rests_, {v.integer(0), i, e}};
        f_.b.emit({kernel::Atom{rest_, {rest, value}, {}, {}}});
        f_.b.emit({kernel::Atom{head_, {value, value}, {}, {}}});
      });
    });
  });
}

Ref MatrixOperand::at(kernel::TensorId registers, int buffer, ValueId i) {
  auto& v = f_.b.values();
  ValueId group = v.integer(group_);
  return {registers,
          {v.integer(buffer), v.binary(Op::floordiv, i, group),
           v.mul(v.binary(Op::mod, i, group), v.integer(values_))}};
}

} // namespace tang::lower
