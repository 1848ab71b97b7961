// Ranges of dims against their values, one by one.
#include "graph/dims.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <sstream>

using namespace tang::graph;

namespace {

bool holds(const Dim& dim, int64_t value) {
  return dim.lo <= value && value <= dim.hi && value % dim.step == 0;
}

constexpr int64_t most = 60;

std::vector<int64_t> values_of(const Dim& dim) {
  std::vector<int64_t> values;
  for (int64_t v = 0; v <= most; ++v)
    if (holds(dim, v)) values.push_back(v);
  return values;
}

/// What a text of comparisons joined by `&&` says about a value.
bool says(const std::string& text, int64_t value) {
  std::istringstream in(text);
  std::string name, op;
  while (in >> name) {
    if (name == "&&") continue;
    int64_t number = 0, left = value;
    in >> op >> number;
    if (op == "%") {
      left = value % number;
      in >> op >> number;
    }
    bool holds = op == "==" ? left == number : op == ">=" ? left >= number : left <= number;
    if (!holds) return false;
  }
  return true;
}

} // namespace

TEST_CASE("ranges of dims are sets of values", "[graph][dims]") {
  std::mt19937 random(7);
  auto any = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  auto any_dim = [&] {
    int64_t lo = any(0, 20);
    return Dim{"S", lo, lo + any(0, 40), any(0, 2) ? any(1, 9) : 1, {}};
  };
  int covered = 0, empty = 0;
  for (int round = 0; round < 4000; ++round) {
    Dim a = any_dim(), b = any_dim();
    if (values_of(a).empty() || values_of(b).empty()) continue;
    INFO(a.lo << ".." << a.hi << " step " << a.step << " and " << b.lo << ".." << b.hi << " step "
              << b.step);
    std::vector<int64_t> both, in_a = values_of(a), in_b = values_of(b);
    std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                          std::back_inserter(both));
    auto meeting = meet(a, b);
    REQUIRE(meeting.has_value() == !both.empty());
    REQUIRE(covers(b, a) == (both == in_a));
    covered += covers(b, a), empty += both.empty();
    if (!meeting) continue;
    REQUIRE(values_of(*meeting) == both);
    REQUIRE(meeting->lo == both.front());
    REQUIRE(meeting->hi == both.back());
    std::string text = condition_text(*meeting, a, "S");
    INFO(text);
    REQUIRE(text.empty() == (both == in_a));
    for (int64_t v : in_a) REQUIRE(says(text, v) == holds(*meeting, v));
  }
  CHECK(covered > 50);
  CHECK(empty > 50);
}

TEST_CASE("steps beyond 64 bits leave nothing but 0", "[graph][dims]") {
  constexpr int64_t huge = (int64_t{1} << 62) - 1;
  Dim a{"S", 0, INT64_MAX, huge, {}}, b{"S", 0, INT64_MAX, huge - 1, {}};
  auto both = meet(a, b);
  REQUIRE(both);
  CHECK((both->lo == 0 && both->hi == 0));
  b.lo = 1;
  CHECK_FALSE(meet(a, b));
}
