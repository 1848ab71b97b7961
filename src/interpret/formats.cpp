#include "interpret/formats.h"
#include "base/check.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tang::interpret {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// A binary format below f64. The largest finite value has exponent `max_exponent` and a mantissa
/// of ones, except that f8e4m3 gives its last code to NaN.
struct Format {
  int mantissa;     ///< stored mantissa bits
  int exponent;     ///< exponent bits
  int min_exponent; ///< of the smallest normal number
  int max_exponent; ///< of the largest finite number
  double largest;
  bool saturates;
  bool has_infinity;
};

Format format_of(ElemType type) {
  switch (type) {
  case ElemType::f32: return {23, 8, -126, 127, 0x1.fffffep127, false, true};
  case ElemType::f16: return {10, 5, -14, 15, 65504, false, true};
  case ElemType::bf16: return {7, 8, -126, 127, 0x1.fep127, false, true};
  case ElemType::f8e4m3: return {3, 4, -6, 8, 448, true, false};
  case ElemType::f8e5m2: return {2, 5, -14, 15, 57344, true, true};
  case ElemType::f64:
  case ElemType::i64:
  case ElemType::i32:
  case ElemType::i16:
  case ElemType::i8:
  case ElemType::i4:
  case ElemType::u32:
  case ElemType::u8:
  case ElemType::u4:
  case ElemType::boolean: break;
  }
  TANG_CHECK(false, "`{}` is not a narrow real format", graph::info(type).name);
  return {};
}

int exponent_of(double x) {
  return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff) - 1023;
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

double overflow(const Format& f, double x) {
  return std::copysign(f.saturates ? f.largest : inf, x);
}

double round_narrow(const Format& f, double x) {
  if (x == 0 || std::isnan(x)) return x;
  int exponent = exponent_of(x);
  if (exponent > f.max_exponent) return overflow(f, x);
  // The spacing of the format at x; adding and subtracting 1.5 * 2^52 spacings rounds to a multiple
  // of it, ties to even, because a double has 53 bits.
  int spacing = std::max(exponent, f.min_exponent) - f.mantissa;
  double magic = 1.5 * power_of_two(spacing + 52);
  double y = std::copysign((x + magic) - magic, x);
  return std::abs(y) > f.largest ? overflow(f, x) : y;
}

/// Keeps 53 bits of `x` and sets the lowest when any bit is lost ("round to odd"), so that a second
/// rounding to fewer bits equals one rounding of `x`.
double to_odd(int64_t x) {
  uint64_t magnitude = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  int excess = 64 - std::countl_zero(magnitude) - 53;
  if (excess > 0) {
    uint64_t lost = magnitude & ((uint64_t{1} << excess) - 1);
    magnitude = (magnitude >> excess << excess) | (lost ? uint64_t{1} << excess : 0);
  }
  double y = static_cast<double>(magnitude);
  return x < 0 ? -y : y;
}

} // namespace

double round_to(ElemType type, double x) {
  if (type == ElemType::f64) return x;
  if (type == ElemType::f32) return static_cast<double>(static_cast<float>(x));
  return round_narrow(format_of(type), x);
}

namespace {

/// `x` as f32 without the lower bits of its word.
double cut(double x, uint32_t kept) {
  if (std::isnan(x)) return x;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & kept);
}

} // namespace

double cut_tf32(double x) {
  return cut(x, ~uint32_t{0x1fff});
}

double head_of(ElemType held, double x) {
  bool tf32 = held == ElemType::f32;
  TANG_CHECK(tf32 || held == ElemType::bf16, "`{}` holds no pieces", graph::info(held).name);
  const double largest = tf32 ? 0x1.ffcp127 : format_of(held).largest;
  if (std::isnan(x)) return largest;
  return cut(std::clamp(x, -largest, largest), tf32 ? ~uint32_t{0x1fff} : ~uint32_t{0xffff});
}

double rest_of(ElemType held, double x) {
  return round_to(held, x - head_of(held, x));
}

double split_product(const graph::Pieces& pieces, double a, double b) {
  TANG_CHECK(pieces.count == 2, "{} pieces of {}", pieces.count, pieces.name);
  auto f32 = [](double x) { return round_to(ElemType::f32, x); };
  auto read = [&](double x) { return pieces.held == ElemType::f32 ? cut_tf32(x) : x; };
  auto piece = [&](int index, double x) {
    return read(index == 0 ? head_of(pieces.held, x) : rest_of(pieces.held, x));
  };
  double sum = -0.0;
  for (auto [of_a, of_b] : pieces.products) sum = f32(sum + f32(piece(of_a, a) * piece(of_b, b)));
  return sum;
}

double round_integer_to(ElemType type, int64_t x) {
  return type == ElemType::f64 ? static_cast<double>(x) : round_to(type, to_odd(x));
}

int64_t to_integer(ElemType type, double x) {
  if (type == ElemType::boolean) return x != 0;
  if (std::isnan(x)) return 0;
  graph::IntRange range = graph::range_of(type);
  // Both ends are powers of two, or one below: comparing with lo and hi + 1 is exact in doubles.
  if (x <= static_cast<double>(range.lo)) return range.lo;
  double end =
      range.hi == std::numeric_limits<int64_t>::max() ? 0x1p63 : static_cast<double>(range.hi + 1);
  if (x >= end) return range.hi;
  return static_cast<int64_t>(x);
}

int64_t to_integer(ElemType type, int64_t x) {
  if (type == ElemType::boolean) return x != 0;
  graph::IntRange range = graph::range_of(type);
  return std::min(std::max(x, range.lo), range.hi);
}

uint64_t encode_real(ElemType type, double x) {
  if (type == ElemType::f64) return std::bit_cast<uint64_t>(x);
  if (type == ElemType::f32) return std::bit_cast<uint32_t>(static_cast<float>(x));
  Format f = format_of(type);
  uint64_t sign = static_cast<uint64_t>(std::signbit(x)) << (f.mantissa + f.exponent);
  uint64_t top = ((uint64_t{1} << f.exponent) - 1) << f.mantissa;
  if (std::isnan(x))
    return sign | top | (f.has_infinity ? uint64_t{1} << (f.mantissa - 1) : (1u << f.mantissa) - 1);
  double y = std::abs(round_narrow(f, x));
  if (std::isinf(y)) return sign | top;
  int exponent = std::max(y == 0 ? f.min_exponent : exponent_of(y), f.min_exponent);
  // The mantissa with its leading bit when normal; adding it carries that bit into the exponent.
  auto mantissa = static_cast<uint64_t>(y / power_of_two(exponent - f.mantissa));
  return sign | ((static_cast<uint64_t>(exponent - f.min_exponent) << f.mantissa) + mantissa);
}

double decode_real(ElemType type, uint64_t bits) {
  if (type == ElemType::f64) return std::bit_cast<double>(bits);
  if (type == ElemType::f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  Format f = format_of(type);
  double sign = bits >> (f.mantissa + f.exponent) & 1 ? -1 : 1;
  uint64_t top = (uint64_t{1} << f.exponent) - 1, exponent = bits >> f.mantissa & top;
  uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa) - 1);
  bool nan = f.has_infinity ? mantissa != 0 : mantissa == (uint64_t{1} << f.mantissa) - 1;
  if (exponent == top && nan) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == top && f.has_infinity) return sign * inf;
  uint64_t significand = exponent ? mantissa | uint64_t{1} << f.mantissa : mantissa;
  int scale = f.min_exponent - f.mantissa + static_cast<int>(exponent ? exponent - 1 : 0);
  return sign * static_cast<double>(significand) * power_of_two(scale);
}

} // namespace tang::interpret
