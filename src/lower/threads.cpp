#include "lower/threads.h"
#include "base/check.h"
#include <algorithm>
#include <functional>

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
using Partner = std::function<std::vector<ValueId>(std::span<const ValueId> mine, int mask)>;

std::vector<ValueId> shuffled(Accumulator& acc, std::span<const ValueId> mine, int mask) {
  Builder& b = acc.builder();
  std::vector<ValueId> other;
  for (size_t f = 0; f < mine.size(); ++f) {
    VarId var = b.values().add_var({"o", acc.types()[f], {}, {}});
    b.emit({kernel::Shfl{var, mine[f], mask}});
    other.push_back(b.values().variable(var));
  }
  return other;
}

/// Each of `threads` neighbours, a power of two, gets the combination of all: in each step it meets
/// one that holds as many states as itself, next to its own.
void meet(Accumulator& acc, ValueId thread, int threads, const Partner& partner) {
  Builder& b = acc.builder();
  auto& v = b.values();
  auto fields = static_cast<uint32_t>(acc.types().size());
  for (int mask = 1; mask < threads; mask *= 2) {
    std::vector<ValueId> mine;
    for (uint32_t f = 0; f < fields; ++f) mine.push_back(b.let("s", acc.value(f, {})));
    std::vector<ValueId> other = partner(mine, mask);
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
}

} // namespace

void across_threads(Accumulator& acc, ValueId thread, int threads) {
  Builder& b = acc.builder();
  auto& v = b.values();
  auto fields = static_cast<uint32_t>(acc.types().size());
  meet(acc, thread, 32,
       [&](std::span<const ValueId> mine, int mask) { return shuffled(acc, mine, mask); });
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

void Meeting::reserve(std::span<const Type> types) {
  auto count = [](const auto& list, Type type, auto type_of) {
    return std::count_if(list.begin(), list.end(),
                         [&](const auto& x) { return type_of(x) == type; });
  };
  for (Type type : types)
    while (count(rooms_, type, [](const auto& room) { return room.first; }) <
           count(types, type, [](Type t) { return t; }))
      rooms_.emplace_back(type, b_.shared("part", element_type(type), {2, threads_}));
}

std::vector<kernel::TensorId> Meeting::rooms_of(std::span<const Type> types) const {
  std::vector<kernel::TensorId> found;
  for (Type type : types)
    for (const auto& [kept, room] : rooms_)
      if (kept == type && std::find(found.begin(), found.end(), room) == found.end()) {
        found.push_back(room);
        break;
      }
  TANG_CHECK(found.size() == types.size(), "threads of `{}` meet where nothing is reserved",
             b_.kernel().name);
  return found;
}

void Meeting::across(Accumulator& acc, ValueId thread) {
  auto& v = b_.values();
  std::vector<kernel::TensorId> rooms = rooms_of(acc.types());
  b_.emit({kernel::Barrier{}}); // until the reduction before has been read
  int turn = 0;
  meet(acc, thread, threads_, [&](std::span<const ValueId> mine, int mask) {
    ValueId other_thread = b_.let("other", v.binary(Op::bit_xor, thread, v.integer(mask)));
    for (size_t f = 0; f < mine.size(); ++f)
      b_.store({rooms[f], {v.integer(turn), thread}}, mine[f]);
    b_.emit({kernel::Barrier{}});
    std::vector<ValueId> other;
    for (size_t f = 0; f < mine.size(); ++f)
      other.push_back(b_.load("o", acc.types()[f], {rooms[f], {v.integer(turn), other_thread}}));
    turn = 1 - turn;
    return other;
  });
}

} // namespace tang::lower
