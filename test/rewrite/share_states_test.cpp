// share_states: what an arg-max or a list of the largest knows besides.
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

size_t reductions(const Graph& g) {
  size_t count = 0;
  for (const Node& node : g.nodes)
    count += std::get<Comprehension>(node.definition).reduction.has_value();
  return count;
}

size_t reductions_of(const std::string& body) {
  Graph g = checked(graph_of_body("dim M in 1..64, N in 0..100\ninput x : f32[M, N]\n"
                                  "input z : i32[M, N] in 0..3\n" +
                                  body),
                    {5, 7});
  CHECK(to_text(share_states(g)) == to_text(g));
  return reductions(g);
}

} // namespace

TEST_CASE("a maximum is the value of the arg-max", "[share_states]") {
  const std::string out = "output m : f32[M]\noutput i : i32[M]\n";
  CHECK(reductions_of("m[r] = max[j] x[r, j]\ni[r] = argmax[j] x[r, j]\n" + out) == 1);
  CHECK(reductions_of("i[r] = argmax[j] x[r, j]\nm[r] = max[j] x[r, j]\n" + out) == 1);
  CHECK(reductions_of("m[r] = min[j] x[r, j]\ni[r] = argmin[j] x[r, j]\n" + out) == 1);
  CHECK(reductions_of("m[r] = max[j where j < r] x[r, j]\n"
                      "i[r] = argmax[k where k < r] x[r, k]\n" +
                      out) == 1);
  // Ties of integers, and rows without a point.
  CHECK(reductions_of("m[r] = max[j where j > r] z[r, j]\ni[r] = argmax[j where j > r] z[r, j]\n"
                      "output m : i64[M]\noutput i : i32[M]\n") == 1);
}

TEST_CASE("a list of the largest holds the largest", "[share_states]") {
  CHECK(reductions_of("m[r] = max[j] x[r, j]\n(v[r, n], k[r, n]) = topk[j; 3] x[r, j]\n"
                      "i[r] = argmax[j] x[r, j]\n"
                      "output m : f32[M]\noutput i : i32[M]\noutput v : f32[M, 3]\n") == 1);
  CHECK(reductions_of("(u[r, n], l[r, n]) = topk[j; 2] x[r, j]\n"
                      "(v[r, n], k[r, n]) = topk[j; 5] x[r, j]\n"
                      "output l : i32[M, 2]\noutput v : f32[M, 5]\n") == 1);
}

TEST_CASE("other orders, conditions, terms and rows share nothing", "[share_states]") {
  const std::string out = "output m : f32[M]\noutput i : i32[M]\n";
  CHECK(reductions_of("m[r] = min[j] x[r, j]\ni[r] = argmax[j] x[r, j]\n" + out) == 2);
  CHECK(reductions_of("m[r] = max[j] x[r, j]\ni[r] = argmax[j where j > 0] x[r, j]\n" + out) == 2);
  CHECK(reductions_of("m[r] = max[j] -x[r, j]\ni[r] = argmax[j] x[r, j]\n" + out) == 2);
  CHECK(reductions_of("m[r] = max[j] x[r, j]\ni[r: M] = argmax[j] x[M - 1 - r, j]\n" + out) == 2);
  CHECK(reductions_of("m[r] = sum[j] x[r, j]\ni[r] = argmax[j] x[r, j]\n" + out) == 2);
}

TEST_CASE("ties and NaN", "[share_states]") {
  Graph g = checked(graph_of_body(R"(
const x : f32[5, 3] = [[1, 2, 2], [nan, 1, 2], [-inf, -inf, -inf], [2, nan, nan], [0, -0, 0]]
m[r] = max[j where j <= r] x[r, j]
i[r] = argmax[j where j <= r] x[r, j]
(v[r, n], k[r, n]) = topk[j where j <= r; 4] x[r, j]
output m : f32[5]
output i : i32[5]
output v : f32[5, 4]
output k : i32[5, 4]
)"),
                    {});
  CHECK(reductions(g) == 1);
}
