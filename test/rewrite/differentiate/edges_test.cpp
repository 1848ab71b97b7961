// Gradients where central differences say nothing: ties, kinks, excluded points, no points.
#include "gradient.h"
#include <fmt/format.h>
#include <limits>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The gradient by x of a scalar `loss`, for given values of x; other inputs are random.
std::vector<double> gradient(const std::string& text, std::vector<double> x,
                             const std::vector<int64_t>& dims = {}) {
  Graph graph = differentiated(graph_of_body(with_gradients({text, text, {"x"}, dims})));
  Arrays inputs = random_inputs(graph, dims);
  inputs.at("x").reals = std::move(x);
  auto result = evaluated(graph, inputs, dims).at("grad_x").reals;
  // The laws change nothing.
  Graph laws = rewritten(graph);
  INFO(text << "gives\n" << to_text(graph) << "and by the laws\n" << to_text(laws));
  CHECK(far_apart(result, evaluated(laws, inputs, dims).at("grad_x").reals, 1e-9) == "");
  return result;
}

void expect(const std::string& text, std::vector<double> x, const std::vector<double>& wanted,
            const std::vector<int64_t>& dims = {}) {
  auto got = gradient(text, std::move(x), dims);
  INFO(text);
  CHECK(far_apart(wanted, got, 1e-12) == "");
}

const std::string four = "input x : f64[4]\n";

} // namespace

TEST_CASE("ties go to the first", "[differentiate]") {
  expect(four + "loss = max[i] x[i]\n", {1, 2, 2, 0}, {0, 1, 0, 0});
  expect(four + "loss = min[i] x[i]\n", {3, 0, 1, 0}, {0, 1, 0, 0});
  expect(four + "loss = max[i: 2, j: 2] x[2 * j + i]\n", {1, 2, 2, 2}, {0, 0, 1, 0});
  expect(four + "loss = max(x[0], x[1]) + 2 * min(x[2], x[3])\n", {5, 5, 7, 7}, {1, 0, 2, 0});
  expect(four + "loss = sum[i] max(x[i], 1)\n", {1, 0, 2, 1}, {1, 0, 1, 1});
  expect(four + "loss = sum[i] max(1, x[i])\n", {1, 0, 2, 1}, {0, 0, 1, 0});
  expect(four + "(t[n], at[n]) = topk[i; 2] x[i]\nloss = t[0] + 10 * t[1]\n", {1, 3, 3, 3},
         {0, 1, 10, 0});
  expect(four + "c[i] = scan max[i] (x[i])\nloss = sum[i] c[i] * (i + 1)\n", {1, 1, 0, 1},
         {10, 0, 0, 0});
}

TEST_CASE("kinks", "[differentiate]") {
  expect(four + "loss = sum[i] relu(x[i])\n", {0, 1, -1, not_a_number}, {0, 1, 0, 1});
  expect(four + "loss = sum[i] abs(x[i])\n", {0, 2, -2, -0.0}, {0, 1, -1, 0});
  expect(four + "loss = sum[i] (sigmoid(x[i]) + softplus(x[i]))\n", {0, 0, 0, 0},
         {0.75, 0.75, 0.75, 0.75});
  expect(four + "loss = sum[i] (floor(x[i]) + round(x[i]) + sign(x[i]))\n", {0, 0.5, 1, -2},
         {0, 0, 0, 0});
}

TEST_CASE("what an untaken branch would give is absent", "[differentiate]") {
  expect(four + "loss = sum[i] where(x[i] > 0, log(x[i]), 0)\n", {0, 2, -1, 4}, {0, 0.5, 0, 0.25});
  expect(four + "loss = sum[i] where(x[i] > 0, sqrt(x[i]), x[i] * x[i])\n", {0, 4, -1, 1},
         {0, 0.25, -2, 0.5});
  expect(four + "loss = sum[i where x[i] != 0] 1 / x[i]\n", {0, 2, -1, 1}, {0, -0.25, -1, -1});
  expect(four + "loss = sum[i] where(x[i] < 0, exp(x[i]), x[i]) * where(x[i] < 0, 1, 2)\n",
         {1000, 0, 1, 2}, {2, 2, 2, 2});
  // The same across equations.
  expect(four + "y[i] = log(x[i])\nloss = sum[i] where(x[i] > 0, y[i], 0)\n", {0, 2, -1, 4},
         {0, 0.5, 0, 0.25});
  expect(four + "y[i] = 1 / x[i]\nz[i] = y[i] * x[i]\nloss = sum[i where x[i] != 0] (z[i] * z[i] + "
                "y[i])\n",
         {0, 2, -1, 4}, {0, -0.25, -1, -0.0625});
  expect(four + "y[i] = sqrt(x[i])\nloss = sum[i: 3] y[i + 1]\n", {0, 4, 1, 0.25},
         {0, 0.25, 0.5, 1});
  expect(four + "y[i] = sqrt(x[i])\nz[i: 4] = (y[i + 1] else 0) + (y[i - 2] else 0)\n"
                "loss = sum[i where i < 2] z[i]\n",
         {0, 4, 1, 0}, {0, 0.25, 0.5, 0});
}

TEST_CASE("points that take no part", "[differentiate]") {
  // A row without points, and scores of -inf.
  std::string rows = "input x : f64[3, 2]\n";
  expect(rows + "p[i, j] = softmax[j where j < i] x[i, j]\nloss = sum[i, j] p[i, j] * (j + 1)\n",
         {7, not_a_number, 1, inf, 0, 0}, {0, 0, 0, 0, -0.25, 0.25});
  expect(rows + "p[i, j] = softmax[j] x[i, j]\nloss = sum[i, j] p[i, j] * (j + 1)\n",
         {0, -inf, 0, 0, -inf, 3}, {0, 0, -0.25, 0.25, 0, 0});
  expect(rows + "y[i] = logsumexp[j where j < i](x[i, j])\nloss = sum[i where i > 0] y[i]\n",
         {7, not_a_number, 1, inf, 0, 0}, {0, 0, 1, 0, 0.5, 0.5});
  expect(rows + "m[i] = max[j where j < i] x[i, j]\nloss = sum[i where i > 0] m[i]\n",
         {7, not_a_number, 1, inf, 0, 2}, {0, 0, 1, 0, 0, 1});
  expect(rows + "(t[i, n], at[i, n]) = topk[j where j < i; 2] x[i, j]\n"
                "loss = sum[i, n where at[i, n] >= 0] t[i, n] * (n + 1)\n",
         {7, not_a_number, 1, inf, 0, 2}, {0, 0, 1, 0, 2, 1});
  expect(rows + "(m[i], s[i]) = lse[j](x[i, j], 1)\nloss = sum[i] s[i]\n",
         {0, 0, -inf, -inf, inf, 1}, {-1, 1, -1, 1, 0, 0});
}

TEST_CASE("products with zeros", "[differentiate]") {
  expect(four + "loss = prod[i] x[i]\n", {2, 0, 3, 5}, {0, 30, 0, 0});
  expect(four + "loss = prod[i] x[i]\n", {2, 0, 3, 0}, {0, 0, 0, 0});
  expect(four + "loss = sum[i] (pow(x[i], 2) + pow(x[i], 1) + pow(x[i], 0))\n", {0, 1, -1, 3},
         {1, 3, -1, 7});
  expect(four + "loss = sum[i] pow(x[i], f64(i))\n", {0, 0, 0, 2}, {0, 1, 0, 12});
  expect(four + "loss = sum[i] pow(f64(i), x[i])\n", {1, 2, 0, 0},
         {0, 0, std::log(2.0), std::log(3.0)});
}

TEST_CASE("sizes 0, 1, 2, 3", "[differentiate]") {
  std::string text = "dim N in 0..8, M in 0..8\ninput x : f64[N, M]\ninput w : f64[M, 3]\n"
                     "p[i, j] = softmax[j where j <= i] x[i, j]\n"
                     "h[i, k] = sum[j] p[i, j] * w[j, k]\n"
                     "m[k] = max[i] h[i, k]\n"
                     "q[k] = prod[i] h[i, k]\n"
                     "c[i, k] = scan sum[i] h[i, k]\n"
                     "(a[i, k], b[i, k]) = scan affine[i](h[i, k], x[i, 0] else 1)\n"
                     "g0[k: 3] = 1.0\n"
                     "recur t: N carry g = g0 { g[k] = sin(g[k] + h[t, k]) }\n"
                     "loss = (sum[k] (where(m[k] == -inf, 0, m[k]) * q[k] + g[k])) + "
                     "(sum[i, k] c[i, k] * b[i, k])\n";
  for (int64_t n = 0; n <= 3; ++n)
    for (int64_t m = 0; m <= 3; ++m)
      check({fmt::format("{} by {}", n, m), text, {"x", "w"}, {n, m}});
}

TEST_CASE("variables, cotangents and results", "[differentiate]") {
  std::string head = "input x : f64[3]\ninput w : f64[3]\ninput dy : f64[3]\n";
  auto outputs = [&](const std::string& text, const std::vector<std::string>& names) {
    std::string all = head + text;
    for (const std::string& name : names) all += fmt::format("output {} : f64[3]\n", name);
    Graph graph = differentiated(graph_of_body(all));
    Arrays inputs = random_inputs(graph, {});
    inputs.at("x").reals = {1, 2, 3}, inputs.at("w").reals = {2, -1, 0.5};
    inputs.at("dy").reals = {1, 10, 100};
    Arrays results = evaluated(graph, inputs, {});
    CHECK(evaluated(rewritten(graph), inputs, {}).size() == results.size());
    return results;
  };
  using List = std::vector<double>;
  Arrays r = outputs("y[i] = x[i] * x[i]\ngrad y with dy wrt x -> dx\n", {"dx"});
  CHECK(r.at("dx").reals == List{2, 40, 600});
  // By what is computed: a variable of its own, beside what it was computed from.
  r = outputs("h[i] = x[i] * w[i]\nloss = sum[i] (h[i] * h[i] + x[i])\n"
              "grad loss wrt h -> dh, x -> dx, h -> again\n",
              {"dh", "dx", "again"});
  CHECK(r.at("dh").reals == List{4, -4, 3});
  CHECK(r.at("again").reals == List{4, -4, 3});
  CHECK(r.at("dx").reals == List{9, 5, 2.5});
  // By itself, and by what it does not depend on.
  r = outputs("y[i] = x[i] + 1\ngrad y with dy wrt y -> a, w -> b, dy -> c\n", {"a", "b", "c"});
  CHECK(r.at("a").reals == List{1, 10, 100});
  CHECK(r.at("b").reals == List{0, 0, 0});
  CHECK(r.at("c").reals == List{0, 0, 0});
  // A step of descent, and the loss behind it differentiated again.
  r = outputs("loss = sum[i] x[i] * w[i] * w[i]\ngrad loss wrt w -> dw\n"
              "v[i] = w[i] - 0.5 * dw[i]\nnext = sum[i] x[i] * v[i] * v[i]\n"
              "grad next wrt v -> dv, w -> through\n",
              {"dw", "dv", "through"});
  CHECK(r.at("dw").reals == List{4, -4, 3});
  CHECK(r.at("dv").reals == List{0, 4, -6});
  // next = sum x (w - x w)^2
  CHECK(r.at("through").reals == List{0, -4, 12});
}
