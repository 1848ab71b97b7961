#include "interpret/formats.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace tang::interpret;
using tang::graph::ElemType;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// All finite non-negative values of a format in ascending order, by its codes.
std::vector<double> values_of(ElemType type, unsigned codes) {
  std::vector<double> values;
  for (unsigned bits = 0; bits < codes / 2; ++bits) {
    double x = decode_real(type, bits);
    if (std::isfinite(x)) values.push_back(x);
  }
  return values;
}

} // namespace

TEST_CASE("every code of the narrow formats survives decoding and encoding") {
  for (auto [type, codes] : {std::pair{ElemType::f16, 1u << 16},
                             {ElemType::bf16, 1u << 16},
                             {ElemType::f8e4m3, 1u << 8},
                             {ElemType::f8e5m2, 1u << 8}})
    for (unsigned bits = 0; bits < codes; ++bits) {
      double x = decode_real(type, bits);
      if (std::isnan(x)) {
        REQUIRE(std::isnan(decode_real(type, encode_real(type, x))));
      } else if (std::isinf(x) && type == ElemType::f8e5m2) {
        REQUIRE(std::abs(round_to(type, x)) == 57344); // saturates
      } else {
        REQUIRE(round_to(type, x) == x);
        REQUIRE(encode_real(type, x) == bits);
      }
    }
}

TEST_CASE("rounding goes to the nearest value, midpoints to the even code") {
  for (auto [type, codes] : {std::pair{ElemType::f16, 1u << 16},
                             {ElemType::bf16, 1u << 16},
                             {ElemType::f8e4m3, 1u << 8},
                             {ElemType::f8e5m2, 1u << 8}}) {
    auto values = values_of(type, codes);
    for (size_t n = 0; n + 1 < values.size(); ++n) {
      double lo = values[n], hi = values[n + 1];
      REQUIRE(lo < hi);
      double middle = lo + (hi - lo) / 2;
      double even = n % 2 == 0 ? lo : hi; // the code of values[n] is n
      for (double sign : {1.0, -1.0}) {
        REQUIRE(round_to(type, sign * middle) == sign * even);
        REQUIRE(round_to(type, sign * std::nextafter(middle, 0)) == sign * lo);
        REQUIRE(round_to(type, sign * std::nextafter(middle, inf)) == sign * hi);
      }
    }
  }
}

TEST_CASE("overflow: f16 and bf16 go to infinity, f8 saturates") {
  CHECK(round_to(ElemType::f16, 65519.99) == 65504);
  CHECK(round_to(ElemType::f16, 65520) == inf);
  CHECK(round_to(ElemType::f16, -1e300) == -inf);
  CHECK(round_to(ElemType::bf16, 0x1.ffp127) == inf);
  CHECK(round_to(ElemType::bf16, 0x1.feffp127) == 0x1.fep127);
  CHECK(round_to(ElemType::f8e4m3, 1e9) == 448);
  CHECK(round_to(ElemType::f8e4m3, -inf) == -448);
  CHECK(round_to(ElemType::f8e4m3, 470) == 448);
  CHECK(round_to(ElemType::f8e5m2, inf) == 57344);
  CHECK(round_to(ElemType::f8e5m2, 65000) == 57344);
  CHECK(round_to(ElemType::f32, 1e300) == inf);
  CHECK(std::isnan(round_to(ElemType::f8e4m3, NAN)));
  CHECK(std::isnan(round_to(ElemType::f16, NAN)));
  CHECK(std::signbit(round_to(ElemType::f16, -0.0)));
  CHECK(std::signbit(round_to(ElemType::f16, -1e-30)));
  CHECK(round_to(ElemType::f16, 5e-324) == 0);
}

TEST_CASE("one rounding, not two") {
  // In f32 this is the midpoint between two f16 values, and would then go to the even one below.
  double x = 1 + 0x1p-11 + 0x1p-30;
  CHECK(static_cast<double>(static_cast<float>(x)) == 1 + 0x1p-11);
  CHECK(round_to(ElemType::f16, x) == 1 + 0x1p-10);
  // The same through f64 for integers above 2^53.
  int64_t n = (int64_t{1} << 60) + (int64_t{1} << 52) + 1;
  CHECK(round_integer_to(ElemType::bf16, n) == 0x1p60 + 0x1p53);
  CHECK(round_integer_to(ElemType::bf16, -n) == -(0x1p60 + 0x1p53));
  CHECK(round_integer_to(ElemType::f64, std::numeric_limits<int64_t>::min()) == -0x1p63);
}

TEST_CASE("conversion to integers truncates and saturates") {
  CHECK(to_integer(ElemType::i8, 300.0) == 127);
  CHECK(to_integer(ElemType::i8, int64_t{300}) == 127);
  CHECK(to_integer(ElemType::i8, -1e9) == -128);
  CHECK(to_integer(ElemType::i4, 7.9) == 7);
  CHECK(to_integer(ElemType::i4, 8.0) == 7);
  CHECK(to_integer(ElemType::i4, -8.9) == -8);
  CHECK(to_integer(ElemType::u4, 99.0) == 15);
  CHECK(to_integer(ElemType::u8, -0.5) == 0);
  CHECK(to_integer(ElemType::i32, 2.9) == 2);
  CHECK(to_integer(ElemType::i32, -2.9) == -2);
  CHECK(to_integer(ElemType::i32, NAN) == 0);
  CHECK(to_integer(ElemType::i64, 1e30) == std::numeric_limits<int64_t>::max());
  CHECK(to_integer(ElemType::i64, -inf) == std::numeric_limits<int64_t>::min());
  CHECK(to_integer(ElemType::u32, 4294967295.9) == 4294967295);
  CHECK(to_integer(ElemType::boolean, 0.5) == 1);
  CHECK(to_integer(ElemType::boolean, int64_t{0}) == 0);
}
