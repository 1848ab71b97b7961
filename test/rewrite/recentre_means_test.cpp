// recentre_means: when it fires, what stops it, and that infinities stay what they were.
#include "run.h"

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

const std::string head = R"(dim M in 1..64, N in 1..1000
input x : f32[M, N]
input h : bf16[M, N]
input w : f32[M, N]
)";

/// The program after all laws, and whether this one fired: a second time it changes nothing.
bool fires(const std::string& body) {
  Graph g = checked(graph_of_body(head + body), {3, 5});
  INFO(to_text(g));
  CHECK(to_text(recentre_means(g)) == to_text(g));
  return to_text(g).find("recentre_means:") != std::string::npos;
}

std::string normalised(const std::string& mean, const std::string& sum = "square(x[i, j] - m[i])",
                       const std::string& element = "x[i, j] - m[i]") {
  return mean + "\nv[i] = sum[j] " + sum + "\ny[i, j] = (" + element +
         ") * rsqrt(v[i] + 1)\noutput y : f32[M, N]\n";
}

} // namespace

TEST_CASE("elements around the mean of their row", "[recentre_means]") {
  CHECK(fires("y[i, j] = layernorm[j](x[i, j], w[i, j], 1, 1e-5)\noutput y : f32[M, N]\n"));
  CHECK(fires(normalised("m[i] = mean[j] x[i, j]")));
  CHECK(fires(normalised("m[i] = (sum[j] x[i, j]) / N")));
  // Of terms, of rows with a filter, and of points that data choose.
  CHECK(fires("y[i, j] = layernorm[j](x[i, j] * w[i, j], 1, 1, 1e-5)\noutput y : f32[M, N]\n"));
  CHECK(fires("y[i, j] = layernorm[j where j <= i](x[i, j], 1, 1, 1e-5)\noutput y : f32[M, N]\n"));
  CHECK(fires(
      "y[i, j] = layernorm[j where w[i, j] > 0](x[i, j], 1, 1, 1e-5)\noutput y : f32[M, N]\n"));
}

TEST_CASE("no pass is added and nothing else is taken for a mean", "[recentre_means]") {
  // 16-bit elements are coarser than the mean.
  CHECK_FALSE(fires("y[i, j] = layernorm[j](h[i, j], 1, 1, 1e-5)\noutput y : f32[M, N]\n"));
  // No sum of squares has a pass already.
  CHECK_FALSE(fires("m[i] = mean[j] x[i, j]\ny[i, j] = x[i, j] - m[i]\noutput y : f32[M, N]\n"));
  // Another divisor, another sum, another filter.
  CHECK_FALSE(fires(normalised("m[i] = (sum[j] x[i, j]) / (N + 1)")));
  CHECK_FALSE(fires(normalised("m[i] = 2 * mean[j] x[i, j]")));
  CHECK_FALSE(fires(normalised("m[i] = mean[j] w[i, j]")));
  CHECK_FALSE(fires(normalised("m[i] = mean[j where j > 0] x[i, j]")));
  // The elements are around something else; the program corrects by itself.
  CHECK_FALSE(fires(normalised("m[i] = mean[j] x[i, j]", "square(x[i, j] - m[i])", "w[i, j]")));
  CHECK_FALSE(fires(normalised("m[i] = mean[j] x[i, j]\nr[i] = mean[j](x[i, j] - m[i])",
                               "square(x[i, j] - m[i])", "x[i, j] - m[i] - r[i]")));
}

TEST_CASE("the correction is summed in the pass of the squares", "[recentre_means]") {
  Graph g = rewritten(graph_of_body(head +
                                    "y[i, j] = layernorm[j](x[i, j], w[i, j], 1, 1e-5)\noutput y : "
                                    "f32[M, N]\n"));
  INFO(to_text(g));
  CHECK(g.nodes.size() == 3);
}

TEST_CASE("a row with an infinity is what it was", "[recentre_means]") {
  // The mean is infinite, so each finite element is -inf from it: no NaN may take its place.
  Graph g = graph_of_body(R"(dim M in 1..64, N in 1..1000
input a : f32[M, N]
x[i, j] = where(j == 0, inf, a[i, j])
m[i] = mean[j] x[i, j]
v[i] = sum[j] square(x[i, j] - m[i])
y[i, j] = where(v[i] != v[i], x[i, j] - m[i], 0)
output y : f32[M, N]
)");
  Graph all = checked(g, {2, 3});
  INFO(to_text(all));
  CHECK(to_text(all).find("recentre_means:") != std::string::npos);
  CHECK(run(all, {2, 3}).at("y").as_real(1) == -std::numeric_limits<double>::infinity());
}
