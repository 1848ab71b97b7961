#include "kernel/var_range.h"
#include "kernel/interval.h"

namespace tang::kernel {

VarRange range_of_let(const ValueStore& store, ValueId value) {
  Type type = store[value].type;
  if (!is_integer(type)) return {};
  IntRange range = store.range(value), all;
  // What a format holds is no knowledge.
  if (type == Type::i32) all = graph::range_of(ElemType::i32);
  VarRange result;
  if (range.lo > all.lo) result.lo = range.lo;
  if (range.hi < all.hi) result.hi = range.hi;
  return result;
}

VarRange range_of_loop(const ValueStore& store, ValueId begin, ValueId end) {
  VarRange first = range_of_let(store, begin), last = range_of_let(store, end);
  if (last.hi && *last.hi > unbounded_below)
    last.hi = first.lo ? std::max(*last.hi - 1, *first.lo) : *last.hi - 1;
  return {first.lo, last.hi};
}

VarRange range_of_coordinate(const ValueStore& store, ValueId extent) {
  VarRange below = range_of_let(store, extent);
  if (below.hi) below.hi = std::max<int64_t>(*below.hi, 1) - 1;
  return {0, below.hi};
}

} // namespace tang::kernel
