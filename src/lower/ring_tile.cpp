// A contraction in tiles with copies under way while it multiplies: a ring of `pipeline` chunks in
// shared memory, and a thread's values of the next term loaded while it combines those of this one.
// A warp owns warp_m x warp_n points, its threads groups of neighbours side by side in it.
#include "base/check.h"
#include "lower/fragments.h"
#include "lower/ring_operand.h"

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;

namespace {

class RingTile {
public:
  explicit RingTile(const Emission& e) : frame_(e), f_(e.fields), b_(frame_.b) {
    auto points = [](const std::vector<size_t>& axes, int block, int warp, int own) {
      return RingPoints{axes, block, warp, own, warp / own, {}, {}, {}, {}};
    };
    rows_ = points(frame_.sides.m, f_.block_m, f_.warp_m, f_.thread_m);
    cols_ = points(frame_.sides.n, f_.block_n, f_.warp_n, f_.thread_n);
  }

  Built run() {
    auto& v = b_.values();
    place();
    // The last group may have more blocks than there are rows. A block of columns has some.
    b_.when(v.both(v.less(rows_.first, rows_.count), v.less(cols_.first, cols_.count)),
            [&] { body(); });
    return b_.finish();
  }

private:
  /// The modes of threads and blocks.
  void place() {
    auto& v = b_.values();
    ValueId number = v.integer(0);
    auto mode = [&](const char* name, int extent) {
      ValueId digit = thread_mode(b_, name, extent);
      number = v.add(number, v.mul(digit, v.integer(threads_)));
      threads_ *= extent;
      return digit;
    };
    cols_.lane = mode("lane_n", cols_.lanes), rows_.lane = mode("lane_m", rows_.lanes);
    cols_.warp_number = mode("warp_n", f_.block_n / f_.warp_n);
    rows_.warp_number = mode("warp_m", f_.block_m / f_.warp_m);
    thread_ = b_.let("thread", number);

    TileAxes& axes = frame_.axes;
    rows_.count = axes.size_of(rows_.axes), cols_.count = axes.size_of(cols_.axes);
    ValueId in_group = axes.block_mode("bm", v.integer(f_.raster)),
            bn = axes.block_mode("bn", v.ceildiv(cols_.count, f_.block_n)),
            group =
                axes.block_mode("group", v.ceildiv(rows_.count, int64_t{f_.block_m} * f_.raster)),
            batch = axes.block_mode("batch", axes.size_of(frame_.sides.batch));
    ValueId bm = v.add(v.mul(group, v.integer(f_.raster)), in_group);
    axes.bind_points(frame_.sides.batch, batch);
    rows_.first = v.mul(bm, v.integer(f_.block_m)), cols_.first = v.mul(bn, v.integer(f_.block_n));
    depth_ = axes.depth();
  }

  void body() {
    auto make = [&](const std::vector<ExprId>& ids, const RingPoints& points, const char* name) {
      std::vector<RingOperand> made;
      for (ExprId id : ids) made.emplace_back(frame_, id, points, name, depth_, thread_, threads_);
      return made;
    };
    left_ = make(frame_.operands.a, rows_, "a"), right_ = make(frame_.operands.b, cols_, "b");
    for (auto* side : {&left_, &right_})
      for (RingOperand& operand : *side) operands_.push_back(&operand);
    for (const RingOperand* operand : operands_) asynchronous_ |= !operand->through_registers();
    if (asynchronous_) {
      using atomics::Kind;
      commit_ = ask(b_, frame_.e.machine, atomics::GroupShape{Kind::commit, "cp_async"});
      wait_ = ask(b_, frame_.e.machine, atomics::GroupShape{Kind::wait, "cp_async"});
      TANG_CHECK(commit_ && wait_, "`{}` cannot copy ahead", frame_.e.name);
    }
    acc_ = frame_.accumulators();
    whole_chunks();
    rest();
    store();
  }

  void whole_chunks() {
    auto& v = b_.values();
    int ahead = f_.pipeline - 1, rounds = f_.block_k;
    ValueId none = v.integer(0);
    for (int s = 0; s < ahead; ++s) {
      fill(v.integer(s), 0, 1, [&](const RingOperand&) { return v.integer(s); });
      settle(v.integer(s));
      commit();
    }
    // Registers hold one chunk more, which gets its slot while the one before is multiplied.
    auto chunk = [&](ValueId coming) {
      return [&v, coming](const RingOperand& operand) {
        return operand.through_registers() ? v.add(coming, v.integer(1)) : coming;
      };
    };
    fill(none, 0, 1, chunk(v.integer(ahead - 1)), true);
    arrive();
    load(0, none, none);
    b_.loop("k", none, full(), v.integer(1), LoopKind::serial, [&](ValueId k) {
      ValueId ring = v.integer(f_.pipeline), coming = v.add(k, v.integer(ahead));
      ValueId slot = b_.let("slot", v.binary(Op::mod, k, ring)),
              next = b_.let("next", v.binary(Op::mod, v.add(k, v.integer(1)), ring)),
              filled = b_.let("filled", v.binary(Op::mod, coming, ring));
      settle(filled);
      // An even number of rounds: the first of a chunk is always in the same buffer. Copies start
      // a few in every round, so that products run beside all of them.
      for (int q = 0; q < rounds; ++q) {
        bool last = q + 1 == rounds;
        if (last) arrive();
        load((q + 1) % 2, last ? next : slot, last ? none : v.integer(q + 1));
        if (!last) fill(filled, q, rounds - 1, chunk(coming));
        if (q + 2 == rounds) commit();
        combine(q % 2);
      }
    });
  }

  /// Chunks of which every term exists.
  ValueId full() {
    auto& v = b_.values();
    return v.binary(Op::floordiv, depth_, v.integer(f_.block_k));
  }

  /// The terms behind the last whole chunk, which has arrived: one by one, since what is no term
  /// must not be combined.
  void rest() {
    auto& v = b_.values();
    ValueId left = v.binary(Op::mod, depth_, v.integer(f_.block_k));
    if (v.as_integer(left) == 0) return;
    ValueId slot = b_.let("slot", v.binary(Op::mod, full(), v.integer(f_.pipeline)));
    b_.loop("kk", v.integer(0), left, v.integer(1), LoopKind::serial, [&](ValueId kk) {
      load(0, slot, kk);
      combine(0);
    });
  }

  /// Starts to copy a part of a chunk of every operand into a slot; `held`: only of those that come
  /// through registers.
  void fill(ValueId slot, int part, int parts,
            const std::function<ValueId(const RingOperand&)>& chunk, bool held = false) {
    auto& v = b_.values();
    // Terms over several axes behind the last mean the last, which there must be.
    bool several = frame_.r.axes.size() > 1;
    b_.when(several ? v.less(v.integer(0), depth_) : ValueId(), [&] {
      for (RingOperand* operand : operands_)
        if (!held || operand->through_registers())
          b_.spec("Move", "", {operand->tile()}, {},
                  [&] { operand->fill(slot, chunk(*operand), part, parts); });
    });
  }

  /// What comes through registers is put into its slot.
  void settle(ValueId slot) {
    for (RingOperand* operand : operands_)
      b_.spec("Move", "", {operand->tile()}, {}, [&] { operand->settle(slot); });
  }

  void commit() {
    if (asynchronous_) b_.emit({kernel::Atom{commit_, {}, {}, {}}});
  }

  /// The oldest chunk under way is there, and everybody is done with the one before.
  void arrive() {
    if (asynchronous_) b_.emit({kernel::Atom{wait_, {}, {f_.pipeline - 2}, {}}});
    b_.emit({kernel::Barrier{}});
  }

  void load(int buffer, ValueId slot, ValueId k) {
    for (RingOperand* operand : operands_) operand->load(buffer, slot, k);
  }

  void combine(int buffer) {
    b_.spec("MatMul", "", acc_, {}, [&] {
      b_.loop("i", f_.thread_m, LoopKind::unrolled, [&](ValueId i) {
        b_.loop("j", f_.thread_n, LoopKind::unrolled, [&](ValueId j) {
          frame_.update(
              acc_, i, j, [&](size_t o) { return left_[o].value(buffer, i); },
              [&](size_t o) { return right_[o].value(buffer, j); });
        });
      });
    });
  }

  void store() {
    auto& v = b_.values();
    over_own(rows_, [&](ValueId i, ValueId m) {
      b_.when(v.less(m, rows_.count), [&] {
        frame_.terms.scope([&] {
          frame_.axes.bind_points(rows_.axes, m);
          over_own(cols_, [&](ValueId j, ValueId n) {
            b_.when(v.less(n, cols_.count), [&] {
              frame_.terms.scope([&] {
                frame_.axes.bind_points(cols_.axes, n);
                frame_.results(acc_, i, j);
              });
            });
          });
        });
      });
    });
  }

  /// Visits the numbers and the places of a thread's own points along one side.
  void over_own(const RingPoints& points,
                const std::function<void(ValueId own, ValueId place)>& inside) {
    auto& v = b_.values();
    int group = neighbours_of(points.per_thread);
    const char* name = &points == &rows_ ? "m" : "n";
    b_.loop("group", points.per_thread / group, LoopKind::unrolled, [&](ValueId g) {
      b_.loop("own", group, LoopKind::unrolled, [&](ValueId own) {
        ValueId place = v.add(v.add(points.first, points.place(b_, g)), own);
        inside(v.add(v.mul(g, v.integer(group)), own), b_.let(name, place));
      });
    });
  }

  TileFrame frame_;
  const plan::Fields& f_;
  Builder& b_;
  RingPoints rows_, cols_;
  std::vector<RingOperand> left_, right_;
  std::vector<RingOperand*> operands_; ///< of the rows, then of the columns
  Accumulators acc_;
  ValueId depth_, thread_;
  int threads_ = 1;
  bool asynchronous_ = false; ///< some operand is copied without registers
  const atomics::Row *commit_ = nullptr, *wait_ = nullptr;
};

} // namespace

Built emit_ring_tile(const Emission& e) {
  return RingTile(e).run();
}

} // namespace tang::lower
