// A contraction on matrix units: a ring of chunks under way, and fragments that are multiplied
// while the next are loaded.
#include "base/check.h"
#include "lower/matrix_operand.h"
#include "lower/matrix_results.h"

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;

namespace {

/// One of the sums over the block's points: which operands it multiplies, and its accumulators.
struct MatrixSum {
  MatrixOperand *a = nullptr, *b = nullptr;
  kernel::TensorId units; ///< of what units add up
  kernel::TensorId total; ///< the same, but where factors are split
};

class MatrixTile {
public:
  explicit MatrixTile(const Emission& e) : frame_(e), f_(e.fields), b_(frame_.b) {
    graph::Operands of =
        graph::operands_of(frame_.g, frame_.c, graph::sides_of(frame_.g, frame_.c));
    operands_.reserve(of.a.size() + of.b.size());
    std::map<ExprId, MatrixOperand*> made;
    for (ExprId a : of.a)
      made[a] = &operands_.emplace_back(frame_, a, frame_.rows, "m", f_.block_m, f_.warp_m,
                                        frame_.product->operands[1]);
    for (ExprId b : of.b)
      made[b] = &operands_.emplace_back(frame_, b, frame_.cols, "n", f_.block_n, f_.warp_n,
                                        frame_.product->operands[2]);
    for (auto [a, b] : graph::products_of(frame_.g, frame_.c, of))
      sums_.push_back({made.at(a), made.at(b), {}, {}});
    TANG_CHECK(!sums_.empty(), "`{}` is no product of two factors", e.name);
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
  void body() {
    for (MatrixOperand& operand : operands_) operand.allocate(), operand.place();
    for (MatrixSum& sum : sums_) {
      sum.units = sum.total = registers("acc");
      if (frame_.pieces) sum.units = registers("part");
      clear(sum.total);
    }
    main_loop();
    std::vector<kernel::TensorId> totals;
    for (const MatrixSum& sum : sums_) totals.push_back(sum.total);
    emit_matrix_results(frame_, std::move(totals));
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
  void add_chunk(const MatrixSum& sum) {
    over_values([&](const std::vector<ValueId>& at) {
      b_.store({sum.total, at},
               b_.values().binary(Op::add, b_.element(sum.total, at), b_.element(sum.units, at)));
    });
  }

  void main_loop() {
    auto& v = b_.values();
    int ahead = f_.pipeline - 1, rounds = f_.block_k / frame_.atom_k;
    // Registers hold one chunk more, which gets its slot when a whole chunk was multiplied
    // meanwhile.
    bool held = through_registers();
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
      if (frame_.pieces)
        for (const MatrixSum& sum : sums_) clear(sum.units);
      // An even number of rounds: the first of a chunk is always in the same buffer. Copies start
      // a few in every round, so that products run beside all of them. Words of which pieces were
      // made leave their registers to the next.
      for (int q = 0; q < rounds; ++q) {
        bool last = q + 1 == rounds;
        if (frame_.paired) split(0);
        if (last) arrive();
        load(frame_.paired ? 0 : (q + 1) % 2, last ? next : slot,
             last ? 0 : (q + 1) * frame_.atom_k);
        if (!last) fill(filled, later, q, rounds - 1);
        if (q + 2 == rounds) commit();
        multiply(q % 2);
      }
      if (frame_.pieces)
        for (const MatrixSum& sum : sums_) add_chunk(sum);
    });
  }

  /// Starts to copy a part of chunk number `step` of both operands into a slot of the ring.
  void fill(ValueId slot, ValueId step, int part, int parts) {
    auto& v = b_.values();
    // Terms over several axes behind the last mean the last, which there must be.
    bool several = frame_.c.reduction->axes.size() > 1;
    b_.when(several ? v.less(v.integer(0), frame_.depth) : ValueId(), [&] {
      for (MatrixOperand& operand : operands_)
        b_.spec("Move", "", {operand.tile()}, {},
                [&] { frame_.terms.scope([&] { operand.fill(slot, step, part, parts); }); });
    });
  }

  /// What comes through registers is put into its slot.
  void settle(ValueId slot) {
    for (MatrixOperand& operand : operands_)
      b_.spec("Move", "", {operand.tile()}, {}, [&] { operand.settle(slot); });
  }

  bool through_registers() const { return operands_.front().through_registers(); }

  void commit() {
    if (!through_registers()) b_.emit({kernel::Atom{commit_, {}, {}, {}}});
  }

  /// The oldest chunk under way is there, and everybody is done with the one before.
  void arrive() {
    if (!through_registers()) b_.emit({kernel::Atom{wait_, {}, {f_.pipeline - 2}, {}}});
    b_.emit({kernel::Barrier{}});
  }

  void load(int buffer, ValueId slot, int k) {
    for (MatrixOperand& operand : operands_) operand.load(buffer, slot, k);
  }

  void over_sums(const std::function<void(ValueId i, ValueId j)>& inside) {
    b_.loop("i", f_.warp_m / frame_.atom_m, LoopKind::unrolled, [&](ValueId i) {
      b_.loop("j", f_.warp_n / frame_.atom_n, LoopKind::unrolled, [&](ValueId j) { inside(i, j); });
    });
  }

  void split(int buffer) {
    for (MatrixOperand& operand : operands_) operand.split(buffer);
  }

  void multiply(int buffer) {
    if (!frame_.paired) split(buffer);
    for (const MatrixSum& sum : sums_)
      b_.spec("MatMul", "", {sum.units}, {sum.a->registers(), sum.b->registers()},
              [&] { multiply(sum, buffer); });
  }

  /// Each product of pieces over all sums, which do not wait for each other.
  void multiply(const MatrixSum& sum, int buffer) {
    if (!frame_.pieces)
      return add_products(
          sum, [&](ValueId i) { return sum.a->fragment(buffer, i); },
          [&](ValueId j) { return sum.b->fragment(buffer, j); });
    for (graph::PieceProduct of : frame_.pieces->products)
      add_products(
          sum, [&](ValueId i) { return sum.a->piece(of.a, buffer, i); },
          [&](ValueId j) { return sum.b->piece(of.b, buffer, j); });
  }

  void add_products(const MatrixSum& sum, const std::function<kernel::Ref(ValueId i)>& a,
                    const std::function<kernel::Ref(ValueId j)>& b) {
    auto& v = b_.values();
    over_sums([&](ValueId i, ValueId j) {
      b_.emit(
          {kernel::Atom{frame_.product, {{sum.units, {i, j, v.integer(0)}}, a(i), b(j)}, {}, {}}});
    });
  }

  MatrixFrame frame_;
  const plan::Fields& f_;
  Builder& b_;
  std::vector<MatrixOperand> operands_; ///< of the rows, then of the columns
  std::vector<MatrixSum> sums_;         ///< one for each field of the state
  const atomics::Row *commit_ = nullptr, *wait_ = nullptr;
};

} // namespace

Built emit_matrix_tile(const Emission& e) {
  return MatrixTile(e).run();
}

} // namespace tang::lower
