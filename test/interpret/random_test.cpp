#include "interpret/formats.h"
#include "interpret/random.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang::interpret;
using namespace tang::graph;

namespace {

Tensor tensor_of(ElemType type) {
  Tensor t;
  t.type = type;
  return t;
}

} // namespace

TEST_CASE("the generator is the documented one") {
  // Recomputed with Python from the text of random.h.
  CHECK(random_word(0, 0, 0, 0) == 0x2130748aaac80268u);
  CHECK(random_word(42, 3, 7, 2) == 0xb79965ae1e9e15b7u);
  CHECK(random_normal(1, 2, 3) == -0.135040283203125);
  CHECK(random_integer(1, 2, 3, {-5, 10}) == -3);
}

TEST_CASE("reals look like N(0, 1) and are rounded to their type") {
  Array a = random_array(tensor_of(ElemType::bf16), {100, 100}, 7, 1);
  double sum = 0, squares = 0;
  for (double x : a.reals) {
    REQUIRE(round_to(ElemType::bf16, x) == x);
    sum += x, squares += x * x;
  }
  CHECK(std::abs(sum / 10000) < 0.05);
  CHECK(std::abs(squares / 10000 - 1) < 0.05);
}

TEST_CASE("an element does not depend on the shape around it") {
  Array a = random_array(tensor_of(ElemType::f32), {17}, 7, 1);
  Array b = random_array(tensor_of(ElemType::f32), {3}, 7, 1);
  CHECK(std::equal(b.reals.begin(), b.reals.end(), a.reals.begin()));
  CHECK(random_array(tensor_of(ElemType::f32), {17}, 8, 1).reals != a.reals);
  CHECK(random_array(tensor_of(ElemType::f32), {17}, 7, 2).reals != a.reals);
}

TEST_CASE("integers fill their range and nothing else") {
  for (ElemType type : {ElemType::i4, ElemType::u4, ElemType::i8, ElemType::u8, ElemType::i32}) {
    Array a = random_array(tensor_of(type), {5000}, 1, 0);
    auto [lo, hi] = std::minmax_element(a.integers.begin(), a.integers.end());
    IntRange held = range_of(type);
    CHECK(*lo == std::max<int64_t>(held.lo, is_signed(type) ? -128 : 0));
    CHECK(*hi == std::min<int64_t>(held.hi, is_signed(type) ? 127 : 255));
  }
  Tensor t = tensor_of(ElemType::i64);
  t.range = IntRange{3, 5};
  t.sorted = true;
  Array a = random_array(t, {100}, 1, 0);
  CHECK(std::is_sorted(a.integers.begin(), a.integers.end()));
  CHECK(a.integers.front() == 3);
  CHECK(a.integers.back() == 5);
  t.range = IntRange{};
  t.sorted = false;
  Array wide = random_array(t, {100}, 1, 0);
  CHECK(std::any_of(wide.integers.begin(), wide.integers.end(), [](int64_t x) { return x < 0; }));
  Array bits = random_array(tensor_of(ElemType::boolean), {100}, 1, 0);
  CHECK(std::count(bits.integers.begin(), bits.integers.end(), 1) > 20);
  CHECK(random_array(tensor_of(ElemType::f32), {0, 4}, 1, 0).size() == 0);
}
