#include "base/inline_vector.h"
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using List = tang::InlineVector<uint32_t, 3>;

namespace {

bool same(const List& list, const std::vector<uint32_t>& expected) {
  return std::equal(list.begin(), list.end(), expected.begin(), expected.end()) &&
         std::equal(list.rbegin(), list.rend(), expected.rbegin(), expected.rend()) &&
         list.empty() == expected.empty();
}

} // namespace

TEST_CASE("an inline vector holds what a vector would", "[inline_vector]") {
  std::mt19937 random(7);
  List list;
  std::vector<uint32_t> expected;
  for (int step = 0; step < 20000; ++step) {
    uint32_t value = random() % 5;
    switch (random() % 8) {
    case 0:
    case 1:
    case 2: list.push_back(value), expected.push_back(value); break;
    case 3:
      if (!expected.empty()) list.pop_back(), expected.pop_back();
      break;
    case 4:
      if (!expected.empty()) {
        auto at = random() % expected.size();
        list.erase(list.begin() + at), expected.erase(expected.begin() + at);
      }
      break;
    case 5: {
      List copy = list, other{1, 2, 3, 4};
      REQUIRE(copy == list);
      other = copy;
      REQUIRE(same(other, expected));
      List moved = std::move(other);
      REQUIRE(same(moved, expected));
      list = std::move(moved);
      break;
    }
    case 6: {
      const List& self = list;
      list = self;
      break;
    }
    default:
      if (random() % 20 == 0) list.clear(), expected.clear();
    }
    REQUIRE(list.size() == expected.size());
    REQUIRE(same(list, expected));
  }
}

TEST_CASE("inline vectors are ordered as vectors are", "[inline_vector]") {
  const std::vector<std::vector<uint32_t>> lists = {{},     {0},       {0, 0},         {0, 1},
                                                    {1},    {1, 0},    {1, 2, 3},      {1, 2, 3, 4},
                                                    {1, 3}, {2, 0, 0}, {2, 0, 0, 0, 9}};
  for (const auto& a : lists)
    for (const auto& b : lists) {
      List x(a.begin(), a.end()), y(b.begin(), b.end());
      CHECK((x < y) == (a < b));
      CHECK((x == y) == (a == b));
      CHECK((x > y) == (a > b));
    }
}

TEST_CASE("an inline vector of strings holds what a vector would", "[inline_vector]") {
  // Values that own memory: what is not destroyed leaks, what is destroyed twice crashes.
  using Names = tang::InlineVector<std::string, 2>;
  std::mt19937 random(5);
  Names list;
  std::vector<std::string> expected;
  for (int step = 0; step < 5000; ++step) {
    std::string name =
        "a name that is too long to lie in the string " + std::to_string(random() % 7);
    auto at = static_cast<std::ptrdiff_t>(random() % (expected.size() + 1));
    switch (random() % 8) {
    case 0:
    case 1: list.push_back(name), expected.push_back(name); break;
    case 2:
    case 3:
      list.insert(list.begin() + at, name), expected.insert(expected.begin() + at, name);
      break;
    case 4:
      list.erase(list.begin() + at, list.end()),
          expected.erase(expected.begin() + at, expected.end());
      break;
    case 5: CHECK(erase(list, name) == std::erase(expected, name)); break;
    case 6: {
      Names copy = list, moved = std::move(list);
      REQUIRE(copy == moved);
      REQUIRE(list.empty());
      list = std::move(copy);
      list.append(moved.begin(), moved.end());
      expected.insert(expected.end(), moved.begin(), moved.end());
      if (random() % 2 == 0) list.assign(moved.begin(), moved.end()), expected.resize(moved.size());
      break;
    }
    default:
      list.resize(static_cast<size_t>(at), name), expected.resize(static_cast<size_t>(at), name);
    }
    REQUIRE(std::equal(list.begin(), list.end(), expected.begin(), expected.end()));
  }
}
