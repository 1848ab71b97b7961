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
    // The last group may have more blocks than there are rows.
    b_.when(f_.raster > 1 ? v.less(frame_.rows.first, frame_.rows.count) : ValueId(),
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
    auto& v = b_.values();
    for (MatrixOperand* operand : {&rows_, &cols_}) operand->allocate();
    int values = frame_.product->operands[0].values;
    sums_ = b_.registers("acc", frame_.sum,
                         {f_.warp_m / frame_.atom_m, f_.warp_n / frame_.atom_n, values});
    bool real = kernel::is_real(frame_.sum);
    ValueId zero = real ? v.real(0, frame_.sum) : v.integer(0, frame_.sum);
    over_sums([&](ValueId i, ValueId j) {
      b_.loop("e", values, LoopKind::unrolled, [&](ValueId e) {
        b_.store({sums_, {i, j, e}}, zero);
      });
    });
    main_loop();
    emit_matrix_results(frame_, sums_, !cols_.along_sum());
  }

  void main_loop() {
    auto& v = b_.values();
    int ahead = f_.pipeline - 1, rounds = f_.block_k / frame_.atom_k;
    ValueId steps = v.ceildiv(frame_.depth, f_.block_k);
    for (int s = 0; s < ahead; ++s) fill(v.integer(s), v.integer(s));
    arrive();
    load(0, v.integer(0), 0);
    b_.loop("k", v.integer(0), steps, v.integer(1), LoopKind::serial, [&](ValueId k) {
      ValueId ring = v.integer(f_.pipeline);
      ValueId slot = b_.let("slot", v.binary(Op::mod, k, ring)),
              next = b_.let("next", v.binary(Op::mod, v.add(k, v.integer(1)), ring));
      // An even number of rounds: the first of a chunk is always in the same buffer.
      for (int q = 0; q < rounds; ++q) {
        bool last = q + 1 == rounds;
        if (last) arrive();
        load((q + 1) % 2, last ? next : slot, last ? 0 : (q + 1) * frame_.atom_k);
        if (q == 0) {
          ValueId later = v.add(k, v.integer(ahead));
          fill(b_.let("filled", v.binary(Op::mod, later, ring)), later);
        }
        multiply(q % 2);
      }
    });
  }

  /// Chunk number `step` of both operands into a slot of the ring; nothing where there is none.
  void fill(ValueId slot, ValueId step) {
    auto& v = b_.values();
    ValueId some = v.both(
        v.less(v.mul(step, v.integer(f_.block_k)), frame_.depth),
        v.both(v.less(v.integer(0), frame_.rows.count), v.less(v.integer(0), frame_.cols.count)));
    b_.when(some, [&] {
      for (MatrixOperand* operand : {&rows_, &cols_})
        b_.spec("Move", "", {operand->tile()}, {},
                [&] { frame_.terms.scope([&] { operand->fill(slot, step); }); });
    });
    b_.emit({kernel::Atom{commit_, {}, {}, {}}});
  }

  /// The oldest chunk under way is there, and everybody is done with the one before.
  void arrive() {
    b_.emit({kernel::Atom{wait_, {}, {f_.pipeline - 2}, {}}});
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
  kernel::TensorId sums_;
};

} // namespace

Built emit_matrix_tile(const Emission& e) {
  return MatrixTile(e).run();
}

} // namespace tang::lower
