#include "lower/matrix_operand.h"
#include "base/check.h"
#include "lower/vectors.h"

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
  auto rounding = [&](atomics::Rounds to, graph::ElemType held) {
    const atomics::Row* row = ask(f_.b, f_.e.machine, atomics::Rounding{to, held});
    TANG_CHECK(row, "nothing makes the {} of an f32 for `{}`", atomics::name(to), f_.e.name);
    return row;
  };
  if (f_.pieces)
    for (atomics::Rounds to : {atomics::Rounds::head, atomics::Rounds::rest})
      cuts_.push_back(rounding(to, f_.pieces->held));
  else if (f_.tf32)
    round_ = rounding(atomics::Rounds::nearest, f_.format);
}

/// As many fragments at once as an instruction loads; else each register by itself, or a pair of
/// neighbours of which a register will hold pieces.
void MatrixOperand::choose_load(const Layout& fragment) {
  for (int group : {4, 2, 1}) {
    if (f_.paired || warp_ % (atom_ * group) != 0) continue;
    atomics::FragmentShape shape{f_.format, repeated(fragment, group, name_),
                                 along_sum_ ? "k" : name_};
    whole_ = atomics::find_fragment_load(f_.e.machine.target, shape);
    if (!whole_) continue;
    group_ = group;
    ask(f_.b, f_.e.machine, std::move(shape));
    return;
  }
  fragment_ = fragment;
  if (f_.paired && along_sum_) at_once_ = 2;
  each_ = ask(f_.b, f_.e.machine,
              atomics::MoveShape{Memory::registers, Memory::shared, f_.format,
                                 at_once_ * graph::info(f_.format).bits / 8});
  TANG_CHECK(each_ && graph::info(f_.format).bits == 32, "nothing loads a fragment of `{}`",
             f_.e.name);
}

void MatrixOperand::allocate() {
  // A line of 16 bytes more than a power of two begins in other banks than the next; values that
  // are loaded one by one take eight banks of each of four lines, or of every other of eight.
  int bytes = each_ && !(f_.paired && !along_sum_) ? 32 : 16,
      pitch = inner() + bytes * 8 / graph::info(f_.format).bits;
  tile_ = f_.b.shared(name_ + "_tile", f_.format, {f_.f.pipeline, outer(), inner()},
                      {int64_t{outer()} * pitch, pitch, 1});
  auto fragments = [&](const char* name, graph::ElemType type, int buffers) {
    return f_.b.fragments(name_ + name, type,
                          {buffers, warp_ / (atom_ * group_), int64_t{values_} * group_});
  };
  fragments_ = fragments("_frag", f_.format, f_.paired ? 1 : 2);
  if (!f_.pieces) return;
  pieces_ = {f_.paired ? fragments("_head", f_.pieces->held, 1) : fragments_,
             fragments("_rest", f_.pieces->held, 1)};
}

void MatrixOperand::place() {
  Builder& b = f_.b;
  auto& v = b.values();
  ValueId chunks = v.integer(inner() / unit());
  chunk_ = b.let("chunk", v.binary(Op::mod, f_.thread, chunks));
  row_ = b.let("row", v.binary(Op::floordiv, f_.thread, chunks));
  if (through_registers())
    ahead_ = b.registers(name_ + "_ahead", register_type(f_.format),
                         {outer() / lines_at_once(), unit()});
}

void MatrixOperand::over_lines(int first, int end, const std::function<void(ValueId)>& inside) {
  auto& v = f_.b.values();
  if (end - first == 1)
    inside(v.integer(first));
  else if (end > first)
    f_.b.loop("s", v.integer(first), v.integer(end), v.integer(1), LoopKind::unrolled, inside);
}

void MatrixOperand::fill(ValueId slot, ValueId step, int part, int parts) {
  int lines = outer() / lines_at_once(), each = through_registers() ? unit() : 1;
  over_lines(lines * part / parts, lines * (part + 1) / parts, [&](ValueId line) {
    for (int element = 0; element < each; ++element)
      f_.terms.scope([&] { copy(slot, step, line, element); });
  });
}

/// One vector, or one element on its way through registers. What lies behind the end of the sum
/// becomes 0. Points behind the last are copies of it: nobody stores what is summed for them, and
/// so copies need no condition that changes from line to line.
void MatrixOperand::copy(ValueId slot, ValueId step, ValueId line, int element) {
  Builder& b = f_.b;
  auto& v = b.values();
  int vector = f_.f.vector, block_k = f_.f.block_k;
  ValueId place = v.add(row_, v.mul(line, v.integer(lines_at_once()))),
          within = v.add(v.mul(chunk_, v.integer(unit() / vector)), v.integer(element));
  ValueId term = along_sum_ ? v.add(v.mul(step, v.integer(block_k / vector)), within)
                            : b.let("term", v.add(v.mul(step, v.integer(block_k)), place)),
          point = along_sum_ ? v.add(points_.first, place)
                             : v.add(f_.divided(points_.first, vector), within);
  ValueId exists = v.less(term, along_sum_ ? f_.axes.groups_of_sum(vector) : f_.depth);
  f_.axes.bind_sum_if(term, along_sum_ ? vector : 1);
  f_.axes.bind_points_near(points_.axes, point, along_sum_ ? 1 : vector);
  if (through_registers()) {
    Type type = register_type(f_.format);
    ValueId zero = kernel::is_real(type) ? v.real(0, type) : v.integer(0, type);
    ValueId loaded = b.load(name_ + "_one", type, memory(), exists, zero);
    return b.store({ahead_, {line, v.integer(element)}}, loaded);
  }
  const atomics::Row* move =
      ask(b, f_.e.machine,
          atomics::MoveShape{Memory::shared, Memory::global, f_.format,
                             vector * graph::info(f_.format).bits / 8, true, true});
  TANG_CHECK(move, "nothing copies {} elements of `{}`", vector, f_.e.name);
  Ref to{tile_, {slot, place, v.mul(chunk_, v.integer(vector))}};
  b.emit({kernel::Atom{move, {to, memory()}, {}, exists}});
}

void MatrixOperand::settle(ValueId slot) {
  if (!through_registers()) return;
  auto& v = f_.b.values();
  over_lines(0, outer() / lines_at_once(), [&](ValueId line) {
    ValueId place = v.add(row_, v.mul(line, v.integer(lines_at_once())));
    copy_vector(f_.b, {tile_, {slot, place, v.mul(chunk_, v.integer(unit()))}},
                {ahead_, {line, v.integer(0)}}, f_.format, unit(), f_.e.machine.vector_bytes);
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
    for (int value = 0; value < values_; value += at_once_) {
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

/// The head last: it may lie where the words do.
void MatrixOperand::split(int buffer) {
  if (!f_.pieces) return;
  auto& v = f_.b.values();
  int each = f_.paired ? 2 : 1;
  f_.b.spec("Move", "", pieces_, {fragments_}, [&] {
    f_.b.loop("i", warp_ / (atom_ * group_), LoopKind::unrolled, [&](ValueId i) {
      f_.b.loop("e", int64_t{values_} * group_ / each, LoopKind::unrolled, [&](ValueId e) {
        ValueId first = v.mul(e, v.integer(each));
        Ref words{fragments_, {v.integer(buffer), i, first}};
        for (int n = f_.pieces->count; n-- > 0;) {
          Ref piece{pieces_[n], {v.integer(buffer_of(n, buffer)), i, first}};
          f_.b.emit({kernel::Atom{cuts_[n], {piece, words}, {}, {}}});
        }
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
