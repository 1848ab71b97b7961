// Conversions between storage formats and f32, exhaustively against other code.
#include "print/tables.h"
#include "run.h"
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang;
using namespace tang::print_test;
using graph::ElemType;
using kernel::Type;

namespace {

kernel::ValueId same(kernel::ValueStore&, kernel::ValueId x) {
  return x;
}

struct Format {
  ElemType type;
  int mantissa, bias, exponent_bits;
  bool infinities; ///< the largest exponent holds infinity and NaN; else only all ones is NaN
};
constexpr Format formats[] = {{ElemType::f16, 10, 15, 5, true},
                              {ElemType::bf16, 7, 127, 8, true},
                              {ElemType::f8e4m3, 3, 7, 4, false},
                              {ElemType::f8e5m2, 2, 15, 5, true}};

int code_bits(const Format& f) {
  return 1 + f.exponent_bits + f.mantissa;
}

/// The value of a code, from the definition of the format.
double value_of(const Format& f, uint32_t code) {
  int sign = code >> (code_bits(f) - 1) & 1;
  int exponent = code >> f.mantissa & ((1 << f.exponent_bits) - 1);
  int fraction = code & ((1 << f.mantissa) - 1);
  double magnitude = 0;
  int most = (1 << f.exponent_bits) - 1;
  if (exponent == most && f.infinities)
    magnitude = fraction ? NAN : INFINITY;
  else if (exponent == most && fraction == (1 << f.mantissa) - 1)
    magnitude = NAN;
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 1 - f.bias - f.mantissa);
  else
    magnitude = std::ldexp(fraction + (1 << f.mantissa), exponent - f.bias - f.mantissa);
  return sign ? -magnitude : magnitude;
}

Bytes pack(const Format& f, const std::vector<uint32_t>& codes) {
  Bytes bytes;
  for (uint32_t code : codes) {
    bytes.push_back(static_cast<uint8_t>(code));
    if (code_bits(f) == 16) bytes.push_back(static_cast<uint8_t>(code >> 8));
  }
  return bytes;
}

/// Every code's value, the midpoints to the next code, and their neighbours among `T`.
template <class T>
std::vector<T> interesting(const Format& f) {
  std::vector<T> values{T(NAN), T(INFINITY), -T(INFINITY), T(0),
                        -T(0),  T(1e30),     T(-1e30),     T(1e-40)};
  for (uint32_t code = 0; code + 1 < 1u << (code_bits(f) - 1); ++code) {
    double a = value_of(f, code), b = value_of(f, code + 1);
    if (!std::isfinite(a)) continue;
    if (!std::isfinite(b)) b = a + (a - value_of(f, code - 1));
    for (double v : {a, (a + b) / 2}) {
      T x = static_cast<T>(v);
      for (T y : {x, std::nextafter(x, T(0)), std::nextafter(x, T(INFINITY))}) {
        values.push_back(y);
        values.push_back(-y);
      }
    }
  }
  return values;
}

template <class T>
void check_store(const Format& f, Type type, ElemType source) {
  std::vector<T> values = interesting<T>(f);
  Bytes out(values.size() * static_cast<size_t>(code_bits(f) / 8), 0xee);
  auto result = execute_c(pointwise(source, type, f.type, same),
                          {static_cast<int64_t>(values.size())}, {bytes_of(values), out});
  if (result.empty()) return;
  size_t faults = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t code =
        code_bits(f) == 16 ? result[1][2 * i] | result[1][2 * i + 1] << 8 : result[1][i];
    uint32_t expected = print::encode(f.type, static_cast<double>(values[i]));
    bool both_nan = std::isnan(values[i]) && std::isnan(value_of(f, code));
    if (code != expected && !both_nan && faults++ < 5) {
      INFO(graph::info(f.type).name << " of " << values[i]);
      CHECK(code == expected);
    }
  }
  CHECK(faults == 0);
}

} // namespace

TEST_CASE("every code of a short float loads as its value", "[print][formats]") {
  for (const Format& f : formats) {
    std::vector<uint32_t> codes(1u << code_bits(f));
    for (uint32_t i = 0; i < codes.size(); ++i) codes[i] = i;
    std::vector<float> out(codes.size());
    auto result = execute_c(pointwise(f.type, Type::f32, ElemType::f32, same),
                            {static_cast<int64_t>(codes.size())}, {pack(f, codes), bytes_of(out)});
    if (result.empty()) return;
    out = numbers_of<float>(result[1]);
    size_t faults = 0;
    for (uint32_t code : codes) {
      double expected = value_of(f, code);
      bool right = std::isnan(expected)
                       ? std::isnan(out[code])
                       : out[code] == expected && std::signbit(out[code]) == std::signbit(expected);
      if (!right && faults++ < 5) {
        INFO(graph::info(f.type).name << " code " << code);
        CHECK(out[code] == expected);
      }
    }
    CHECK(faults == 0);
  }
}

TEST_CASE("stores to short floats round once, to nearest, ties to even", "[print][formats]") {
  for (const Format& f : formats) {
    check_store<float>(f, Type::f32, ElemType::f32);
    check_store<double>(f, Type::f64, ElemType::f64);
  }
}

TEST_CASE("encoded tables agree with the formats' definition", "[print][formats]") {
  for (const Format& f : formats)
    for (uint32_t code = 0; code < 1u << code_bits(f); ++code) {
      double value = value_of(f, code);
      if (std::isfinite(value) && print::encode(f.type, value) != code)
        CHECK(print::encode(f.type, value) == code);
    }
  CHECK(print::encode(ElemType::f16, 65519.99) == 0x7bff);
  CHECK(print::encode(ElemType::f16, 65520) == 0x7c00);
  CHECK(print::encode(ElemType::f8e4m3, 1e9) == 0x7e);
  CHECK(print::encode(ElemType::f8e5m2, -INFINITY) == 0xfb);
}
