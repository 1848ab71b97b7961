// split_reduction keeps the meaning for every reduction, axis and number of parts.
#include "rewrite/split_reduction.h"
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

/// Splits each reduction of the rewritten program in every way, one at a time.
size_t split_all(const std::string& body, const std::vector<std::vector<int64_t>>& sizes) {
  Graph naive = graph_of_body(body), whole = rewritten(naive);
  size_t ways = 0;
  for (size_t n = 0; n < whole.nodes.size(); ++n) {
    const auto* c = std::get_if<Comprehension>(&whole.nodes[n].definition);
    if (!c || !c->reduction || c->scan) continue;
    const Monoid& m = whole[c->reduction->monoid];
    for (size_t axis = 0; axis < (m.commutative ? c->reduction->axes.size() : 1); ++axis)
      for (int64_t parts : {0, 1, 2, 3, 7, 64}) {
        std::vector<Split> split{{n, axis, parts}};
        Graph parted = split_reduction(whole, split);
        INFO(to_text(whole) << "in " << parts << " parts\n" << to_text(parted));
        REQUIRE_NOTHROW(verify(parted, "split_reduction"));
        REQUIRE(parted.nodes.size() == whole.nodes.size() + 1);
        for (const auto& dims : sizes) REQUIRE(difference(naive, parted, dims) == "");
        ++ways;
      }
  }
  return ways;
}

} // namespace

TEST_CASE("every reduction splits in every way", "[split_reduction]") {
  SECTION("sums, with filters, bounds and epilogues") {
    CHECK(split_all(R"(dim N in 0..4096
input x : f32[3, N]
y[i] = sum[j where j <= 2*i] x[i, j] * x[i, j]
z[i] = sqrt(1 + sum[j where x[i, j] > 0] x[i, j])
output y : f32[3]
output z : f32[3]
)",
                    {{0}, {1}, {2}, {17}, {129}}) >= 12);
  }
  SECTION("contractions stay products") {
    CHECK(split_all(R"(dim K in 0..4096
input x : f16[5, K]
input w : f16[K, 7]
y[i, j] = sum[k] x[i, k] * w[k, j]
output y : f32[5, 7]
)",
                    {{0}, {1}, {3}, {64}, {127}}) == 6);
  }
  SECTION("an online softmax with columns") {
    CHECK(split_all(R"(dim S in 0..4096
input q : f32[3, 8]
input k : f32[S, 8]
input v : f32[S, 5]
o[i, d] = sum[j] softmax[j where j < 9 - i](sum[e] q[i, e] * k[j, e]) * v[j, d]
output o : f32[3, 5]
)",
                    {{0}, {1}, {3}, {17}, {129}}) == 6);
  }
  SECTION("several axes, maxima, integers, a choice of the first") {
    CHECK(split_all(R"(dim N in 0..4096
input x : f32[N, 3, 4]
input n : i32[N, 6] in -100..100
m[k] = max[i, j] x[i, j, k]
a[k] = argmax[i] x[i, 0, k]
s = sum[i, j] n[i, j]
all_small[j] = all[i] (n[i, j] < 99)
output m : f32[4]
output a : i32[4]
output s : i64
output all_small : bool[6]
)",
                    {{0}, {1}, {2}, {17}}) >= 30);
  }
  SECTION("lists of the largest: ties, NaN, -inf, and fewer elements than places") {
    CHECK(split_all(R"(dim N in 0..4096
input x : f32[3, N]
input z : i32[3, N] in 0..3
(v[i, n], k[i, n]) = topk[j; 4] where(x[i, j] > 1, nan, x[i, j])
(u[i, n], l[i, n]) = topk[j; 3] where(x[i, j] < 0.5, -inf, x[i, j])
(w[i, n], m[i, n]) = topk[j where z[i, j] != i; 5] z[i, j]
y[i, n] = v[i, n] * 2
output y : f32[3, 4]
output k : i32[3, 4]
output u : f32[3, 3]
output l : i32[3, 3]
output w : i64[3, 5]
output m : i32[3, 5]
)",
                    {{0}, {1}, {2}, {17}, {129}}) == 18);
  }
  SECTION("a monoid that does not commute") {
    CHECK(split_all(R"(dim N in 0..4096
input a : f32[2, N]
input b : f32[2, N]
(p[i], q[i]) = affine[t](0.9 * tanh(a[i, t]), b[i, t])
output p : f32[2]
output q : f32[2]
)",
                    {{0}, {1}, {2}, {17}, {129}}) == 6);
  }
}
