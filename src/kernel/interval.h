#pragma once
// Interval arithmetic on integers. The least and greatest int64 stand for "unbounded".
#include "base/checked.h"
#include "graph/type.h"
#include <algorithm>

namespace tang::kernel {

using graph::IntRange;

constexpr int64_t unbounded_below = std::numeric_limits<int64_t>::min();
constexpr int64_t unbounded_above = std::numeric_limits<int64_t>::max();

inline bool is_bounded(IntRange r) {
  return r.lo != unbounded_below && r.hi != unbounded_above;
}

inline IntRange add(IntRange a, IntRange b) {
  IntRange r;
  if (a.lo != unbounded_below && b.lo != unbounded_below)
    r.lo = checked_add(a.lo, b.lo).value_or(unbounded_below);
  if (a.hi != unbounded_above && b.hi != unbounded_above)
    r.hi = checked_add(a.hi, b.hi).value_or(unbounded_above);
  return r;
}

inline IntRange negate(IntRange a) {
  return {a.hi == unbounded_above ? unbounded_below : -a.hi,
          a.lo == unbounded_below ? unbounded_above : -a.lo};
}

/// Scales by a constant; 0 gives the point 0.
inline IntRange scale(IntRange a, int64_t c) {
  if (c == 0) return {0, 0};
  if (c < 0) {
    if (c == unbounded_below) return {};
    return scale(negate(a), -c);
  }
  IntRange r;
  if (a.lo != unbounded_below) r.lo = checked_mul(a.lo, c).value_or(unbounded_below);
  if (a.hi != unbounded_above) r.hi = checked_mul(a.hi, c).value_or(unbounded_above);
  return r;
}

inline IntRange multiply(IntRange a, IntRange b) {
  if (a.lo == a.hi) return scale(b, a.lo);
  if (b.lo == b.hi) return scale(a, b.lo);
  if (a.lo >= 0 && b.lo >= 0) {
    IntRange r{checked_mul(a.lo, b.lo).value_or(unbounded_above), unbounded_above};
    if (a.hi != unbounded_above && b.hi != unbounded_above)
      r.hi = checked_mul(a.hi, b.hi).value_or(unbounded_above);
    return r;
  }
  if (!is_bounded(a) || !is_bounded(b)) return {};
  IntRange r{unbounded_above, unbounded_below};
  for (int64_t x : {a.lo, a.hi})
    for (int64_t y : {b.lo, b.hi}) {
      auto p = checked_mul(x, y);
      if (!p) return {};
      r = {std::min(r.lo, *p), std::max(r.hi, *p)};
    }
  return r;
}

/// Floor division by a positive constant.
inline IntRange divide(IntRange a, int64_t c) {
  IntRange r;
  if (a.lo != unbounded_below) r.lo = floordiv(a.lo, c);
  if (a.hi != unbounded_above) r.hi = floordiv(a.hi, c);
  return r;
}

inline IntRange join(IntRange a, IntRange b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

} // namespace tang::kernel
