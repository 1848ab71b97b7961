#include "graph/interval.h"
#include "base/checked.h"
#include <algorithm>

namespace tang::graph::interval {
namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t greatest = std::numeric_limits<int64_t>::max();

int64_t negate_end(int64_t a) {
  if (a == least) return greatest;
  return a == greatest ? least : -a;
}

/// A product of ends; 0 times "no bound" is 0, because the bounded factor is 0.
int64_t multiply_ends(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  bool unbounded = a == least || a == greatest || b == least || b == greatest;
  auto product = unbounded ? std::nullopt : checked_mul(a, b);
  if (product) return *product;
  return (a < 0) == (b < 0) ? greatest : least;
}

} // namespace

IntRange add(IntRange a, IntRange b) {
  IntRange r;
  if (a.lo != least && b.lo != least)
    r.lo = checked_add(a.lo, b.lo).value_or(a.lo < 0 ? least : greatest);
  if (a.hi != greatest && b.hi != greatest)
    r.hi = checked_add(a.hi, b.hi).value_or(a.hi < 0 ? least : greatest);
  // A lower end beyond 64 bits is still only known to be large.
  if (r.lo == greatest) r.lo = greatest - 1;
  if (r.hi == least) r.hi = least + 1;
  return r;
}

IntRange negate(IntRange a) {
  return {negate_end(a.hi), negate_end(a.lo)};
}

IntRange multiply(IntRange a, IntRange b) {
  auto corners = {multiply_ends(a.lo, b.lo), multiply_ends(a.lo, b.hi), multiply_ends(a.hi, b.lo),
                  multiply_ends(a.hi, b.hi)};
  return {std::min(corners), std::max(corners)};
}

IntRange min(IntRange a, IntRange b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}

IntRange max(IntRange a, IntRange b) {
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

IntRange absolute(IntRange a) {
  if (a.lo >= 0) return a;
  IntRange n = negate(a);
  if (a.hi <= 0) return n;
  return {0, std::max(a.hi, n.hi)};
}

IntRange floordiv(IntRange a, IntRange b) {
  if (b.lo <= 0) {
    // The magnitude of a quotient is at most that of the dividend (0 for divisor 0).
    IntRange m = absolute(a);
    return hull(m, negate(m));
  }
  auto divide = [](int64_t x, int64_t y) {
    if (x == least || x == greatest) return y == greatest ? (x < 0 ? least : greatest) : x;
    return y == greatest ? (x < 0 ? int64_t{-1} : int64_t{0}) : tang::floordiv(x, y);
  };
  auto corners = {divide(a.lo, b.lo), divide(a.lo, b.hi), divide(a.hi, b.lo), divide(a.hi, b.hi)};
  return {std::min(corners), std::max(corners)};
}

IntRange mod(IntRange a, IntRange b) {
  if (b.lo < 0) return {b.lo == least ? least : b.lo + 1, std::max<int64_t>(0, b.hi - 1)};
  if (a.lo >= 0 && a.hi < b.lo) return a;
  int64_t top = b.hi == greatest ? greatest : std::max<int64_t>(0, b.hi - 1);
  return {0, a.lo >= 0 ? std::min(top, a.hi) : top};
}

IntRange multiples(IntRange a, int64_t step) {
  const IntRange all;
  return {a.lo == all.lo ? a.lo : ceildiv(a.lo, step) * step,
          a.hi == all.hi ? a.hi : tang::floordiv(a.hi, step) * step};
}

IntRange hull(IntRange a, IntRange b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

IntRange meet(IntRange a, IntRange b) {
  IntRange r{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return r.lo <= r.hi ? r : a;
}

} // namespace tang::graph::interval
