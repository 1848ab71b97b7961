// segment_sums: conditions on sorted keys, and the bounds that tighten_bounds makes of data.
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim T in 0..70, V in 0..9, B in 1..4
input x : f32[T, 3]
input id : i32[T] in -2..10 sorted
input loose : i32[T] in -2..10
input rows : i32[B, T] in 0..5 sorted
input q : i32[V] in -3..11
input len : i32[V] in -5..100
)";

/// The node that defines `y`, after all passes at several sizes.
struct Rewritten {
  Graph graph;
  const Node* node = nullptr;
  const Reduction& reduction() const {
    return *std::get<Comprehension>(node->definition).reduction;
  }
  /// No condition is left, and this many reduce axes have a bound.
  bool bounded(size_t axes = 1) const {
    const Reduction& r = reduction();
    size_t count = 0;
    for (const Axis& axis : r.axes) count += axis.lo || axis.hi;
    return !r.filter && count == axes;
  }
  bool says(const std::string& part) const {
    for (const std::string& sentence : node->derivation)
      if (sentence.find(part) != std::string::npos) return true;
    return false;
  }
};

Rewritten rewrite_all(const std::string& body) {
  Graph g = graph_of_body(head + body);
  for (const auto& dims : std::vector<std::vector<int64_t>>{
           {70, 9, 2}, {1, 5, 1}, {0, 3, 1}, {16, 0, 3}, {17, 9, 2}, {63, 7, 1}, {64, 7, 4}}) {
    Graph once = segment_sums(g), all = rewritten(g);
    INFO(to_text(all));
    REQUIRE_NOTHROW(verify(once, "segment_sums"));
    CHECK(difference(g, once, dims) == "");
    CHECK(difference(g, all, dims) == "");
    CHECK(difference(g, tighten_bounds(once), dims) == "");
  }
  Rewritten r{rewritten(g)};
  CHECK(to_text(segment_sums(r.graph)) == to_text(r.graph));
  CHECK(to_text(tighten_bounds(r.graph)) == to_text(r.graph));
  for (const Node& node : r.graph.nodes)
    if (r.graph[defines_of(node)[0]].name == "y") r.node = &node;
  REQUIRE(r.node != nullptr);
  INFO(to_text(r.graph));
  return r;
}

} // namespace

TEST_CASE("a sum over the rows of one key", "[segment_sums]") {
  Rewritten r = rewrite_all("y[v: V, d] = sum[t where id[t] == v] x[t, d]\noutput y : f32[V, 3]\n");
  CHECK(r.bounded());
  CHECK(r.graph.nodes.size() == 2);
  CHECK(r.says("because `id` is sorted"));
}

TEST_CASE("ways to say it", "[segment_sums]") {
  const std::string out = "output y : f32[V, 3]\n";
  for (const char* sum :
       {"sum[t] where(id[t] == v, x[t, d], 0)", "sum[t where v == id[t]] x[t, d]",
        "sum[t where id[t] - v == 0] x[t, d]", "sum[t where id[t] + 1 == v] x[t, d]",
        "sum[t where not id[t] != 2 * v] x[t, d]", "sum[t where id[t] == q[v]] x[t, d]",
        "sum[t where id[t] <= v] x[t, d]", "sum[t where id[t] < v] x[t, d]",
        "sum[t where v < id[t]] x[t, d]", "sum[t where v <= id[t]] x[t, d]",
        "sum[t where not id[t] <= v] x[t, d]", "sum[t where not v <= id[t]] x[t, d]",
        "sum[t where v <= id[t] and id[t] < v + 3] x[t, d]", "max[t where id[t] == v] x[t, d]",
        "prod[t where id[t] == v] x[t, d]", "sum[t where id[t] == 4] x[t, d] * v"}) {
    INFO(sum);
    Rewritten r = rewrite_all("y[v: V, d] = " + std::string(sum) + "\n" + out);
    CHECK(r.bounded());
  }
}

TEST_CASE("other conditions stay beside the range", "[segment_sums]") {
  Rewritten r = rewrite_all(
      "y[v: V, d] = sum[t where id[t] == v and x[t, 0] > 0 and t >= 2] x[t, d]\noutput y : "
      "f32[V, 3]\n");
  CHECK(!r.bounded());
  CHECK(r.reduction().axes[0].lo);
  CHECK(r.reduction().axes[0].hi);
}

TEST_CASE("keys in rows are searched row by row", "[segment_sums]") {
  Rewritten r =
      rewrite_all("y[v: V] = sum[b: B, t where rows[b, t] == v] x[t, 0] * b\noutput y : f32[V]\n");
  CHECK(r.bounded());
  // The row is bound by the outer loop, wherever it was written.
  Rewritten turned = rewrite_all(
      "y[v: V] = sum[t: T, b: B where rows[b, t] == v] x[t, 0] * b\noutput y : f32[V]\n");
  CHECK(turned.bounded());
  Rewritten point =
      rewrite_all("y[b: B, v: V] = sum[t where rows[b, t] == v] x[t, 0]\noutput y : f32[B, V]\n");
  CHECK(point.bounded());
}

TEST_CASE("sums over the same keys share the counts", "[segment_sums]") {
  Rewritten r = rewrite_all(R"(y[v: V, d] = sum[t where id[t] == v] x[t, d]
z[w: V] = sum[t where id[t] == w] x[t, 0] * x[t, 1]
output y : f32[V, 3]
output z : f32[V]
)");
  CHECK(r.graph.nodes.size() == 3);
}

TEST_CASE("keys that are not sorted are looked at everywhere, and -Wperf says why",
          "[segment_sums]") {
  Rewritten r =
      rewrite_all("y[v: V, d] = sum[t where loose[t] == v] x[t, d]\noutput y : f32[V, 3]\n");
  CHECK(!r.bounded());
  CHECK(r.graph.nodes.size() == 1);
  REQUIRE(r.graph.remarks.size() == 1);
  CHECK_THAT(r.graph.remarks[0].text,
             Catch::Contains("`loose[t] == v`: `loose` is not declared sorted"));
  // Nothing to say where no order would help.
  Rewritten diagonal =
      rewrite_all("y[v: V] = sum[t where loose[t] == t] x[t, 0] * v\noutput y : f32[V]\n");
  CHECK(diagonal.graph.remarks.empty());
}

TEST_CASE("order that does not help", "[segment_sums]") {
  const std::string out = "output y : f32[V]\n";
  for (const char* sum : {"sum[t where id[t] == t] x[t, 0] * v", "sum[t where id[t] != v] x[t, 0]",
                          "sum[t where 2 * id[t] == v] x[t, 0]",
                          "sum[t: T where (id[T - 1 - t] else 0) == v] x[t, 0]"}) {
    INFO(sum);
    Rewritten r = rewrite_all("y[v: V] = " + std::string(sum) + "\n" + out);
    CHECK(!r.bounded());
  }
}

TEST_CASE("lengths that are read are bounds", "[tighten_bounds]") {
  const std::string out = "output y : f32[V]\n";
  CHECK(rewrite_all("y[v: V] = sum[t where t < len[v]] x[t, 0]\n" + out).bounded());
  CHECK(
      rewrite_all("y[v: V] = max[t where t >= len[v] and t < q[v] + v] x[t, 0]\n" + out).bounded());
  CHECK(rewrite_all("y[v: V] = sum[t where t < len[q[v]]] x[t, 0]\n" + out).bounded());
  CHECK(rewrite_all("y[v: V] = sum[w: V, t where t < len[w]] x[t, 0] * v\n" + out).bounded());
  // The bound is read for the index that it bounds.
  CHECK(!rewrite_all("y[v: V] = sum[t where t < loose[t]] x[t, 0] * v\n" + out).bounded());
}

TEST_CASE("points that a length limits are counted", "[count_points]") {
  Graph g = graph_of_body(head + "y[v: V] = sum[t: T where t < len[v]] 1.0\noutput y : f32[V]\n");
  Graph all = checked(g, {20, 7, 1});
  CHECK(!std::get<Comprehension>(all.nodes.at(0).definition).reduction);
}
