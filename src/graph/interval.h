#pragma once
// Arithmetic on ranges of integers. An end at the limit of 64 bits means "no bound": it absorbs
// what is added to it, so a sum never claims more than is known.
#include "graph/type.h"

namespace tang::graph::interval {

inline IntRange point(int64_t value) {
  return {value, value};
}
IntRange add(IntRange a, IntRange b);
IntRange negate(IntRange a);
IntRange multiply(IntRange a, IntRange b);
IntRange min(IntRange a, IntRange b);
IntRange max(IntRange a, IntRange b);
IntRange absolute(IntRange a);
IntRange floordiv(IntRange a, IntRange b);
IntRange mod(IntRange a, IntRange b);
/// The least and the greatest multiple of `step` inside; an end without bound stays so.
IntRange multiples(IntRange a, int64_t step);
/// The smallest range that covers both.
IntRange hull(IntRange a, IntRange b);
/// What both allow; when they exclude each other, `a` (an empty index space proves nothing).
IntRange meet(IntRange a, IntRange b);

} // namespace tang::graph::interval
