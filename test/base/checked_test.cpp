#include "base/checked.h"
#include <catch2/catch.hpp>

using namespace tang;

TEST_CASE("a common divisor divides both numbers, at the ends of 64 bits too") {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    most = std::numeric_limits<int64_t>::max();
  for (int64_t a : {least, least + 1, int64_t{-12}, int64_t{-1}, int64_t{0}, int64_t{18}, most})
    for (int64_t b : {least, least + 1, int64_t{-12}, int64_t{-1}, int64_t{0}, int64_t{18}, most}) {
      int64_t g = common_divisor(a, b);
      CAPTURE(a, b, g);
      CHECK(g == common_divisor(b, a));
      if (a == 0 && b == 0) {
        CHECK(g == 0);
        continue;
      }
      REQUIRE(g > 0);
      CHECK(a % g == 0);
      CHECK(b % g == 0);
    }
  CHECK(common_divisor(-12, 18) == 6);
  CHECK(common_divisor(least, 0) == int64_t{1} << 62);
}
