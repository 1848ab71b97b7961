// A contraction in two levels of tiles. With threads: a block owns block_m x block_n points,
// operands pass through shared memory block_k deep, a thread owns thread_m x thread_n accumulators.
// Without: one register tile, operands straight from memory.
#include "base/checked.h"
#include "lower/tile_frame.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Op;
using kernel::LoopKind;

namespace {

class TileEmitter {
public:
  explicit TileEmitter(const Emission& e)
      : frame_(e), e_(e), f_(e.fields), c_(frame_.c), r_(frame_.r), b_(frame_.b),
        terms_(frame_.terms), axes_(frame_.axes), sides_(frame_.sides), operands_(frame_.operands) {
  }

  Built run() {
    if (e_.machine.hardware_grid)
      staged();
    else
      serial();
    return b_.finish();
  }

private:
  // --- with threads
  // ---------------------------------------------------------------------------------

  /// A register coordinate within a block's tile: groups of four neighbours, so that shared memory
  /// is read in 16-byte vectors without bank conflicts.
  ValueId tile_place(ValueId thread, int threads, int per_thread, int64_t i) {
    auto& v = b_.values();
    int group = neighbours_of(per_thread);
    int64_t base = i / group * group * threads + i % group;
    return v.add(v.mul(thread, v.integer(group)), v.integer(base));
  }

  void staged() {
    auto& v = b_.values();
    int tm = f_.block_m / f_.thread_m, tn = f_.block_n / f_.thread_n, threads = tm * tn;
    VarId x = v.add_var({"tx", Type::index, 0, tn - 1}),
          y = v.add_var({"ty", Type::index, 0, tm - 1});
    b_.kernel().threads = {{x, tn}, {y, tm}};
    ValueId tx = v.variable(x), ty = v.variable(y);
    ValueId rows = axes_.size_of(sides_.m), cols = axes_.size_of(sides_.n);
    ValueId bn = axes_.block_mode("bn", v.ceildiv(cols, f_.block_n)),
            bm = axes_.block_mode("bm", v.ceildiv(rows, f_.block_m));
    ValueId batch = axes_.block_mode("batch", axes_.size_of(sides_.batch));
    axes_.bind_points(sides_.batch, batch);
    ValueId m0 = b_.let("m0", v.mul(bm, v.integer(f_.block_m))),
            n0 = b_.let("n0", v.mul(bn, v.integer(f_.block_n)));
    ValueId thread = b_.let("thread", v.add(v.mul(ty, v.integer(tn)), tx));
    ValueId depth = axes_.depth();

    std::vector<kernel::TensorId> as, bs;
    // One column of padding keeps transposing stores off each other's banks.
    for (ExprId id : operands_.a)
      as.push_back(b_.shared("a_tile", element_type(frame_.operand_type(id)),
                             {f_.block_k, f_.block_m}, {f_.block_m + 4, 1}));
    for (ExprId id : operands_.b)
      bs.push_back(b_.shared("b_tile", element_type(frame_.operand_type(id)),
                             {f_.block_k, f_.block_n}, {f_.block_n + 4, 1}));
    Accumulators acc = frame_.accumulators();
    b_.loop("k0", v.integer(0), depth, v.integer(f_.block_k), LoopKind::serial, [&](ValueId k0) {
      for (size_t i = 0; i < as.size(); ++i)
        stage(operands_.a[i], as[i], sides_.m, m0, rows, f_.block_m, k0, depth, thread, threads);
      for (size_t i = 0; i < bs.size(); ++i)
        stage(operands_.b[i], bs[i], sides_.n, n0, cols, f_.block_n, k0, depth, thread, threads);
      b_.emit({kernel::Barrier{}});
      b_.spec("MatMul", "", acc, {}, [&] { multiply(acc, as, bs, tx, ty, tn, tm, k0, depth); });
      b_.emit({kernel::Barrier{}});
    });
    over_own(ty, tm, f_.thread_m, [&](ValueId i, ValueId at_m) {
      over_own(tx, tn, f_.thread_n, [&](ValueId j, ValueId at_n) {
        ValueId m = b_.let("m", v.add(m0, at_m)), n = b_.let("n", v.add(n0, at_n));
        b_.when(v.both(v.less(m, rows), v.less(n, cols)), [&] {
          terms_.scope([&] {
            axes_.bind_points(sides_.m, m);
            axes_.bind_points(sides_.n, n);
            frame_.results(acc, i, j);
          });
        });
      });
    });
  }

  /// Visits the numbers and the places (tile_place) of a thread's own registers along one side.
  void over_own(ValueId thread, int threads, int per_thread,
                const std::function<void(ValueId i, ValueId place)>& inside) {
    auto& v = b_.values();
    int group = neighbours_of(per_thread);
    b_.loop("group", per_thread / group, LoopKind::unrolled, [&](ValueId g) {
      b_.loop("own", group, LoopKind::unrolled, [&](ValueId own) {
        ValueId first = v.mul(v.add(v.mul(g, v.integer(threads)), thread), v.integer(group));
        inside(v.add(v.mul(g, v.integer(group)), own), v.add(first, own));
      });
    });
  }

  /// One operand's tile into shared memory, what lies outside as zeros (they reach no stored
  /// point).
  void stage(ExprId operand, kernel::TensorId tile, const std::vector<size_t>& side, ValueId first,
             ValueId count, int size, ValueId k0, ValueId depth, ValueId thread, int threads) {
    auto& v = b_.values();
    bool k_fast = frame_.along_sum(operand, side);
    int64_t total = int64_t{size} * f_.block_k;
    b_.spec("Move", "", {tile}, {}, [&] {
      b_.loop("s", tang::ceildiv(total, threads), LoopKind::unrolled, [&](ValueId s) {
        ValueId e = v.add(v.mul(s, v.integer(threads)), thread);
        auto load = [&] {
          const std::string names[] = {"p", "kk"};
          const ValueId extents[] = {v.integer(size), v.integer(f_.block_k)};
          std::vector<ValueId> places =
              k_fast ? b_.delinearize(names, e, extents)
                     : b_.delinearize({{names[1], names[0]}}, e, {{extents[1], extents[0]}});
          ValueId p = places[k_fast ? 0 : 1], kk = places[k_fast ? 1 : 0];
          ValueId m = b_.let("at", v.add(first, p)), k = b_.let("k", v.add(k0, kk));
          Type type = frame_.operand_type(operand);
          kernel::If branch{v.both(v.less(m, count), v.less(k, depth)), {}, {}};
          b_.nest(branch.then, [&] {
            terms_.scope([&] {
              axes_.bind_points(side, m);
              axes_.bind_sum(k);
              b_.store({tile, {kk, p}}, v.convert(type, terms_.lower(operand)));
            });
          });
          ValueId zero = type == Type::boolean   ? v.boolean(false)
                         : kernel::is_real(type) ? v.real(0, type)
                                                 : v.integer(0, type);
          b_.nest(branch.otherwise, [&] { b_.store({tile, {kk, p}}, zero); });
          b_.emit({std::move(branch)});
        };
        if (total % threads == 0)
          load();
        else
          b_.when(v.less(e, v.integer(total)), load);
      });
    });
  }

  void multiply(const Accumulators& acc, const std::vector<kernel::TensorId>& as,
                const std::vector<kernel::TensorId>& bs, ValueId tx, ValueId ty, int tn, int tm,
                ValueId k0, ValueId depth) {
    auto& v = b_.values();
    auto step = [&](ValueId kk) {
      terms_.scope([&] {
        std::vector<std::vector<ValueId>> a(as.size()), b(bs.size());
        for (size_t o = 0; o < as.size(); ++o)
          for (int i = 0; i < f_.thread_m; ++i)
            a[o].push_back(b_.load("a", frame_.operand_type(operands_.a[o]),
                                   {as[o], {kk, tile_place(ty, tm, f_.thread_m, i)}}));
        for (size_t o = 0; o < bs.size(); ++o)
          for (int j = 0; j < f_.thread_n; ++j)
            b[o].push_back(b_.load("b", frame_.operand_type(operands_.b[o]),
                                   {bs[o], {kk, tile_place(tx, tn, f_.thread_n, j)}}));
        for (int i = 0; i < f_.thread_m; ++i)
          for (int j = 0; j < f_.thread_n; ++j)
            frame_.update(
                acc, v.integer(i), v.integer(j), [&](size_t o) { return a[o][i]; },
                [&](size_t o) { return b[o][j]; });
      });
    };
    ValueId rest = v.sub(depth, k0);
    auto fixed = v.as_integer(depth);
    if (fixed && *fixed % f_.block_k == 0) {
      b_.loop("kk", f_.block_k, LoopKind::unrolled, step);
      return;
    }
    ValueId depth_of_tile = v.integer(f_.block_k);
    kernel::If whole{v.binary(Op::le, depth_of_tile, rest), {}, {}};
    b_.nest(whole.then, [&] { b_.loop("kk", f_.block_k, LoopKind::unrolled, step); });
    b_.nest(whole.otherwise, [&] {
      b_.loop("kk", v.integer(0), v.binary(Op::min, rest, depth_of_tile), v.integer(1),
              LoopKind::serial, step);
    });
    b_.emit({std::move(whole)});
  }

  // --- without threads
  // ------------------------------------------------------------------------------

  void serial() {
    auto& v = b_.values();
    const Axis &row = c_.points[sides_.m[0]], &col = c_.points[sides_.n[0]];
    ValueId rows = b_.extent(row.extent), cols = b_.extent(col.extent);
    ValueId bn = axes_.block_mode(col.name + "_block", v.ceildiv(cols, f_.block_n)),
            bm = axes_.block_mode(row.name + "_block", v.ceildiv(rows, f_.block_m));
    for (size_t n = sides_.batch.size(); n-- > 0;) {
      const Axis& axis = c_.points[sides_.batch[n]];
      axes_.set_point(sides_.batch[n], axes_.block_mode(axis.name, b_.extent(axis.extent)));
    }
    for (size_t i : sides_.batch) terms_.bind(c_.points[i], axes_.points()[i]);
    ValueId m0 = b_.let(row.name + "0", v.mul(bm, v.integer(f_.block_m))),
            n0 = b_.let(col.name + "0", v.mul(bn, v.integer(f_.block_n)));
    Accumulators acc = frame_.accumulators();
    // The whole tile has constant bounds, which is what a C compiler needs to keep it in registers.
    auto holds = [&](ValueId first, int size, ValueId count) {
      // A block of one row is never cut.
      return size == 1 ? ValueId() : v.binary(Op::le, v.add(first, v.integer(size)), count);
    };
    ValueId full = v.both(holds(m0, f_.block_m, rows), holds(n0, f_.block_n, cols));
    auto all = [&] { register_tile(acc, m0, n0, v.integer(f_.block_m), v.integer(f_.block_n)); };
    if (!full) return all();
    kernel::If whole{full, {}, {}};
    b_.nest(whole.then, all);
    b_.nest(whole.otherwise, [&] {
      ValueId mm = b_.let("rows", v.binary(Op::min, v.integer(f_.block_m), v.sub(rows, m0)));
      ValueId nn = b_.let("cols", v.binary(Op::min, v.integer(f_.block_n), v.sub(cols, n0)));
      register_tile(acc, m0, n0, mm, nn);
    });
    b_.emit({std::move(whole)});
  }

  void over(const std::string& name, size_t axis, ValueId first, ValueId count, LoopKind kind,
            const std::function<void(ValueId)>& inside) {
    auto& v = b_.values();
    b_.loop(name, v.integer(0), count, v.integer(1), kind, [&](ValueId i) {
      terms_.scope([&] {
        axes_.set_point(axis, b_.coordinate(c_.points[axis].name, v.add(first, i),
                                            b_.extent(c_.points[axis].extent)));
        terms_.bind(c_.points[axis], axes_.points()[axis]);
        inside(i);
      });
    });
  }

  void register_tile(const Accumulators& acc, ValueId m0, ValueId n0, ValueId mm, ValueId nn) {
    size_t m = sides_.m[0], n = sides_.n[0];
    auto& v = b_.values();
    reduce_loops(terms_, r_.axes, [&] {
      std::vector<kernel::TensorId> as, bs;
      for (ExprId id : operands_.b) {
        bs.push_back(b_.registers("b", frame_.operand_type(id), {f_.thread_n}));
        over("j", n, n0, nn, LoopKind::vector, [&](ValueId j) {
          b_.store({bs.back(), {j}}, v.convert(frame_.operand_type(id), terms_.lower(id)));
        });
      }
      over("i", m, m0, mm, LoopKind::serial, [&](ValueId i) {
        std::vector<ValueId> a;
        for (ExprId id : operands_.a)
          a.push_back(b_.let("a", v.convert(frame_.operand_type(id), terms_.lower(id))));
        over("j", n, n0, nn, LoopKind::vector, [&](ValueId j) {
          frame_.update(
              acc, i, j, [&](size_t o) { return a[o]; },
              [&](size_t o) { return b_.element(bs[o], {j}); });
        });
      });
    });
    over("i", m, m0, mm, LoopKind::serial, [&](ValueId i) {
      over("j", n, n0, nn, LoopKind::vector, [&](ValueId j) { frame_.results(acc, i, j); });
    });
  }

  TileFrame frame_;
  const Emission& e_;
  const plan::Fields& f_;
  const Comprehension& c_;
  const graph::Reduction& r_;
  Builder& b_;
  Terms& terms_;
  TileAxes& axes_;
  const graph::Sides& sides_;
  const graph::Operands& operands_;
};

} // namespace

Built emit_tile(const Emission& e) {
  return TileEmitter(e).run();
}

} // namespace tang::lower
