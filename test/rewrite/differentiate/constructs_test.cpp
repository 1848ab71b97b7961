// Gradients through what else the language has: tables, scalars, formats, integers, whole models.
#include "gradient.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

/// The gradient by x[4] of `loss` at given values.
std::vector<double> gradient_at(const std::string& text, std::vector<double> x) {
  Graph graph = differentiated(graph_of_body(with_gradients({text, text, {"x"}, {}})));
  Arrays inputs = random_inputs(graph, {});
  inputs.at("x").reals = std::move(x);
  auto result = evaluated(graph, inputs, {}).at("grad_x").reals;
  CHECK(far_apart(result, evaluated(rewritten(graph), inputs, {}).at("grad_x").reals, 1e-9) == "");
  return result;
}

} // namespace

TEST_CASE("tables, scalars and strides", "[differentiate]") {
  for (const Function& f : std::vector<Function>{
           {"a constant table",
            "const c : f64[3] = [0.25, -0.5, 1.5]\ninput x : f64[6]\n"
            "y[i: 4] = tanh(sum[r] c[r] * x[i + r])\nloss = sum[i] y[i] * y[i] * (i + 1)\n",
            {"x"},
            {}},
           {"a scalar",
            "input t : f64\ninput x : f64[5]\np[i] = softmax[i](x[i] / (1 + t * t))\n"
            "loss = sum[i] p[i] * p[i] * (i + 1)\n",
            {"t", "x"},
            {}},
           {"rows with a stride",
            "input x : f64[3, 4]:[6, 1]\ninput w : f64[4, 3]:[1, 4]\n"
            "y[i, j] = sin(sum[k] x[i, k] * w[k, j])\nloss = sum[i, j] y[i, j] * (1 + i - 2 * j)\n",
            {"x", "w"},
            {}},
           {"indices and dims as numbers",
            "dim N in 1..9\ninput x : f64[N]\n"
            "loss = (sum[i] x[i] * x[i] * i / N) + x[N - 1] * (N - 2)\n",
            {"x"},
            {4}},
           {"a macro that keeps its index",
            "def centred[j](x) { let m = mean[j](x); x - m }\ninput x : f64[3, 4]\n"
            "y[i, j] = centred[j](exp(x[i, j]))\nloss = sum[i, j] y[i, j] * y[i, j] * (i + j)\n",
            {"x"},
            {}}})
    check(f);
}

TEST_CASE("integers and conditions carry no gradient", "[differentiate]") {
  std::string head = "input x : f64[4]\ninput w : f64[4]\ninput n : i32[4] in 0..3\n";
  for (const char* body :
       {"loss = sum[i] x[i] * x[i] * n[i] + 0\n",
        "a = argmax[i] w[i]\nloss = x[a] * x[a] * (a + 1)\n",
        "a = argmin[i] w[i]\nloss = sum[i where i != a] exp(x[i])\n",
        "b = any[i] (w[i] > 0)\nloss = sum[i] where(b, x[i] * x[i], sin(x[i]))\n",
        "b = all[i] (w[i] > 5)\nloss = sum[i] where(b, x[i] * x[i], sin(x[i]))\n",
        "c = sum[i] n[i]\nloss = sum[i] tanh(x[i] * c)\n",
        "c[i] = scan sum[i] n[i]\nloss = sum[i] tanh(x[i] * 0.1 * c[i])\n",
        "m[i] = bitxor(n[i], 1)\nloss = sum[i] x[m[i]] * x[i]\n",
        "loss = sum[i] x[i] * x[mod(n[i] + i, 4)] * floordiv(n[i], 2)\n"})
    check({body, head + body, {"x"}, {}});
}

TEST_CASE("the derivative of a conversion is 1", "[differentiate]") {
  std::string head = "input x : f64[4]\n";
  std::vector<double> x{1, 0.1, -3.3, 0.7}, wide;
  for (size_t k = 0; k < x.size(); ++k) wide.push_back(static_cast<double>(k + 1));
  CHECK(gradient_at(head + "loss = sum[i] bf16(x[i]) * (i + 1)\n", x) == wide);
  CHECK(gradient_at(head + "loss = sum[i] f8e4m3(f16(x[i])) * (i + 1)\n", x) == wide);
  CHECK(gradient_at(head + "h[i] = x[i] * (i + 1)\nstore h : f16\nloss = sum[i] h[i]\n", x) ==
        wide);
  // What is rounded in between is seen rounded.
  auto square = gradient_at(head + "h[i] = bf16(x[i])\nloss = sum[i] h[i] * h[i]\n", x);
  CHECK(far_apart({2, 2 * 0.10009765625, -6.59375, 1.3984375}, square, 1e-12) == "");
  CHECK(gradient_at(head + "loss = sum[i] f64(i32(x[i])) * x[i]\n", x) ==
        std::vector<double>{1, 0, -3, 0});
}

TEST_CASE("whole models", "[differentiate]") {
  for (const Function& f : std::vector<Function>{
           {"a block: norm, rotary grouped attention, gated layer",
            "input x : f64[3, 4]\ninput n1 : f64[4]\ninput wq : f64[4, 1, 2, 2]\n"
            "input wk : f64[4, 1, 2]\ninput wv : f64[4, 1, 2]\ninput wo : f64[1, 2, 2, 4]\n"
            "input n2 : f64[4]\ninput wg : f64[4, 3]\ninput wu : f64[4, 3]\ninput wd : f64[3, 4]\n"
            "a[t, c] = rmsnorm[c](x[t, c], n1[c], 1e-3)\n"
            "q[t, h, g, d] = sum[c] a[t, c] * wq[c, h, g, d]\n"
            "k[t, h, d] = sum[c] a[t, c] * wk[c, h, d]\nv[t, h, d] = sum[c] a[t, c] * wv[c, h, d]\n"
            "qr[t, h, g, d: 2] = where(d < 1, q[t, h, g, d] * cos(t) - q[t, h, g, d + 1] * sin(t),"
            " q[t, h, g, d] * cos(t) + q[t, h, g, d - 1] * sin(t))\n"
            "kr[t, h, d: 2] = where(d < 1, k[t, h, d] * cos(t) - k[t, h, d + 1] * sin(t),"
            " k[t, h, d] * cos(t) + k[t, h, d - 1] * sin(t))\n"
            "p[h, g, i, j] = softmax[j where j <= i](sum[d] qr[i, h, g, d] * kr[j, h, d])\n"
            "o[i, h, g, d] = sum[j] p[h, g, i, j] * v[j, h, d]\n"
            "r[t, c] = x[t, c] + sum[h, g, d] o[t, h, g, d] * wo[h, g, d, c]\n"
            "m[t, c] = rmsnorm[c](r[t, c], n2[c], 1e-3)\n"
            "u[t, f] = silu(sum[c] m[t, c] * wg[c, f]) * sum[c] m[t, c] * wu[c, f]\n"
            "y[t, c] = r[t, c] + sum[f] u[t, f] * wd[f, c]\n"
            "loss = sum[t, c] (1 + t - 0.3 * c) * y[t, c] * y[t, c]\n",
            {"x", "n1", "wq", "wk", "wv", "wo", "n2", "wg", "wu", "wd"},
            {}},
           {"attention with a sink, keys of another length",
            "input q : f64[3, 2]\ninput k : f64[4, 2]\ninput v : f64[4, 2]\ninput sink : f64\n"
            "s[i, j] = sum[d] q[i, d] * k[j, d]\nm[i] = max(max[j where j <= i + 1] s[i, j], "
            "sink)\n"
            "e[i, j] = where(j <= i + 1, exp(s[i, j] - m[i]), 0)\n"
            "l[i] = (sum[j] e[i, j]) + exp(sink - m[i])\n"
            "o[i, d] = sum[j] (e[i, j] / l[i]) * v[j, d]\nloss = sum[i, d] (1 + i) * o[i, d] * "
            "o[i, d]\n",
            {"q", "k", "v", "sink"},
            {}},
           {"the gated delta rule",
            "input q : f64[3, 2]\ninput k : f64[3, 2]\ninput v : f64[3, 2]\ninput g : f64[3]\n"
            "input b : f64[3]\ns0[a: 2, c: 2] = 0.0\n"
            "recur t: 3 carry s = s0 {\n  w[c: 2] = v[t, c] - sum[a] k[t, a] * s[a, c] * exp(-g[t] "
            "* g[t])\n"
            "  s[a, c] = s[a, c] * exp(-g[t] * g[t]) + sigmoid(b[t]) * k[t, a] * w[c]\n"
            "} collect ss = s\no[t, c] = sum[a] q[t, a] * ss[t, a, c]\n"
            "loss = sum[t, c] (1 + t) * o[t, c] * o[t, c]\n",
            {"q", "k", "v", "g", "b"},
            {}},
           {"several heads of a state space, grouped",
            "input dt : f64[3, 2]\ninput a : f64[2]\ninput b : f64[3, 2]\ninput c : f64[3, 2]\n"
            "input u : f64[3, 2, 2]\n"
            "(f[t, h, n, p], s[t, h, n, p]) = scan affine[t](exp(-softplus(dt[t, h]) * exp(a[h])) "
            "+ 0 * n * p, "
            "softplus(dt[t, h]) * b[t, n] * u[t, h, p])\n"
            "y[t, h, p] = (sum[n] c[t, n] * s[t, h, n, p]) + u[t, h, p]\n"
            "loss = sum[t, h, p] (1 + t - h) * y[t, h, p] * y[t, h, p]\n",
            {"dt", "a", "b", "c", "u"},
            {}},
           {"convolution in groups, then twice the size",
            "input x : f64[2, 2, 5]\ninput w : f64[2, 2, 2, 3]\n"
            "y[g, o, i: 5] = tanh(sum[c, r] (x[g, c, i + r - 1] else 0) * w[g, o, c, r])\n"
            "z[g, o, i: 9] = 0.5 * (y[g, o, floordiv(i, 2)] + y[g, o, floordiv(i + 1, 2)])\n"
            "loss = sum[g, o, i] (1 + i - o) * z[g, o, i] * z[g, o, i]\n",
            {"x", "w"},
            {}},
           {"a transposed convolution with padding",
            "input x : f64[4, 2]\ninput w : f64[2, 3, 2]\n"
            "y[o, i: 7] = sum[c, p, r where 2 * p + r == i + 1] x[p, c] * w[c, r, o]\n"
            "loss = sum[o, i] (1 + i - o) * y[o, i] * y[o, i]\n",
            {"x", "w"},
            {}},
           {"low-rank weights with a norm of their own",
            "input x : f64[3, 4]\ninput w : f64[4, 3]\ninput a : f64[4, 2]\ninput b : f64[2, 3]\n"
            "input m : f64[3]\nv[k, j] = w[k, j] + sum[r] a[k, r] * b[r, j]\n"
            "n[j] = sqrt(sum[k] v[k, j] * v[k, j])\n"
            "y[i, j] = m[j] * (sum[k] x[i, k] * v[k, j]) / n[j]\n"
            "loss = sum[i, j] (1 + i) * y[i, j] * y[i, j]\n",
            {"x", "w", "a", "b", "m"},
            {}},
           {"contrastive pairs",
            "input x : f64[3, 4]\ninput y : f64[3, 4]\ninput t : f64\n"
            "s[i, j] = exp(t) * sum[k] x[i, k] * y[j, k]\n"
            "a[i, j] = log_softmax[j] s[i, j]\nb[i, j] = log_softmax[i] s[i, j]\n"
            "loss = -(sum[i] (a[i, i] + b[i, i]))\n",
            {"x", "y", "t"},
            {}}})
    check(f);
}
