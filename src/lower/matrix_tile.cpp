// A contraction on matrix units: a ring of chunks under way, and fragments that are multiplied
// while the next are loaded.
#include "base/check.h"
#include "lower/matrix_operand.h"
#include "lower/matrix_results.h"

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;

namespace {

class MatrixTile {
public:
  explicit MatrixTile(const Emission& e)
      : frame_(e), f_(e.fields), b_(frame_.b), operands_(operands_of(frame_)),
        rows_(frame_, operands_.a[0], frame_.rows, "m", f_.block_m, f_.warp_m,
              frame_.product->operands[1]),
        cols_(frame_, operands_.b[0], frame_.cols, "n", f_.block_n, f_.warp_n,
              frame_.product->operands[2]) {
    commit_ = ask(b_, e.machine, atomics::GroupShape{atomics::Kind::commit, "cp_async"});
    wait_ = ask(b_, e.machine, atomics::GroupShape{atomics::Kind::wait, "cp_async"});
    TANG_CHECK(commit_ && wait_, "`{}` cannot copy ahead", e.name);
  }

  Built run() {
    auto& v = b_.values();
    frame_.place();
    // The last group may have more blocks than there are rows. A block of columns has some.
    b_.when(v.both(v.less(frame_.rows.first, frame_.rows.count),
                   v.less(frame_.cols.first, frame_.cols.count)),
            [&] { body(); });
    return b_.finish();
  }

private:
  static graph::Operands operands_of(const MatrixFrame& frame) {
    graph::Operands operands =
        graph::operands_of(frame.g, frame.c, graph::sides_of(frame.g, frame.c));
    TANG_CHECK(operands.a.size() == 1 && operands.b.size() == 1,
               "`{}` is no product of two factors", frame.e.name);
    return operands;
  }

  void body() {
    for (MatrixOperand* operand : {&rows_, &cols_}) operand->allocate(), operand->place();
    sums_ = total_ = registers("acc");
    if (frame_.split) sums_ = registers("part");
    clear(total_);
    main_loop();
    emit_matrix_results(frame_, total_);
  }

  kernel::TensorId registers(const char* name) {
    return b_.registers(
        name, frame_.sum,
        {f_.warp_m / frame_.atom_m, f_.warp_n / frame_.atom_n, frame_.product->operands[0].values});
  }
  void over_values(const std::function<void(const std::vector<ValueId>&)>& inside) {
    over_sums([&](ValueId i, ValueId j) {
      b_.loop("e", frame_.product->operands[0].values, LoopKind::unrolled, [&](ValueId e) {
        inside({i, j, e});
      });
    });
  }
  void clear(kernel::TensorId sums) {
    auto& v = b_.values();
    bool real = kernel::is_real(frame_.sum);
    ValueId zero = real ? v.real(0, frame_.sum) : v.integer(0, frame_.sum);
    over_values([&](const std::vector<ValueId>& at) { b_.store({sums, at}, zero); });
  }
  /// Units cut sums off where they add to them, by more the longer a sum is. The sum of a chunk is
  /// short; the chunks are added up as f32.
  void add_chunk() {
    over_values([&](const std::vector<ValueId>& at) {
      b_.store({total_, at},
               b_.values().binary(Op::add, b_.element(total_, at), b_.element(sums_, at)));
    });
  }

  void main_loop() {
    auto& v = b_.values();
    int ahead = f_.pipeline - 1, rounds = f_.block_k / frame_.atom_k;
    // Registers hold one chunk more, which gets its slot when a whole chunk was multiplied
    // meanwhile.
    bool held = rows_.through_registers();
    ValueId steps = v.ceildiv(frame_.depth, f_.block_k), none = v.integer(0);
    for (int s = 0; s < ahead; ++s) {
      fill(v.integer(s), v.integer(s), 0, 1);
      settle(v.integer(s));
      commit();
    }
    if (held) fill(none, v.integer(ahead), 0, 1);
    arrive();
    load(0, none, 0);
    b_.loop("k", none, steps, v.integer(1), LoopKind::serial, [&](ValueId k) {
      ValueId ring = v.integer(f_.pipeline), coming = v.add(k, v.integer(ahead)),
              later = held ? v.add(coming, v.integer(1)) : coming;
      ValueId slot = b_.let("slot", v.binary(Op::mod, k, ring)),
              next = b_.let("next", v.binary(Op::mod, v.add(k, v.integer(1)), ring)),
              filled = b_.let("filled", v.binary(Op::mod, coming, ring));
      settle(filled);
      if (frame_.split) clear(sums_);
      // An even number of rounds: the first of a chunk is always in the same buffer. Copies start
      // a few in every round, so that products run beside all of them.
      for (int q = 0; q < rounds; ++q) {
        bool last = q + 1 == rounds;
        if (last) arrive();
        load((q + 1) % 2, last ? next : slot, last ? 0 : (q + 1) * frame_.atom_k);
        if (!last) fill(filled, later, q, rounds - 1);
        if (q + 2 == rounds) commit();
        multiply(q % 2);
      }
      if (frame_.split) add_chunk();
    });
  }

  /// Starts to copy a part of chunk number `step` of both operands into a slot of the ring.
  void fill(ValueId slot, ValueId step, int part, int parts) {
    auto& v = b_.values();
    // Terms over several axes behind the last mean the last, which there must be.
    bool several = frame_.c.reduction->axes.size() > 1;
    b_.when(several ? v.less(v.integer(0), frame_.depth) : ValueId(), [&] {
      for (MatrixOperand* operand : {&rows_, &cols_})
        b_.spec("Move", "", {operand->tile()}, {},
                [&] { frame_.terms.scope([&] { operand->fill(slot, step, part, parts); }); });
    });
  }

  /// What comes through registers is put into its slot.
  void settle(ValueId slot) {
    for (MatrixOperand* operand : {&rows_, &cols_})
      b_.spec("Move", "", {operand->tile()}, {}, [&] { operand->settle(slot); });
  }

  void commit() {
    if (!rows_.through_registers()) b_.emit({kernel::Atom{commit_, {}, {}, {}}});
  }

  /// The oldest chunk under way is there, and everybody is done with the one before.
  void arrive() {
    if (!rows_.through_registers()) b_.emit({kernel::Atom{wait_, {}, {f_.pipeline - 2}, {}}});
    b_.emit({kernel::Barrier{}});
  }

  void load(int buffer, ValueId slot, int k) {
    for (MatrixOperand* operand : {&rows_, &cols_}) operand->load(buffer, slot, k);
  }

  void over_sums(const std::function<void(ValueId i, ValueId j)>& inside) {
    b_.loop("i", f_.warp_m / frame_.atom_m, LoopKind::unrolled, [&](ValueId i) {
      b_.loop("j", f_.warp_n / frame_.atom_n, LoopKind::unrolled, [&](ValueId j) { inside(i, j); });
    });
  }

  /// Small products go first, each kind over all sums, which do not wait for each other.
  void multiply(int buffer) {
    for (MatrixOperand* operand : {&rows_, &cols_}) operand->split(buffer);
    b_.spec("MatMul", "", {sums_}, {rows_.registers(), cols_.registers()}, [&] {
      auto a = [&](ValueId i) { return rows_.fragment(buffer, i); };
      auto b = [&](ValueId j) { return cols_.fragment(buffer, j); };
      if (frame_.split) {
        add_products([&](ValueId i) { return rows_.rest(i); }, b);
        add_products(a, [&](ValueId j) { return cols_.rest(j); });
      }
      add_products(a, b);
    });
  }

  void add_products(const std::function<kernel::Ref(ValueId i)>& a,
                    const std::function<kernel::Ref(ValueId j)>& b) {
    auto& v = b_.values();
    over_sums([&](ValueId i, ValueId j) {
      b_.emit({kernel::Atom{frame_.product, {{sums_, {i, j, v.integer(0)}}, a(i), b(j)}, {}, {}}});
    });
  }

  MatrixFrame frame_;
  const plan::Fields& f_;
  Builder& b_;
  graph::Operands operands_;
  MatrixOperand rows_, cols_;
  const atomics::Row *commit_ = nullptr, *wait_ = nullptr;
  kernel::TensorId sums_;  ///< of what units add up
  kernel::TensorId total_; ///< the same, but where factors are split
};

} // namespace

Built emit_matrix_tile(const Emission& e) {
  return MatrixTile(e).run();
}

} // namespace tang::lower
