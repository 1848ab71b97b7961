// Gradients of gathers: with sorted keys a range of rows per key, never keys × rows.
#include "derived.h"

using namespace tang;
using namespace tang::rediscover;

namespace {

/// Reductions that look at every point of a symbolic axis, though a condition excludes most.
size_t gated(const Derived& d) {
  size_t count = 0;
  for (const Node& node : d.graph.nodes)
    if (const auto* c = std::get_if<Comprehension>(&node.definition))
      count += c->reduction && c->reduction->filter;
  return count;
}

} // namespace

TEST_CASE("the gradient of a gathered table is a segmented sum", "[segments]") {
  const std::string program = R"(tg 1
graph embedding
dim T in 0..65536, V in 1..100000
dim D = 8
input table : f32[V, D]
input dy : f32[T, D]
input id : i32[T] in 0..30 sorted
y[t, d] = table[id[t], d]
grad y with dy wrt table -> dtable
output dtable : f32[V, D]
)";
  Derived d = derive(program, {{50, 31}, {1, 3}, {0, 2}, {100, 7}});
  CHECK(gated(d) == 0);
  // Where each key starts, and the sum.
  CHECK(d.kernels_on(d.gpu) == 2);
  CHECK(d.kernels_on(d.core) == 2);
  CHECK(d.intermediates().size() == 1);
  CHECK(d.largest({1000, 200}) == 201);

  std::string unsorted = program;
  unsorted.replace(unsorted.find(" sorted"), 7, "");
  Derived u = derive(unsorted, {{50, 31}});
  CHECK(gated(u) == 1);
  REQUIRE(u.graph.remarks.size() == 1);
  CHECK_THAT(u.graph.remarks[0].text, Catch::Contains("`id` is not declared sorted"));
}
