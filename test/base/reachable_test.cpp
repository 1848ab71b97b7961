#include "base/reachable.h"
#include <catch2/catch.hpp>
#include <random>
#include <set>

using tang::reachable_ids;
using NodeId = tang::Id<struct NodeTag>;

namespace {

std::vector<NodeId> ids(const std::vector<uint32_t>& numbers) {
  std::vector<NodeId> list;
  for (uint32_t n : numbers) list.emplace_back(n);
  return list;
}

} // namespace

TEST_CASE("what is reached comes once, operands first", "[reachable]") {
  // 0 and 1 are leaves; nobody uses 3.
  const std::vector<std::vector<NodeId>> operands = {ids({}),     ids({}),  ids({0, 1}), ids({2}),
                                                     ids({2, 2}), ids({4}), ids({5, 0})};
  auto operands_of = [&](NodeId id) -> const auto& {
    return operands[id.value];
  };
  auto from = [&](const std::vector<NodeId>& roots) {
    return reachable_ids(std::span<const NodeId>(roots), operands_of);
  };
  CHECK(from(ids({6})) == ids({0, 1, 2, 4, 5, 6}));
  CHECK(from(ids({2, 6, 2})) == ids({0, 1, 2, 4, 5, 6}));
  CHECK(from(ids({1})) == ids({1}));
  CHECK(from({NodeId(), NodeId(0)}) == ids({0})); // an id that names nothing leads nowhere
  CHECK(from({}).empty());
}

TEST_CASE("a doubling DAG is walked once for each node", "[reachable]") {
  constexpr uint32_t levels = 5000;
  std::vector<std::vector<NodeId>> operands{{}};
  for (uint32_t n = 0; n < levels; ++n) operands.push_back({NodeId(n), NodeId(n)});
  size_t asked = 0;
  NodeId root(levels);
  auto found = reachable_ids(
      std::span<const NodeId>(&root, 1), [&](NodeId id) -> const auto& {
        ++asked;
        return operands[id.value];
      });
  CHECK(found.size() == levels + 1);
  CHECK(asked == levels + 1);
}

TEST_CASE("few roots and many roots reach what a plain search reaches", "[reachable]") {
  // The number of roots and the size of the store decide how the walk is done.
  std::mt19937 random(11);
  for (uint32_t size : {1u, 63u, 64u, 65u, 1024u, 1025u, 4000u}) {
    std::vector<std::vector<NodeId>> operands(size);
    for (uint32_t n = 1; n < size; ++n)
      for (uint32_t k = random() % 4; k > 0; --k) operands[n].emplace_back(random() % n);
    for (uint32_t count : {1u, 3u, 100u}) {
      std::vector<NodeId> roots;
      for (uint32_t k = 0; k < count; ++k) roots.emplace_back(random() % size);
      std::set<NodeId> expected;
      std::vector<NodeId> open = roots;
      while (!open.empty()) {
        NodeId id = open.back();
        open.pop_back();
        if (!expected.insert(id).second) continue;
        open.insert(open.end(), operands[id.value].begin(), operands[id.value].end());
      }
      auto found = reachable_ids(
          std::span<const NodeId>(roots), [&](NodeId id) -> const auto& {
            return operands[id.value];
          });
      CHECK(found == std::vector<NodeId>(expected.begin(), expected.end()));
    }
  }
}
