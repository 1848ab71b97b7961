#include "lower/row_vectors.h"
#include "lower/vectors.h"

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Expr;
using graph::Op;
using graph::TensorId;
using kernel::LoopKind;

kernel::Ref RowVectors::row_ref(const Expr& read, ValueId first) {
  auto [memory, dropped] = f_.terms.memory_of(read);
  kernel::Ref src{memory, {}};
  for (size_t i = dropped; i + 1 < read.operands.size(); ++i)
    src.coordinates.push_back(f_.b.values().convert(Type::index, f_.terms.lower(read.operands[i])));
  src.coordinates.push_back(first);
  return src;
}

/// Neighbouring threads take neighbouring vectors; where the order of a reduction matters, a
/// thread's own vectors are neighbours.
ValueId RowVectors::first_of(ValueId chunk) {
  auto& v = f_.b.values();
  ValueId number = f_.ordered ? v.add(v.mul(f_.thread, v.integer(f_.f.chunks)), chunk)
                              : v.add(v.mul(chunk, v.integer(f_.f.threads)), f_.thread);
  return v.mul(number, v.integer(f_.f.vector));
}

/// The place in the row of a vector that is dealt out as number `dealt` / vector.
ValueId RowVectors::in_row(ValueId dealt) {
  auto& v = f_.b.values();
  return f_.mirrored ? v.sub(v.sub(f_.extent, v.integer(f_.f.vector)), dealt) : dealt;
}

RowStretch RowVectors::stretch_of(const Axis& axis) {
  ValueId begin = f_.b.values().integer(0);
  RowStretch stretch;
  if (axis.lo) stretch.lo = f_.b.let("lo", clamped(f_.terms, Op::max, begin, axis.lo, f_.extent));
  if (axis.hi)
    stretch.hi = f_.b.let("hi", clamped(f_.terms, Op::min, f_.extent, axis.hi, f_.extent));
  return stretch;
}

void RowVectors::load_row() {
  auto& v = f_.b.values();
  auto reads = reads_along(f_.group, f_.group.nodes, f_.terms.prover(), f_.f.vector);
  std::erase_if(reads, [&](ExprId id) { return !needed_early(f_.group, id); });
  for (ExprId id : reads) {
    const graph::Tensor& t = f_.g[TensorId(f_.g.exprs[id].ref)];
    r_.loaded[id] =
        f_.b.registers(t.name + "_v", register_type(t.type), {f_.f.chunks, f_.f.vector});
  }
  if (reads.empty()) return;
  std::vector<RowStretch> stretches;
  for (ExprId id : reads) stretches.push_back(stretch_of(needed_in(f_.group, id)));
  over_chunks([&](const RowVector& at) {
    for (size_t n = 0; n < reads.size(); ++n) {
      const Expr& read = f_.g.exprs[reads[n]];
      f_.terms.scope([&] {
        copy_vector(f_.b, {r_.loaded[reads[n]], {at.chunk, v.integer(0)}},
                    row_ref(read, nearest(at.first, stretches[n])), f_.g[TensorId(read.ref)].type,
                    f_.f.vector, f_.e.machine.vector_bytes);
      });
    }
  });
}

/// The vector that is nearest to the one at `first` among those that a stretch touches (among
/// all, where it is empty). What lies outside costs no memory then: it is loaded already.
ValueId RowVectors::nearest(ValueId first, const RowStretch& stretch) {
  auto& v = f_.b.values();
  ValueId width = v.integer(f_.f.vector);
  auto vector_of = [&](ValueId element) {
    return v.mul(v.binary(Op::floordiv, element, width), width);
  };
  if (stretch.hi) {
    ValueId last = v.binary(Op::max, v.integer(0), v.sub(stretch.hi, v.integer(1)));
    first = v.binary(Op::min, first, vector_of(last));
  }
  if (stretch.lo) {
    ValueId last = v.sub(f_.extent, width);
    first = v.binary(Op::max, first, v.binary(Op::min, vector_of(stretch.lo), last));
  }
  return stretch.lo || stretch.hi ? f_.b.let("near", first) : first;
}

/// Visits this thread's vectors of a row that is held in registers. Past the end of the row a
/// thread visits the last vector once more and what it computes is dropped: without branches, all
/// loads of a row are in flight together.
void RowVectors::over_chunks(const std::function<void(const RowVector&)>& inside) {
  auto& v = f_.b.values();
  f_.b.when(v.less(v.integer(0), f_.extent), [&] {
    f_.b.loop("c", f_.f.chunks, LoopKind::unrolled, [&](ValueId c) {
      ValueId place = first_of(c), own = v.less(place, f_.extent), first = place;
      if (v.as_boolean(own) == true)
        own = {};
      else
        first = v.binary(Op::min, place, v.sub(f_.extent, v.integer(f_.f.vector)));
      first = f_.b.let(f_.group.inner.name + "0", in_row(first));
      inside({c, in_row(place), own, first});
    });
  });
}

/// What only `members` read along the row, at one vector.
void RowVectors::load_late(std::span<const Comprehension* const> members, ValueId first) {
  r_.late.clear();
  for (ExprId id : reads_along(f_.group, members, f_.terms.prover(), f_.f.vector)) {
    if (r_.loaded.contains(id)) continue;
    const graph::Tensor& t = f_.g[TensorId(f_.g.exprs[id].ref)];
    r_.late[id] = f_.b.registers(t.name + "_v", register_type(t.type), {f_.f.vector});
    copy_vector(f_.b, {r_.late[id], {f_.b.values().integer(0)}}, row_ref(f_.g.exprs[id], first),
                t.type, f_.f.vector, f_.e.machine.vector_bytes);
  }
}

void RowVectors::over_vectors(std::span<const Comprehension* const> members,
                              const RowStretch& stretch, LoopKind kind,
                              const std::function<void(const RowVector&)>& inside) {
  auto& v = f_.b.values();
  auto visit = [&](const RowVector& at) {
    f_.terms.scope([&] {
      if (f_.f.vector > 1) load_late(members, at.first);
      inside(at);
    });
  };
  if (f_.f.chunks) {
    over_chunks(visit);
  } else if (!f_.serial && kind == LoopKind::serial && (stretch.lo || f_.ordered)) {
    over_rounds(stretch, visit);
  } else {
    ValueId begin = stretch.lo ? stretch.lo : v.mul(f_.thread, v.integer(f_.f.vector));
    f_.b.loop(f_.group.inner.name, begin, stretch.hi ? stretch.hi : f_.extent, round_length(), kind,
              [&](ValueId dealt) {
                ValueId first = in_row(dealt);
                visit({v.integer(0), first, {}, first});
              });
  }
  r_.late.clear();
}

/// How many elements all threads visit together.
ValueId RowVectors::round_length() {
  return f_.b.values().integer(int64_t{f_.f.threads} * f_.f.vector);
}

/// Rounds that all threads begin together, whether their vectors are in the row or not.
void RowVectors::over_rounds(const RowStretch& stretch,
                             const std::function<void(const RowVector&)>& inside) {
  auto& v = f_.b.values();
  ValueId begin = v.integer(0), end = f_.extent;
  // What is dealt out from the end is compared with the bounds one by one.
  if (stretch.lo && !f_.mirrored)
    begin = v.mul(v.binary(Op::floordiv, stretch.lo, round_length()), round_length());
  if (stretch.hi && !f_.mirrored) end = stretch.hi;
  auto round = [&](ValueId at) {
    ValueId place = v.add(at, v.mul(f_.thread, v.integer(f_.f.vector)));
    ValueId last = v.sub(f_.extent, v.integer(f_.f.vector));
    ValueId first = f_.b.let(f_.group.inner.name + "0", in_row(v.binary(Op::min, place, last)));
    inside({v.integer(0), in_row(place), v.less(place, f_.extent), first});
  };
  f_.b.when(v.less(v.integer(0), f_.extent), [&] {
    f_.b.loop(f_.group.inner.name, begin, end, round_length(), LoopKind::serial, round);
  });
}

void RowVectors::over_elements(const RowVector& at, const std::function<void()>& inside) {
  auto& v = f_.b.values();
  f_.b.loop("e", f_.f.vector, LoopKind::unrolled, [&](ValueId number) {
    ValueId lane = f_.mirrored ? v.sub(v.integer(f_.f.vector - 1), number) : number;
    f_.terms.scope([&] {
      r_.chunk = at.chunk, r_.lane = lane;
      // Where a thread is alone, the loop counts the places themselves.
      ValueId place = v.add(at.first, lane);
      if (!f_.serial || f_.f.vector > 1)
        place = f_.b.coordinate(f_.group.inner.name, place, f_.extent);
      f_.terms.bind(f_.group.inner, place);
      inside();
    });
  });
}

ValueId RowVectors::touches(ValueId chunk, const RowStretch& stretch) {
  auto& v = f_.b.values();
  if (f_.ordered || f_.f.chunks <= 1) return {};
  ValueId begin = v.mul(chunk, round_length()), holds;
  if (stretch.lo) holds = v.less(stretch.lo, v.add(begin, round_length()));
  if (stretch.hi) holds = v.both(holds, v.less(begin, stretch.hi));
  return holds;
}

} // namespace tang::lower
