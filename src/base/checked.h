#pragma once
// 64-bit integer arithmetic that says when it overflows.
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace tang {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<int64_t> checked_sub(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

/// Floor division and the remainder with the divisor's sign; both give 0 for divisor 0
/// (language.md, section 5). INT64_MIN / -1 saturates.
inline int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1)
    return a == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -a;
  int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}
inline int64_t floormod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}
/// The greatest common divisor that 64 bits hold: of INT64_MIN with itself or 0 that is 2^62.
inline int64_t common_divisor(int64_t a, int64_t b) {
  auto magnitude = [](int64_t n) { return n < 0 ? -static_cast<uint64_t>(n) : uint64_t(n); };
  uint64_t g = std::gcd(magnitude(a), magnitude(b));
  return static_cast<int64_t>(g >> 63 ? g >> 1 : g);
}
inline int64_t ceildiv(int64_t a, int64_t b) {
  return -floordiv(-a, b);
}

} // namespace tang
