// Gradients of what networks are made of.
#include "gradient.h"
#include <fmt/format.h>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

void check_all(const std::vector<Function>& functions) {
  for (const Function& function : functions) check(function);
}

/// Weights that no two elements share, so that a transposed gradient is seen.
std::string weighted(const std::string& y, const std::string& indices) {
  std::string weight = "0.5";
  double step = 0.13;
  for (char c : indices)
    if (c >= 'a' && c <= 'z') weight += fmt::format(" + {:.2f} * {}", step, c), step += 0.21;
  return fmt::format("loss = sum[{0}] ({1}) * {2}[{0}] * {2}[{0}]\n", indices, weight, y);
}

} // namespace

TEST_CASE("layers", "[differentiate]") {
  check_all({
      {"linear",
       "dim M\ninput x : f64[M, 3]\ninput w : f64[3, 4]\ninput b : f64[4]\n"
       "y[i, j] = silu(sum[k] x[i, k] * w[k, j] + b[j])\n" +
           weighted("y", "i, j"),
       {"x", "w", "b"},
       {3}},
      {"two layers, residual",
       "input x : f64[2, 3]\ninput w : f64[3, 5]\ninput u : f64[5, 3]\n"
       "h[i, j] = gelu(sum[k] x[i, k] * w[k, j])\n"
       "y[i, k] = x[i, k] + sum[j] h[i, j] * u[j, k]\n" +
           weighted("y", "i, k"),
       {"x", "w", "u"},
       {}},
      {"gated",
       "input x : f64[2, 3]\ninput w : f64[3, 4]\ninput u : f64[3, 4]\ninput d : f64[4, 3]\n"
       "g[i, f] = sum[h] x[i, h] * w[h, f]\nv[i, f] = sum[h] x[i, h] * u[h, f]\n"
       "y[i, h] = sum[f] swiglu(g[i, f], v[i, f]) * d[f, h]\n" +
           weighted("y", "i, h"),
       {"x", "w", "u", "d"},
       {}},
      {"bilinear",
       "input x : f64[3]\ninput y : f64[4]\ninput w : f64[3, 4]\n"
       "loss = sum[i, j] x[i] * w[i, j] * y[j]\n",
       {"x", "y", "w"},
       {}},
      {"batched, transposed",
       "input x : f64[2, 3, 4]\ninput w : f64[2, 4, 2]\n"
       "y[b, j, i] = sum[k] x[b, i, k] * w[b, k, j]\n" +
           weighted("y", "b, j, i"),
       {"x", "w"},
       {}},
      {"softmax",
       "input x : f64[3, 4]\np[i, j] = softmax[j] x[i, j]\n" + weighted("p", "i, j"),
       {"x"},
       {}},
      {"softmax over two indices",
       "input x : f64[3, 4]\np[i, j] = softmax[i, j] x[i, j]\n" + weighted("p", "i, j"),
       {"x"},
       {}},
      {"softmin, normalized",
       "input x : f64[3, 4]\np[i, j] = softmin[j](normalize[j](x[i, j], 1e-3))\n" +
           weighted("p", "i, j"),
       {"x"},
       {}},
      {"log-softmax",
       "input x : f64[3, 4]\np[i, j] = log_softmax[j] x[i, j]\n" + weighted("p", "i, j"),
       {"x"},
       {}},
      {"logsumexp",
       "input x : f64[3, 4]\ny[i] = logsumexp[j](x[i, j])\n" + weighted("y", "i"),
       {"x"},
       {}},
      {"online logsumexp",
       "input x : f64[3, 4]\n(m[i], s[i]) = lse[j](x[i, j], 1)\ny[i] = m[i] + log(s[i])\n" +
           weighted("y", "i"),
       {"x"},
       {}},
      {"online softmax, its parts",
       "input x : f64[3, 4]\ninput v : f64[3, 4]\n(m[i], s[i]) = lse[j](x[i, j], v[i, j])\n"
       "y[i] = m[i] * s[i]\n" +
           weighted("y", "i"),
       {"x", "v"},
       {}},
      {"layer norm",
       "input x : f64[3, 4]\ninput w : f64[4]\ninput b : f64[4]\n"
       "y[i, j] = layernorm[j](x[i, j], w[j], b[j], 1e-3)\n" +
           weighted("y", "i, j"),
       {"x", "w", "b"},
       {}},
      {"rms norm",
       "input x : f64[3, 4]\ninput w : f64[4]\ny[i, j] = rmsnorm[j](x[i, j], w[j], 1e-3)\n" +
           weighted("y", "i, j"),
       {"x", "w"},
       {}},
      {"batch norm",
       "input x : f64[4, 3]\ninput w : f64[3]\n"
       "y[i, j] = (x[i, j] - mean[n](x[n, j])) * rsqrt(var[n](x[n, j]) + 1e-3) * w[j]\n" +
           weighted("y", "i, j"),
       {"x", "w"},
       {}},
      {"group norm",
       "input x : f64[2, 6]\ny[i, g: 2, c: 3] = layernorm[c](x[i, 3 * g + c], 1, 0, 1e-3)\n"
       "loss = sum[i, g: 2, c: 3] (1 + 0.3 * i - g + 0.2 * c) * y[i, g, c] * y[i, g, c]\n",
       {"x"},
       {}},
      {"deviation",
       "input x : f64[3, 4]\ny[i] = std_unbiased[j](x[i, j])\n" + weighted("y", "i"),
       {"x"},
       {}},
  });
}

TEST_CASE("convolutions and pooling", "[differentiate]") {
  check_all({
      {"stride, dilation, padding",
       "input x : f64[2, 7, 8]\ninput w : f64[3, 2, 3, 2]\n"
       "y[o, i: 3, j: 4] = sum[c, r, s] (x[c, 3 * i + 2 * r - 2, 2 * j + 3 * s - 1] else 0) * w[o, "
       "c, r, s]\n" +
           weighted("y", "o, i, j"),
       {"x", "w"},
       {}},
      {"one dimension, same padding",
       "dim N\ninput x : f64[N]\ninput w : f64[3]\n"
       "y[i: N] = sum[r] (x[i + r - 1] else 0) * w[r]\n" +
           weighted("y", "i"),
       {"x", "w"},
       {5}},
      {"transposed, by a filter",
       "input x : f64[4]\ninput w : f64[3]\n"
       "y[i: 9] = sum[o, r where 2 * o + r == i] x[o] * w[r]\n" +
           weighted("y", "i"),
       {"x", "w"},
       {}},
      {"transposed, by a division",
       "input x : f64[4, 2]\ninput w : f64[2, 3]\n"
       "y[i: 8] = sum[c, r where mod(i + 1 - r, 2) == 0] (x[floordiv(i + 1 - r, 2), c] else 0) * "
       "w[c, r]\n" +
           weighted("y", "i"),
       {"x", "w"},
       {}},
      {"depthwise",
       "input x : f64[3, 6]\ninput w : f64[3, 2]\ny[c, i: 5] = sum[r] x[c, i + r] * w[c, r]\n" +
           weighted("y", "c, i"),
       {"x", "w"},
       {}},
      {"max pool",
       "input x : f64[6, 5]\ny[i: 3, j: 2] = max[r: 2, s: 3] x[2 * i + r, 2 * j + s]\n" +
           weighted("y", "i, j"),
       {"x"},
       {}},
      {"mean pool, padded",
       "input x : f64[6, 5]\n"
       "y[i: 3, j: 3] = mean[r: 3, s: 3](x[2 * i + r - 1, 2 * j + s - 1] else 0)\n" +
           weighted("y", "i, j"),
       {"x"},
       {}},
      {"shuffled channels",
       "input x : f64[4, 2, 3]\n"
       "y[i: 4, j: 6] = x[2 * mod(i, 2) + mod(j, 2), floordiv(i, 2), floordiv(j, 2)]\n" +
           weighted("y", "i, j"),
       {"x"},
       {}},
  });
}

TEST_CASE("attention", "[differentiate]") {
  std::string scores = "s[b, h, g, i, j] = 0.5 * sum[d] q[b, i, h, g, d] * k[b, j, h, d]\n";
  std::string head = "input q : f64[1, 3, 2, 2, 2]\ninput k : f64[1, 4, 2, 2]\n"
                     "input v : f64[1, 4, 2, 2]\n";
  auto attention = [&](const std::string& p) {
    return head + scores + p + "o[b, i, h, g, d] = sum[j] p[b, h, g, i, j] * v[b, j, h, d]\n" +
           weighted("o", "b, i, h, g, d");
  };
  check_all({
      {"grouped queries, causal",
       attention("p[b, h, g, i, j] = softmax[j where j - 4 <= i - 3] s[b, h, g, i, j]\n"),
       {"q", "k", "v"},
       {}},
      {"soft cap, window",
       attention("p[b, h, g, i, j] = softmax[j where j <= i + 1 and i <= j + 1] "
                 "(3 * tanh(s[b, h, g, i, j] / 3))\n"),
       {"q", "k", "v"},
       {}},
      {"linear bias by infinite scores",
       attention(
           "p[b, h, g, i, j] = softmax[j] where(j <= i, s[b, h, g, i, j] - 0.3 * (i - j), -inf)\n"),
       {"q", "k", "v"},
       {}},
      {"queries share heads by division",
       "input q : f64[4, 3, 2]\ninput k : f64[2, 3, 2]\ninput v : f64[2, 3, 2]\n"
       "p[h, i, j] = softmax[j where j <= i] (sum[d] q[h, i, d] * k[floordiv(h, 2), j, d])\n"
       "o[h, i, d] = sum[j] p[h, i, j] * v[floordiv(h, 2), j, d]\n" +
           weighted("o", "h, i, d"),
       {"q", "k", "v"},
       {}},
      {"rotary positions",
       "input x : f64[3, 4]\ninput f : f64[2]\n"
       "a[t, n: 2] = x[t, n] * cos(t * f[n]) - x[t, n + 2] * sin(t * f[n])\n"
       "b[t, n: 2] = x[t, n + 2] * cos(t * f[n]) + x[t, n] * sin(t * f[n])\n"
       "y[t, n: 4] = where(n < 2, (a[t, n] else 0), (b[t, n - 2] else 0))\n" +
           weighted("y", "t, n"),
       {"x", "f"},
       {}},
      {"pages of keys",
       "input q : f64[2]\ninput k : f64[3, 2, 2]\ninput table : i32[2] in 0..<3\n"
       "s[j: 4] = sum[d] q[d] * k[table[floordiv(j, 2)], mod(j, 2), d]\n"
       "p[j] = softmax[j] s[j]\n"
       "o[d] = sum[j: 4] p[j] * k[table[floordiv(j, 2)], mod(j, 2), d]\n" +
           weighted("o", "d"),
       {"q", "k"},
       {}},
      {"linear attention",
       "input q : f64[3, 2]\ninput k : f64[3, 2]\ninput v : f64[3, 2]\n"
       "s[t, a, b] = scan sum[t] (k[t, a] * v[t, b])\n"
       "o[t, b] = sum[a] q[t, a] * s[t, a, b]\n" +
           weighted("o", "t, b"),
       {"q", "k", "v"},
       {}},
  });
}

TEST_CASE("losses", "[differentiate]") {
  check_all({
      {"cross-entropy",
       "input x : f64[3, 4]\ninput t : i32[3] in 0..<4\n"
       "p[i, j] = log_softmax[j] x[i, j]\nloss = -(mean[i](p[i, t[i]]))\n",
       {"x"},
       {}},
      {"cross-entropy of the embedding",
       "input e : f64[4, 3]\ninput u : f64[4, 3]\ninput t : i32[5] in 0..<4\n"
       "h[i, d] = e[t[i], d]\nx[i, v] = sum[d] h[i, d] * u[v, d]\n"
       "p[i, v] = log_softmax[v] x[i, v]\nloss = -(mean[i: 4](p[i, t[i + 1]]))\n",
       {"e", "u"},
       {}},
      {"label smoothing",
       "input x : f64[3, 4]\np[i, j] = log_softmax[j] x[i, j]\n"
       "loss = -(sum[i, j] p[i, j] * where(j == i, 0.9, 0.1 / 3))\n",
       {"x"},
       {}},
      {"squares",
       "input x : f64[3, 4]\ninput y : f64[3, 4]\nloss = mean[i, j](square(x[i, j] - y[i, j]))\n",
       {"x", "y"},
       {}},
      {"huber",
       "input x : f64[5]\ninput y : f64[5]\n"
       "loss = sum[i] where(abs(x[i] - y[i]) < 0.7, 0.5 * square(x[i] - y[i]), 0.7 * (abs(x[i] - "
       "y[i]) - 0.35))\n",
       {"x", "y"},
       {}},
      {"divergence",
       "input x : f64[2, 4]\ninput y : f64[2, 4]\np[i, j] = softmax[j] x[i, j]\n"
       "lp[i, j] = log_softmax[j] x[i, j]\nlq[i, j] = log_softmax[j] y[i, j]\n"
       "loss = sum[i, j] p[i, j] * (lp[i, j] - lq[i, j])\n",
       {"x", "y"},
       {}},
      {"cosine of pairs",
       "input x : f64[3, 4]\nn[i] = norm2[k](x[i, k])\n"
       "c[i, j] = (sum[k] x[i, k] * x[j, k]) / (n[i] * n[j])\n"
       "loss = sum[i: 3, j: 3 where j < i] (1 + i) * c[i, j]\n",
       {"x"},
       {}},
      {"distances of pairs",
       "input x : f64[3, 2]\ninput y : f64[4, 2]\n"
       "d[i, j] = sqrt(sum[k] square(x[i, k] - y[j, k]))\nloss = sum[i] (min[j] d[i, j])\n",
       {"x", "y"},
       {}},
      {"triplets",
       "input x : f64[4, 3]\nloss = sum[i: 2] relu(1.5 + (sum[k] x[i, k] * x[i + 1, k]) - "
       "(sum[k] x[i, k] * x[i + 2, k]))\n",
       {"x"},
       {}},
  });
}

TEST_CASE("routing", "[differentiate]") {
  check_all({
      {"mixture of experts",
       "input x : f64[4, 3]\ninput wr : f64[3, 5]\ninput wu : f64[5, 3, 2]\ninput wd : f64[5, 2, "
       "3]\n"
       "logit[t, e] = sum[h] x[t, h] * wr[h, e]\n"
       "(gate[t, n], id[t, n]) = topk[e; 2] logit[t, e]\n"
       "a[t, n] = softmax[n] gate[t, n]\n"
       "z[t, n, f] = silu(sum[h] x[t, h] * wu[id[t, n], h, f])\n"
       "y[t, h] = sum[n, f] a[t, n] * z[t, n, f] * wd[id[t, n], f, h]\n" +
           weighted("y", "t, h"),
       {"x", "wr", "wu", "wd"},
       {}},
      {"mixture without a way back",
       "input x : f64[4, 3]\ninput wr : f64[3, 5]\ninput wu : f64[5, 3, 2]\n"
       "logit[t, e] = sum[h] x[t, h] * wr[h, e]\n"
       "(gate[t, n], id[t, n]) = topk[e; 2] logit[t, e]\n"
       "a[t, n] = softmax[n] gate[t, n]\n"
       "z[t, n, f] = silu(sum[h] x[t, h] * wu[id[t, n], h, f])\n"
       "y[t, f] = sum[n] a[t, n] * z[t, n, f]\n" +
           weighted("y", "t, f"),
       {"x", "wr", "wu"},
       {}},
      {"scatter by a sum",
       "input x : f64[5, 2]\ninput id : i32[5] in 0..<3\n"
       "y[s: 3, d] = sum[t where id[t] == s] x[t, d]\n" +
           weighted("y", "s, d"),
       {"x"},
       {}},
      {"gather of a gather",
       "input x : f64[3, 2]\ninput id : i32[4] in 0..<3\ninput at : i32[5] in 0..<4\n"
       "y[t, d] = x[id[at[t]], d] * x[id[at[4 - t]], 1 - d]\n" +
           weighted("y", "t, d"),
       {"x"},
       {}},
      {"gather with another value outside",
       "input x : f64[3]\ninput v : f64[6]\ninput id : i32[6] in -2..4\n"
       "y[t] = x[id[t]] else (v[t] * 2)\n" +
           weighted("y", "t"),
       {"x", "v"},
       {}},
  });
}

TEST_CASE("recurrent cells", "[differentiate]") {
  check_all({
      {"long short-term memory",
       "input x : f64[3, 2]\ninput wx : f64[2, 4, 3]\ninput wh : f64[3, 4, 3]\ninput b : f64[4, "
       "3]\n"
       "h0[i: 3] = 0.0\nc0[i: 3] = 0.0\n"
       "recur t: 3 carry h = h0, c = c0 {\n"
       "  g[n, i] = sum[k] x[t, k] * wx[k, n, i]\n"
       "  r[n, i] = sum[k] h[k] * wh[k, n, i]\n"
       "  a[n, i] = g[n, i] + r[n, i] + b[n, i]\n"
       "  c[i] = sigmoid(a[1, i]) * c[i] + sigmoid(a[0, i]) * tanh(a[2, i])\n"
       "  h[i] = sigmoid(a[3, i]) * tanh(c[i])\n"
       "} collect hs = h\n" +
           weighted("hs", "t, i"),
       {"x", "wx", "wh", "b"},
       {}},
      {"gated unit, symbolic length",
       "dim T\ninput x : f64[T, 2]\ninput w : f64[2, 2]\ninput h0 : f64[2]\n"
       "recur t: T carry h = h0 {\n"
       "  z[i] = sigmoid(x[t, i] + sum[k] w[k, i] * h[k])\n"
       "  h[i] = (1 - z[i]) * h[i] + z[i] * tanh(x[t, i] * h[i])\n"
       "} collect hs = h\n"
       "loss = (sum[t, i] hs[t, i] * hs[t, i] * (1 + t)) + h[0] * h[1]\n",
       {"x", "w", "h0"},
       {4}},
      {"repeated layers",
       "input x : f64[2, 3]\ninput w : f64[2, 3, 3]\nh[i, j] = x[i, j]\n"
       "repeat l in 0..<2 carry h { h[i, j] = h[i, j] + tanh(sum[k] h[i, k] * w[l, k, j]) }\n" +
           weighted("h", "i, j"),
       {"x", "w"},
       {}},
  });
}

TEST_CASE("a stabilising maximum gets no gradient, and its proof is printed",
          "[drop_stabilizer_gradient]") {
  auto text_of = [](const Function& f) {
    return to_text(differentiated(graph_of_body(with_gradients(f))));
  };
  std::string head = "input x : f64[3, 4]\ninput t : i32[3] in 0..<4\n";
  struct Case {
    std::string text;
    std::string proof;
  };
  for (const Case& c : std::vector<Case>{
           {"y[i, j] = softmax[j] x[i, j]\nloss = sum[i, j] y[i, j] * j\n",
            "`y_max` 1 additive, `y_sum` -1 multiplicative, `y` 0\n"},
           {"y[i, j] = softmax[j where j <= i] x[i, j]\nloss = sum[i, j] y[i, j] * j\n",
            "`y_max` 1 additive, `y_sum` -1 multiplicative, `y` 0\n"},
           {"y[i, j] = log_softmax[j] x[i, j]\nloss = sum[i] y[i, t[i]]\n",
            "`y_max` 1 additive, `y_sum` -1 multiplicative, `y` 0\n"},
           {"y[i] = logsumexp[j](x[i, j])\nloss = sum[i] y[i]\n",
            "`y_max` 1 additive, `y_sum` -1 multiplicative, `y` 0\n"},
           {"(m[i], s[i]) = lse[j](x[i, j], 1)\nloss = sum[i] (m[i] + log(s[i]))\n",
            "`m` 1 additive, `s` -1 multiplicative, `loss` 0\n"},
           {"m[i] = max[j] x[i, j]\ne[i, j] = exp(2 * (x[i, j] - m[i]))\nl[i] = sum[j] e[i, j]\n"
            "loss = sum[i] (log(l[i]) + 2 * m[i])\n",
            "`m` 1 additive, `e` -2 multiplicative, `l` -2 multiplicative, `loss` 0\n"}}) {
    Function f{c.text, head + c.text, {"x"}, {}};
    check(f);
    std::string text = text_of(f);
    INFO(text);
    CHECK(text.find("degrees of shift: " + c.proof) != std::string::npos);
    CHECK(text.find("argmax") == std::string::npos);
  }
  // What a proof does not cover is differentiated in full.
  for (const std::string& body :
       {std::string("m[i] = max[j] x[i, j]\nloss = sum[i] m[i]\n"),
        std::string("m[i] = max[j] x[i, j]\nloss = sum[i, j] exp(x[i, j] - 1.001 * m[i])\n"),
        // Shifted as a whole it stays, but not row by row.
        std::string("m[i] = max[j] x[i, j]\nloss = sum[i: 3, k: 3] (m[i] - m[k]) * i\n"),
        std::string("m[i] = max[j] x[i, j]\nloss = sum[i, j] tanh(x[i, j] - m[i])\n")}) {
    Function f{body, head + body, {"x"}, {}};
    check(f);
    CHECK(text_of(f).find("argmax") != std::string::npos);
  }
}

TEST_CASE("gradients of stacked weights are stored layer by layer", "[differentiate]") {
  auto elements = [](int layers) {
    Function f{fmt::format("{} layers", layers),
               fmt::format("input x : f64[2, 3]\ninput w : f64[{0}, 3, 3]\ninput b : f64[3, {0}]\n"
                           "h[i, j] = x[i, j]\n"
                           "repeat l in 0..<{0} carry h {{\n"
                           "  h[i, j] = h[i, j] + tanh((sum[k] h[i, k] * w[l, k, j]) + b[j, l])\n"
                           "}}\n",
                           layers) +
                   weighted("h", "i, j"),
               {"x", "w", "b"},
               {}};
    if (layers < 5) check(f);
    Graph graph = differentiated(graph_of_body(with_gradients(f)));
    int64_t sum = 0;
    for (const Tensor& tensor : graph.tensors) {
      int64_t size = 1;
      for (ExprId extent : tensor.shape) size *= *graph.exprs.as_integer(extent);
      sum += size;
    }
    return sum;
  };
  elements(3);
  CHECK(elements(24) < 2.5 * elements(12));
}
