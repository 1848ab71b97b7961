#include "interpret/scalar_ops.h"
#include "base/check.h"
#include "base/checked.h"
#include <algorithm>
#include <cmath>

namespace tang::interpret {
namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min();

/// The remainder with the divisor's sign; 0 for divisor 0.
double mod(double a, double b) {
  if (b == 0) return std::isnan(a) ? a : 0;
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r;
}

/// floor of the exact quotient, not of the rounded one; 0 for divisor 0.
double floordiv(double a, double b) {
  if (b == 0) return std::isnan(a) ? a : 0;
  if (std::isinf(b)) return std::floor(a / b == 0 && a != 0 && (a < 0) != (b < 0) ? -1 : a / b);
  double q = (a - mod(a, b)) / b;
  double whole = std::floor(q);
  return q - whole > 0.5 ? whole + 1 : whole;
}

std::optional<int64_t> shift_left(int64_t a, int64_t n) {
  if (n <= -63) return a < 0 ? -1 : 0;
  if (n < 0) return a >> -n;
  if (a == 0) return 0;
  if (n >= 64) return std::nullopt;
  if (n == 63) return a == -1 ? std::optional(least) : std::nullopt;
  return checked_mul(a, int64_t{1} << n);
}

[[noreturn]] void wrong_op(Op op, const char* kind) {
  TANG_CHECK(false, "`{}` is no {}", graph::info(op).name, kind);
  std::abort();
}

} // namespace

double real_unary(Op op, double a) {
  switch (op) {
  case Op::neg: return -a;
  case Op::abs: return std::abs(a);
  case Op::sign: return std::isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : 0;
  case Op::floor: return std::floor(a);
  case Op::ceil: return std::ceil(a);
  case Op::round: return std::nearbyint(a);
  case Op::exp: return std::exp(a);
  case Op::exp2: return std::exp2(a);
  case Op::log: return std::log(a);
  case Op::log2: return std::log2(a);
  case Op::sqrt: return std::sqrt(a);
  case Op::rsqrt: return 1 / std::sqrt(a);
  case Op::sin: return std::sin(a);
  case Op::cos: return std::cos(a);
  case Op::tan: return std::tan(a);
  case Op::tanh: return std::tanh(a);
  case Op::erf: return std::erf(a);
  default: wrong_op(op, "function of one real");
  }
}

double real_binary(Op op, double a, double b) {
  switch (op) {
  case Op::add: return a + b;
  case Op::sub: return a - b;
  case Op::mul: return a * b;
  case Op::div: return a / b;
  case Op::min: return std::isnan(a) || a <= b ? a : b;
  case Op::max: return std::isnan(a) || a >= b ? a : b;
  case Op::floordiv: return floordiv(a, b);
  case Op::mod: return mod(a, b);
  case Op::pow: return std::pow(a, b);
  case Op::atan2: return std::atan2(a, b);
  default: wrong_op(op, "function of two reals");
  }
}

bool real_compare(Op op, double a, double b) {
  switch (op) {
  case Op::eq: return a == b;
  case Op::ne: return a != b;
  case Op::lt: return a < b;
  case Op::le: return a <= b;
  default: wrong_op(op, "comparison");
  }
}

bool integer_compare(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::eq: return a == b;
  case Op::ne: return a != b;
  case Op::lt: return a < b;
  case Op::le: return a <= b;
  default: wrong_op(op, "comparison");
  }
}

std::optional<int64_t> integer_unary(Op op, int64_t a) {
  switch (op) {
  case Op::neg: return checked_sub(0, a);
  case Op::abs: return a < 0 ? checked_sub(0, a) : a;
  case Op::sign: return (a > 0) - (a < 0);
  default: wrong_op(op, "function of one integer");
  }
}

std::optional<int64_t> integer_binary(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::add: return checked_add(a, b);
  case Op::sub: return checked_sub(a, b);
  case Op::mul: return checked_mul(a, b);
  case Op::min: return std::min(a, b);
  case Op::max: return std::max(a, b);
  case Op::floordiv: return tang::floordiv(a, b);
  case Op::mod: return floormod(a, b);
  case Op::bit_and: return a & b;
  case Op::bit_or: return a | b;
  case Op::bit_xor: return a ^ b;
  case Op::shl: return shift_left(a, b);
  case Op::shr:
    return b == least ? (a == 0 ? std::optional<int64_t>(0) : std::nullopt) : shift_left(a, -b);
  default: wrong_op(op, "function of two integers");
  }
}

} // namespace tang::interpret
