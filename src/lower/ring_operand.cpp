#include "lower/ring_operand.h"
#include "lower/vectors.h"
#include "plan/plan.h"

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;
using kernel::Memory;

ValueId RingPoints::place(Builder& b, ValueId group) const {
  auto& v = b.values();
  ValueId number = v.add(v.mul(group, v.integer(lanes)), lane);
  return v.add(v.mul(warp_number, v.integer(warp)),
               v.mul(number, v.integer(neighbours_of(per_thread))));
}

RingOperand::RingOperand(TileFrame& frame, ExprId operand, const RingPoints& points,
                         std::string name, ValueId depth, ValueId thread, int threads)
    : f_(frame), operand_(operand), points_(points), name_(std::move(name)), depth_(depth),
      thread_(thread), threads_(threads), along_sum_(f_.along_sum(operand, points.axes)) {
  Type type = f_.operand_type(operand);
  // A line begins 4 elements behind a power of two: elements that lie along the sum are put into
  // different banks, and lines are still read in vectors.
  int64_t pitch = points_.block + 4;
  tile_ =
      f_.b.shared(name_ + "_tile", element_type(type), {f_.f.pipeline, f_.f.block_k, points_.block},
                  {f_.f.block_k * pitch, pitch, 1});
  values_ = f_.b.registers(name_ + "_own", type, {2, points_.per_thread});
  if (copies_as_it_is())
    move_ = ask(f_.b, f_.e.machine,
                atomics::MoveShape{Memory::shared, Memory::global, element_type(type),
                                   graph::info(element_type(type)).bits / 8, true, true});
  if (!move_) ahead_ = f_.b.registers(name_ + "_ahead", type, {count()});
}

/// Whether what memory holds is what the tile does, at places that are known without loads.
bool RingOperand::copies_as_it_is() const {
  const graph::Expr& read = f_.g.exprs[operand_];
  if (read.op != Op::read || read.guarded) return false;
  for (ExprId place : read.operands)
    if (f_.g.exprs[place].has_read) return false;
  return f_.g[graph::TensorId(read.ref)].type == element_type(f_.operand_type(operand_));
}

void RingOperand::over(int first, int end, const std::function<void(ValueId)>& inside) {
  auto& v = f_.b.values();
  if (end - first == 1)
    inside(v.integer(first));
  else if (end > first)
    f_.b.loop("s", v.integer(first), v.integer(end), v.integer(1), LoopKind::unrolled, inside);
}

/// Neighbours in memory belong to neighbouring threads: points, or as many terms as fill a sector.
RingOperand::Element RingOperand::element(ValueId s) const {
  auto& v = f_.b.values();
  auto div = [&](ValueId a, int64_t by) { return v.binary(Op::floordiv, a, v.integer(by)); };
  auto mod = [&](ValueId a, int64_t by) { return v.binary(Op::mod, a, v.integer(by)); };
  if (along_sum_) {
    int terms = plan::terms_at_once(f_.f), rounds = f_.f.block_k / terms, lines = threads_ / terms;
    return {v.add(div(thread_, terms), v.mul(div(s, rounds), v.integer(lines))),
            v.add(mod(thread_, terms), v.mul(mod(s, rounds), v.integer(terms)))};
  }
  if (points_.block <= threads_) {
    int lines = threads_ / points_.block;
    return {mod(thread_, points_.block),
            v.add(div(thread_, points_.block), v.mul(s, v.integer(lines)))};
  }
  int rounds = points_.block / threads_;
  return {v.add(thread_, v.mul(mod(s, rounds), v.integer(threads_))), div(s, rounds)};
}

/// Points behind the last are copies of it: nobody stores their results, and so copies need no
/// condition that changes from point to point.
void RingOperand::fill(ValueId slot, ValueId step, int part, int parts) {
  auto& v = f_.b.values();
  over(count() * part / parts, count() * (part + 1) / parts, [&](ValueId s) {
    f_.terms.scope([&] {
      Element at = element(s);
      ValueId term = v.add(v.mul(step, v.integer(f_.f.block_k)), at.term);
      f_.axes.bind_points_near(points_.axes, v.add(points_.first, at.point));
      if (move_)
        copy(slot, term, at);
      else
        hold(s, f_.b.let("term", term));
    });
  });
}

void RingOperand::copy(ValueId slot, ValueId term, const Element& at) {
  auto& v = f_.b.values();
  ValueId exists = v.less(term, depth_);
  f_.axes.bind_sum_if(term);
  const graph::Expr& read = f_.g.exprs[operand_];
  auto [tensor, dropped] = f_.terms.memory_of(read);
  kernel::Ref from{tensor, {}};
  for (size_t i = dropped; i < read.operands.size(); ++i)
    from.coordinates.push_back(v.convert(Type::index, f_.terms.lower(read.operands[i])));
  f_.b.emit({kernel::Atom{move_, {{tile_, {slot, at.term, at.point}}, from}, {}, exists}});
}

void RingOperand::hold(ValueId s, ValueId term) {
  auto& v = f_.b.values();
  Type type = f_.operand_type(operand_);
  ValueId zero = type == Type::boolean   ? v.boolean(false)
                 : kernel::is_real(type) ? v.real(0, type)
                                         : v.integer(0, type);
  f_.b.either(
      v.less(term, depth_),
      [&] {
        f_.terms.scope([&] {
          f_.axes.bind_sum(term);
          f_.b.store({ahead_, {s}}, v.convert(type, f_.terms.lower(operand_)));
        });
      },
      [&] {
        f_.b.store({ahead_, {s}}, zero);
      });
}

void RingOperand::settle(ValueId slot) {
  if (!through_registers()) return;
  over(0, count(), [&](ValueId s) {
    Element at = element(s);
    f_.b.store({tile_, {slot, at.term, at.point}}, f_.b.element(ahead_, {s}));
  });
}

void RingOperand::load(int buffer, ValueId slot, ValueId k) {
  auto& v = f_.b.values();
  int group = neighbours_of(points_.per_thread);
  f_.b.spec("Move", "", {values_}, {tile_}, [&] {
    f_.b.loop("g", points_.per_thread / group, LoopKind::unrolled, [&](ValueId g) {
      copy_vector(f_.b, {values_, {v.integer(buffer), v.mul(g, v.integer(group))}},
                  {tile_, {slot, k, points_.place(f_.b, g)}},
                  element_type(f_.operand_type(operand_)), group, f_.e.machine.vector_bytes);
    });
  });
}

ValueId RingOperand::value(int buffer, ValueId i) const {
  return f_.b.element(values_, {f_.b.values().integer(buffer), i});
}

} // namespace tang::lower
