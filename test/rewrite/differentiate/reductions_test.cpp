// Gradients of reductions: sums, extrema, products, top-k, monoids of the file, online softmax.
#include "gradient.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

const std::string head = "input x : f64[4, 5]\ninput w : f64[4, 5]\ninput v : f64[5]\n"
                         "input id : i32[4] in 0..<5\n";

/// `y` has one index i: 4 and is defined by the text.
Function rows(const std::string& y, std::vector<std::string> wrt = {"x"}) {
  return {y, head + y + "\nloss = sum[i: 4] (1 + 0.3 * i) * y[i] * y[i]\n", std::move(wrt), {}};
}

} // namespace

TEST_CASE("sums", "[differentiate]") {
  check(rows("y[i] = sum[j] x[i, j]"));
  check(rows("y[i] = sum[j] x[i, j] * w[i, j] * v[j]", {"x", "w", "v"}));
  check(rows("y[i] = sum[j where j <= i] x[i, j] * v[j]", {"x", "v"}));
  check(rows("y[i] = sum[j where w[i, j] > 0] x[i, j] * v[j]", {"x", "v"}));
  check(rows("y[i] = sum[j, k: 3] sin(x[i, j] * (k + 1)) * (v[j + k - 2] else 1)", {"x", "v"}));
  check(rows("y[i] = sum[j] exp(x[i, j] * (sum[k: 4] w[k, j] * w[k, j]))", {"x", "w"}));
  check(rows("y[i: 4] = (sum[j] x[i, j] * x[3 - i, 4 - j]) + v[i]", {"x", "v"}));
  check(rows("y[i] = sum[t: 4] where(id[t] == i, x[i, id[t]], v[id[t]])", {"x", "v"}));
}

TEST_CASE("maxima and minima go to their arg", "[differentiate]") {
  check(rows("y[i] = max[j] x[i, j]"));
  check(rows("y[i] = min[j] x[i, j] * w[i, j]", {"x", "w"}));
  check(rows("y[i] = max[j where j <= i] x[i, j]"));
  // No point takes part.
  check(rows("m[i] = max[j where j > 6] x[i, j]\ny[i: 4] = where(m[i] == -inf, v[i], m[i])",
             {"x", "v"}));
  check(rows("y[i] = max[j, k: 4] x[k, j] * w[i, j]", {"x", "w"}));
  check(rows("y[i] = max[j] (x[i, j] + (max[k] x[k, j]))"));
  check(rows("y[i: 4] = max[r: 3, s: 2] x[mod(i + r, 4), s + 1] * v[r]", {"x", "v"}));
  check(rows("y[i: 4] = max[j] (v[i] * 2 + x[i, j])", {"x", "v"}));
}

TEST_CASE("products and other monoids", "[differentiate]") {
  check(rows("y[i] = prod[j] x[i, j]"));
  check(rows("y[i] = prod[j where j != i] x[i, j] * v[j]", {"x", "v"}));
  check(rows("y[i] = prod[j, k: 2] (x[i, j] + k * w[i, j])", {"x", "w"}));
  check(rows("y[i] = norm2[j](x[i, j])"));
  std::string hypot = "monoid hypot(n = 0.0) (a, b) -> (sqrt(a.n * a.n + b.n * b.n + 1e-300))\n";
  check(rows(hypot + "y[i] = hypot[j](x[i, j])"));
  check(rows(hypot + "y[i] = hypot[j, k: 2](x[i, j] * (k + 1))"));
  // Not commutative: maps h -> a*h + b, one after the other.
  check(rows("(p[i], q[i]) = affine[j](x[i, j], w[i, j])\ny[i] = p[i] + q[i]", {"x", "w"}));
  check(rows("(p[i], q[i]) = affine[j where j != 2](x[i, j], w[i, j])\ny[i] = q[i]", {"x", "w"}));
  check(
      rows("(p[i], q[i]) = affine[j, k: 2](x[i, j], w[i, j] * k)\ny[i] = p[i] * q[i]", {"x", "w"}));
  check(rows("(n[i], m[i], s[i]) = welford[j](1.0, x[i, j], 0.0)\ny[i] = m[i] + s[i] / n[i]"));
}

TEST_CASE("monoids with tables", "[differentiate]") {
  std::string linear =
      "monoid linear(A[i: 2, k: 2] = where(i == k, 1, 0), c[i: 2] = 0) (x, y) -> (\n"
      "  sum[l] y.A[i, l] * x.A[l, k], sum[l] y.A[i, l] * x.c[l] + y.c[i])\n";
  check(rows(linear +
                 "(A[t, i, k], c[t, i]) = linear[j](x[t, j] * (1 + i) + v[j] * k, w[t, j] + i)\n"
                 "y[i] = (sum[r: 2] c[i, r] * (r + 1)) + A[i, 0, 1]",
             {"x", "w", "v"}));
  std::string folds = "monoid most(m[i: 3] = 0.0, p = 1.0) (a, b) -> (a.m[i] + b.m[i] + (max[l: 3] "
                      "a.m[l] * b.m[l]),\n"
                      "  a.p * b.p)\n";
  check({"folds in a combine",
         head + folds +
             "(m[t, i], p[t]) = most[j: 2](x[t, j] * (1 + 0.1 * i), v[j])\n"
             "loss = sum[i: 4, r: 3] m[i, r] * p[i]\n",
         {"x", "v"},
         {}});
}

TEST_CASE("top-k", "[differentiate]") {
  check(rows("(t[i, n], at[i, n]) = topk[j; 2] x[i, j]\ny[i] = (sum[n] t[i, n] * (n + 1))"));
  check(rows("(t[i, n], at[i, n]) = topk[j where j <= i; 3] x[i, j] * v[j]\n"
             "y[i] = (sum[n where at[i, n] >= 0] t[i, n] * (n + 1))",
             {"x", "v"}));
  check(rows("(t[i, n], at[i, n]) = topk[j, k: 2; 4] x[i, j] * (k + 1)\n"
             "y[i] = (sum[n] t[i, n] * (n + 1) * v[floordiv(at[i, n], 2)])",
             {"x", "v"}));
}
