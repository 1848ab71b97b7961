#include "lower/threads.h"

namespace tang::lower {

using graph::Op;
using kernel::LoopKind;

namespace {

Terms::State state_of(std::vector<ValueId> fields) {
  return [fields = std::move(fields)](Op, uint32_t field, const std::vector<ValueId>&) {
    return fields[field];
  };
}

/// The state of the thread whose number differs in one bit.
std::vector<ValueId> partner(Accumulator& acc, Builder& b, std::span<const ValueId> mine,
                             int mask) {
  std::vector<ValueId> other;
  for (size_t f = 0; f < mine.size(); ++f) {
    VarId var = b.values().add_var({"o", acc.types()[f], {}, {}});
    b.emit({kernel::Shfl{var, mine[f], mask}});
    other.push_back(b.values().variable(var));
  }
  return other;
}

} // namespace

void across_threads(Accumulator& acc, ValueId thread, int threads) {
  Builder& b = acc.builder();
  auto& v = b.values();
  auto fields = static_cast<uint32_t>(acc.types().size());
  for (int mask = 1; mask < 32; mask *= 2) {
    std::vector<ValueId> mine;
    for (uint32_t f = 0; f < fields; ++f) mine.push_back(b.let("s", acc.value(f, {})));
    std::vector<ValueId> other = partner(acc, b, mine, mask);
    if (!acc.commutes()) {
      // The state of the lower thread is the earlier one.
      ValueId bit =
          v.binary(Op::mod, v.binary(Op::floordiv, thread, v.integer(mask)), v.integer(2));
      ValueId upper = b.let("upper", v.binary(Op::eq, bit, v.integer(1)));
      for (uint32_t f = 0; f < fields; ++f) {
        b.store({acc.fields()[f], {}}, v.select(upper, other[f], mine[f]));
        other[f] = v.select(upper, mine[f], other[f]);
      }
    }
    acc.merge(state_of(std::move(other)));
  }
  int warps = threads / 32;
  if (warps <= 1) return;
  std::vector<kernel::TensorId> parts;
  for (Type type : acc.types()) parts.push_back(b.shared("part", element_type(type), {warps}));
  ValueId lane = v.binary(Op::mod, thread, v.integer(32)),
          warp = v.binary(Op::floordiv, thread, v.integer(32));
  b.when(v.binary(Op::eq, lane, v.integer(0)), [&] {
    for (uint32_t f = 0; f < fields; ++f) b.store({parts[f], {warp}}, acc.value(f, {}));
  });
  b.emit({kernel::Barrier{}});
  acc.init();
  b.loop("w", warps, LoopKind::unrolled, [&](ValueId w) {
    std::vector<ValueId> other;
    for (uint32_t f = 0; f < fields; ++f)
      other.push_back(b.load("o", acc.types()[f], {parts[f], {w}}));
    acc.merge(state_of(std::move(other)));
  });
}

} // namespace tang::lower
