// Gradients of scans and recurrences.
#include "gradient.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

const std::string head =
    "input x : f64[5, 3]\ninput w : f64[5, 3]\ninput v : f64[3]\ninput m : f64[3, 3]\n";

/// `y` has indices t: 5 and i: 3.
Function series(const std::string& y, std::vector<std::string> wrt = {"x"}) {
  return {y,
          head + y + "\nloss = sum[t: 5, i: 3] (1 + 0.3 * t - 0.2 * i) * y[t, i] * y[t, i]\n",
          std::move(wrt),
          {}};
}

} // namespace

TEST_CASE("additive scans run back", "[differentiate]") {
  for (const char* binder : {"t", "t exclusive", "t desc", "t exclusive desc"}) {
    check(series(fmt::format("y[t, i] = scan sum[{}] x[t, i] * w[t, i] * v[i]", binder),
                 {"x", "w", "v"}));
    check(series(fmt::format("y[t, i] = scan sum[{} where t != 2] (x[t, i] * w[t, i])", binder),
                 {"x", "w"}));
  }
  check(series("y[t, i] = exp(scan sum[i] (x[t, i] * 0.3)) + x[t, i]"));
}

TEST_CASE("scans under other monoids", "[differentiate]") {
  for (const char* binder : {"t", "t exclusive", "t desc", "t exclusive desc"}) {
    check(series(fmt::format("y[t, i] = scan prod[{}] (x[t, i])", binder)));
    check(series(fmt::format("c[t, i] = scan max[{}] (x[t, i])\n"
                             "y[t, i] = where(c[t, i] == -inf, v[i], c[t, i])",
                             binder),
                 {"x", "v"}));
    check(
        series(fmt::format("(a[t, i], y[t, i]) = scan affine[{}](w[t, i], x[t, i] * v[i])", binder),
               {"x", "w", "v"}));
    check(series(
        fmt::format("(a[t, i], y[t, i]) = scan affine[{} where t != 1](w[t, i], x[t, i])", binder),
        {"x", "w"}));
    check(
        series(fmt::format("(n[t, i], mean[t, i], s[t, i]) = scan welford[{}](1.0, x[t, i], 0.0)\n"
                           "y[t, i] = mean[t, i] * 0.5 + s[t, i]",
                           binder)));
    check(series(fmt::format("(n[t, i], l[t, i]) = scan lse[{}](x[t, i], w[t, i] * w[t, i])\n"
                             "y[t, i] = where(n[t, i] == -inf, 0, n[t, i]) * 0.3 + l[t, i]",
                             binder),
                 {"x", "w"}));
  }
}

TEST_CASE("scans that mix the elements of a state", "[differentiate]") {
  std::string linear =
      "monoid linear(A[i: 3, k: 3] = where(i == k, 1, 0), c[i: 3] = 0) (x, y) -> (\n"
      "  sum[l] y.A[i, l] * x.A[l, k], sum[l] y.A[i, l] * x.c[l] + y.c[i])\n";
  std::string swap = "monoid rotate(p = 1.0, q = 0.0) (a, b) -> (a.p * b.p - a.q * b.q,\n"
                     "  a.p * b.q + a.q * b.p)\n";
  for (const char* binder : {"t", "t exclusive", "t desc", "t exclusive desc", "t where t != 2"}) {
    check(series(linear + fmt::format("(A[t, i, k], y[t, i]) = scan linear[{}](m[i, k] * w[t, k], "
                                      "x[t, i])",
                                      binder),
                 {"x", "w", "m"}));
    check(series(swap + fmt::format("(p[t, i], q[t, i]) = scan rotate[{}](x[t, i], w[t, i])\n"
                                    "y[t, i] = p[t, i] + 0.5 * q[t, i]",
                                    binder),
                 {"x", "w"}));
  }
}

TEST_CASE("recurrences go back through their steps", "[differentiate]") {
  check(series("h0[i: 3] = v[i]\n"
               "recur t: 5 carry h = h0 { h[i] = tanh(h[i] * 0.5 + x[t, i]) } collect y = h",
               {"x", "v"}));
  check(series("h0[i: 3] = v[i] * 2\n"
               "recur t: 5 carry h = h0 {\n"
               "  h[i] = tanh((sum[k] m[i, k] * h[k]) + x[t, i] * w[4 - t, i])\n"
               "} collect y = h",
               {"x", "w", "v", "m"}));
  // Only the last state counts; an input is read a step back, and all of it in each step.
  check({"last state",
         head + "h0[i: 3] = 0.1 * i\n"
                "recur t: 5 carry h = h0 {\n"
                "  a[i] = (x[t - 1, i] else v[i]) + (sum[k: 5] w[k, i] * x[k, i]) * 0.1\n"
                "  h[i] = sin(h[i] + a[i])\n"
                "}\n"
                "loss = sum[i] h[i] * h[i] * (i + 1)\n",
         {"x", "w", "v"},
         {}});
  // Two states that read each other; a counter; values collected beside them.
  check(series("h0[i: 3] = 0.0\nc0[i: 3] = v[i]\nn0 = 1\n"
               "recur t: 5 carry h = h0, c = c0, n = n0 {\n"
               "  g[i] = sigmoid(x[t, i] + h[2 - i])\n"
               "  c[i] = g[i] * c[i] + w[t, i] * n\n"
               "  h[i] = g[i] * tanh(c[i])\n"
               "  n = n + 1\n"
               "} collect gs = g, hs = h\n"
               "y[t, i] = gs[t, i] + hs[t, i] * c[i]",
               {"x", "w", "v"}));
  // A recurrence in a step, and one that takes no step.
  check(
      series("h0[i: 3] = v[i]\n"
             "recur t: 5 carry h = h0 {\n"
             "  g0[i] = h[i]\n"
             "  recur u: 2 carry g = g0 { g[i] = g[i] + 0.3 * sin(x[t, i] * g[2 - i] + w[u, i]) }\n"
             "  h[i] = g[i] * 0.5\n"
             "} collect y = h",
             {"x", "w", "v"}));
  check({"no step",
         "input v : f64[3]\ninput z : f64[0, 3]\n"
         "recur t: 0 carry h = v { h[i] = h[i] * z[t, i] }\n"
         "loss = sum[i] h[i] * h[i]\n",
         {"v", "z"},
         {}});
}

TEST_CASE("selective state spaces", "[differentiate]") {
  // Mamba-2: a decay per step, states n by p.
  check({"ssd",
         "input dt : f64[4]\ninput b : f64[4, 2]\ninput c : f64[4, 2]\ninput u : f64[4, 3]\n"
         "decay[t] = exp(-softplus(dt[t]))\n"
         "(a[t, n, p], s[t, n, p]) = scan affine[t](1.0 * decay[t] + 0 * n * p, dt[t] * b[t, n] * "
         "u[t, p])\n"
         "y[t, p] = sum[n] c[t, n] * s[t, n, p]\n"
         "loss = sum[t, p] (1 + t - p) * y[t, p] * y[t, p]\n",
         {"dt", "b", "c", "u"},
         {}});
  check(
      series("u[t, i] = silu(x[t, i])\n"
             "(p[t, i], s[t, i]) = scan affine[t](exp(-softplus(w[t, i])), u[t, i] * (1 + v[i]))\n"
             "y[t, i] = s[t, i] * u[t, i]",
             {"x", "w", "v"}));
}
