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

std::vector<ValueId> values_of(Accumulator& acc) {
  std::vector<ValueId> values;
  for (uint32_t f = 0; f < acc.types().size(); ++f)
    values.push_back(acc.builder().let("s", acc.value(f, {})));
  return values;
}

void set(Accumulator& acc, std::span<const ValueId> values) {
  for (uint32_t f = 0; f < values.size(); ++f)
    acc.builder().store({acc.fields()[f], {}}, values[f]);
}

ValueId is_upper(Builder& b, ValueId thread, int mask) {
  auto& v = b.values();
  ValueId bit = v.binary(Op::mod, v.binary(Op::floordiv, thread, v.integer(mask)), v.integer(2));
  return b.let("upper", v.binary(Op::eq, bit, v.integer(1)));
}

/// state = the two in their order: `swapped` says whether the other one is earlier.
void merge_in_order(Accumulator& acc, std::span<const ValueId> mine, std::vector<ValueId> other,
                    ValueId swapped) {
  auto& v = acc.builder().values();
  std::vector<ValueId> first;
  for (size_t f = 0; f < other.size(); ++f) {
    first.push_back(v.select(swapped, other[f], mine[f]));
    other[f] = v.select(swapped, mine[f], other[f]);
  }
  set(acc, first);
  acc.merge(state_of(std::move(other)));
}

/// Each of `threads` neighbours, a power of two, gets the combination of all: in each step it meets
/// one that holds as many states as itself, next to its own. `before`, where there is one, becomes
/// what those with smaller numbers hold.
void meet(Accumulator& acc, Accumulator* before, ValueId thread, int threads,
          const Partner& partner) {
  Builder& b = acc.builder();
  if (before) before->init();
  for (int mask = 1; mask < threads; mask *= 2) {
    std::vector<ValueId> mine = values_of(acc), other = partner(mine, mask);
    if (!before && acc.commutes()) {
      acc.merge(state_of(std::move(other)));
      continue;
    }
    ValueId upper = is_upper(b, thread, mask);
    if (before) put_before(*before, other, upper);
    merge_in_order(acc, mine, std::move(other), upper);
  }
}

/// The states of all warps in shared memory: what the threads of a warp hold is the same.
std::vector<kernel::TensorId> share_parts(Accumulator& acc, ValueId thread, int warps) {
  Builder& b = acc.builder();
  auto& v = b.values();
  std::vector<kernel::TensorId> parts;
  for (Type type : acc.types()) parts.push_back(b.shared("part", element_type(type), {warps}));
  ValueId lane = v.binary(Op::mod, thread, v.integer(32)),
          warp = v.binary(Op::floordiv, thread, v.integer(32));
  b.when(v.binary(Op::eq, lane, v.integer(0)), [&] {
    for (uint32_t f = 0; f < parts.size(); ++f) b.store({parts[f], {warp}}, acc.value(f, {}));
  });
  b.emit({kernel::Barrier{}});
  return parts;
}

std::vector<ValueId> load_part(Accumulator& acc, std::span<const kernel::TensorId> parts,
                               ValueId warp) {
  std::vector<ValueId> values;
  for (uint32_t f = 0; f < parts.size(); ++f)
    values.push_back(acc.builder().load("o", acc.types()[f], {parts[f], {warp}}));
  return values;
}

} // namespace

void put_before(Accumulator& acc, std::vector<ValueId> earlier, ValueId condition) {
  auto& v = acc.builder().values();
  std::vector<ValueId> later = values_of(acc);
  set(acc, earlier);
  acc.merge(state_of(later));
  if (!condition) return;
  for (uint32_t f = 0; f < later.size(); ++f)
    later[f] = v.select(condition, acc.value(f, {}), later[f]);
  set(acc, later);
}

void across_threads(Accumulator& acc, ValueId thread, int threads) {
  Builder& b = acc.builder();
  meet(acc, nullptr, thread, 32,
       [&](std::span<const ValueId> mine, int mask) { return shuffled(acc, mine, mask); });
  int warps = threads / 32;
  if (warps <= 1) return;
  auto parts = share_parts(acc, thread, warps);
  acc.init();
  b.loop("w", warps, LoopKind::unrolled,
         [&](ValueId w) { acc.merge(state_of(load_part(acc, parts, w))); });
}

void scan_threads(Accumulator& acc, Accumulator& before, ValueId thread, int threads) {
  Builder& b = acc.builder();
  auto& v = b.values();
  meet(acc, &before, thread, 32,
       [&](std::span<const ValueId> mine, int mask) { return shuffled(acc, mine, mask); });
  int warps = threads / 32;
  if (warps <= 1) return;
  auto parts = share_parts(acc, thread, warps);
  acc.init();
  // What the warps before this one hold together.
  std::vector<kernel::TensorId> held;
  for (Type type : acc.types()) held.push_back(b.registers("held", type, {}));
  auto hold = [&](ValueId condition) {
    for (uint32_t f = 0; f < held.size(); ++f) {
      ValueId value = acc.value(f, {});
      if (condition) value = v.select(condition, value, b.element(held[f]));
      b.store({held[f], {}}, value);
    }
  };
  hold({});
  ValueId warp = v.binary(Op::floordiv, thread, v.integer(32));
  b.loop("w", warps, LoopKind::unrolled, [&](ValueId w) {
    hold(v.binary(Op::eq, w, warp));
    acc.merge(state_of(load_part(acc, parts, w)));
  });
  std::vector<ValueId> earlier;
  for (kernel::TensorId id : held) earlier.push_back(b.element(id));
  put_before(before, std::move(earlier), {});
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

void Meeting::across(Accumulator& acc, ValueId thread, Accumulator* before) {
  auto& v = b_.values();
  std::vector<kernel::TensorId> rooms = rooms_of(acc.types());
  b_.emit({kernel::Barrier{}}); // until the reduction before has been read
  int turn = 0;
  meet(acc, before, thread, threads_, [&](std::span<const ValueId> mine, int mask) {
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
