// Gradients of gradients, and what they cost.
#include "gradient.h"
#include <chrono>
#include <fmt/format.h>

using namespace tang;
using namespace tang::rewrite::test;

namespace {

/// `first` defines a scalar f of x; the loss mixes all of its gradient, with unequal weights.
Function twice(const std::string& first, const std::string& indices, std::vector<std::string> wrt,
               std::vector<int64_t> dims = {}) {
  std::string weight = "0.5";
  double step = 0.13;
  for (char c : indices)
    if (c >= 'a' && c <= 'z') weight += fmt::format(" + {:.2f} * {}", step, c), step += 0.21;
  return {first,
          fmt::format("{0}\ngrad f wrt x -> dx\nloss = sum[{1}] ({2}) * dx[{1}] * (dx[{1}] + 1)\n",
                      first, indices, weight),
          std::move(wrt), std::move(dims)};
}

} // namespace

TEST_CASE("second derivatives", "[differentiate]") {
  for (const Function& f : std::vector<Function>{
           twice("input x : f64[4]\nf = sum[i] x[i] * x[i] * x[i] + 0\n", "i", {"x"}),
           twice("input x : f64[4]\nf = sum[i] (exp(x[i]) + sin(x[i]) * tanh(x[i]) + sqrt(x[i] * "
                 "x[i] + 1) + "
                 "erf(x[i]) + log(x[i] * x[i] + 1) + atan2(x[i], 2) + pow(x[i] * x[i] + 1, 1.3))\n",
                 "i", {"x"}),
           twice("input x : f64[4]\nf = sum[i] (gelu(x[i]) + silu(x[i]) + softplus(x[i]) + "
                 "mish(x[i]))\n",
                 "i", {"x"}),
           twice("input x : f64[2, 3]\ninput w : f64[3, 4]\ny[i, j] = tanh(sum[k] x[i, k] * w[k, "
                 "j])\n"
                 "f = sum[i, j] y[i, j] * y[i, j]\n",
                 "i, k", {"x", "w"}),
           twice(
               "input x : f64[6]\ninput w : f64[3]\n"
               "y[i: 4] = tanh(sum[r] (x[2 * i + r - 2] else 0) * w[r])\nf = sum[i] y[i] * y[i]\n",
               "i", {"x", "w"}),
           twice("input x : f64[3, 4]\np[i, j] = softmax[j where j <= i + 1] x[i, j]\n"
                 "f = sum[i, j] p[i, j] * p[i, j] * (j + 1)\n",
                 "i, j", {"x"}),
           twice("input x : f64[3, 4]\np[i, j] = log_softmax[j] x[i, j]\n"
                 "f = sum[i: 3] p[i, i] * logsumexp[j](x[i, j] * 2)\n",
                 "i, j", {"x"}),
           twice("input x : f64[3, 4]\n(m[i], s[i]) = lse[j](x[i, j], x[i, j] * x[i, j])\n"
                 "f = sum[i] (m[i] + log(s[i]) * s[i])\n",
                 "i, j", {"x"}),
           twice("input x : f64[3, 4]\ninput w : f64[4]\ny[i, j] = layernorm[j](x[i, j], w[j], "
                 "0.1, 1e-2)\n"
                 "f = sum[i, j] y[i, j] * y[i, j] * (j + 1)\n",
                 "i, j", {"x", "w"}),
           twice("input x : f64[3, 4]\ny[i] = max[j] x[i, j] * x[i, j]\nf = sum[i] y[i] * y[i]\n",
                 "i, j", {"x"}),
           twice("input x : f64[3, 4]\n(t[i, n], at[i, n]) = topk[j; 2] x[i, j]\n"
                 "f = sum[i, n] t[i, n] * t[i, n] * t[i, n]\n",
                 "i, j", {"x"}),
           twice("input x : f64[3, 4]\ny[i] = prod[j] x[i, j]\nf = sum[i] y[i] * y[i]\n", "i, j",
                 {"x"}),
           twice("input x : f64[4, 2]\nc[t, i] = scan prod[t] (x[t, i])\nf = sum[t, i] c[t, i] * "
                 "c[t, i]\n",
                 "t, i", {"x"}),
           twice("input x : f64[4, 2]\ninput w : f64[4, 2]\n"
                 "(a[t, i], y[t, i]) = scan affine[t](w[t, i], x[t, i])\nf = sum[t, i] y[t, i] * "
                 "y[t, i] * w[t, i]\n",
                 "t, i", {"x", "w"}),
           twice("input x : f64[4, 2]\nc[t, i] = scan sum[t exclusive] tanh(x[t, i])\n"
                 "f = sum[t, i] c[t, i] * c[t, i] * (t + 1)\n",
                 "t, i", {"x"}),
           twice("input x : f64[3, 2]\ninput w : f64[2, 2]\nh0[i: 2] = 0.1\n"
                 "recur t carry h = h0 { h[i] = tanh((sum[k] w[i, k] * h[k]) + x[t, i]) } collect "
                 "hs = h\n"
                 "f = sum[t, i] hs[t, i] * hs[t, i] * (t + 1)\n",
                 "t, i", {"x", "w"}),
           twice("monoid rotate(p = 1.0, q = 0.0) (a, b) -> (a.p * b.p - a.q * b.q, a.p * b.q + "
                 "a.q * b.p)\n"
                 "input x : f64[4]\n(p[t], q[t]) = scan rotate[t](x[t], x[3 - t])\n"
                 "f = sum[t] (p[t] * p[t] + 0.5 * q[t])\n",
                 "t", {"x"}),
           twice("input x : f64[4, 2]\ninput id : i32[5] in 0..<4\ny[t, d] = tanh(x[id[t], d])\n"
                 "f = sum[t, d] y[t, d] * y[t, d] * (t + 1)\n",
                 "t, d", {"x"}),
           twice("input x : f64[3, 2]\ninput k : f64[3, 2]\ninput v : f64[3, 2]\n"
                 "p[i, j] = softmax[j where j <= i] (sum[d] x[i, d] * k[j, d])\n"
                 "o[i, d] = sum[j] p[i, j] * v[j, d]\nf = sum[i, d] o[i, d] * o[i, d]\n",
                 "i, d", {"x", "k", "v"})})
    check(f);
}

TEST_CASE("a chain of maps differentiates in linear time", "[differentiate]") {
  auto seconds = [](int length) {
    std::string text = "input x : f32[8]\n";
    std::string before = "x";
    for (int n = 0; n < length; ++n) {
      std::string name = "h" + std::to_string(n);
      const char* body = n % 3 == 0   ? "{0}[i] = sin({1}[i]) * x[i]\n"
                         : n % 3 == 1 ? "{0}[i] = where({1}[i] > 0, {1}[i], 0.1 * {1}[i])\n"
                                      : "{0}[i: 8] = ({1}[i - 1] else 0) + {1}[i]\n";
      text += fmt::format(fmt::runtime(body), name, before);
      before = name;
    }
    text += fmt::format("loss = sum[i] {}[i]\ngrad loss wrt x -> dx\noutput dx : f32[8]\n", before);
    Graph graph = graph_of_body(text);
    auto start = std::chrono::steady_clock::now();
    graph = rewrite::differentiate(std::move(graph));
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    CHECK(graph.nodes.size() < static_cast<size_t>(6 * length + 10));
    verify(graph, "differentiate");
    return elapsed.count();
  };
  double small = seconds(1000), large = seconds(10000);
  INFO(small << " s for 1000, " << large << " s for 10000");
  CHECK(large < 30 * small);
}

TEST_CASE("a tensor that very many read has an adjoint of many small nodes", "[differentiate]") {
  std::string text = "input x : f64[3]\n", total;
  for (int n = 0; n < 1000; ++n) {
    text += fmt::format("y{0}[i] = x[i] * x[2 - i] + {0}\n", n);
    total += fmt::format("{}y{}[i]", n ? " + " : "", n);
  }
  text += fmt::format("y[i] = {}\nloss = sum[i] y[i] * y[i] * 1e-9\n", total);
  Function f{"many readers", text, {"x"}, {}};
  Graph graph = differentiated(graph_of_body(with_gradients(f)));
  Arrays inputs = random_inputs(graph, {});
  inputs.at("x").reals = {1, 2, 3};
  // y = 1000 x[i] x[2-i] + 499500
  double a = 1e-9 * 2 * (1000 * 3 + 499500) * 1000 * 2,
         b = 1e-9 * 2 * (1000 * 4 + 499500) * 1000 * 2;
  CHECK(far_apart({3 * a, 2 * b, 1 * a}, evaluated(graph, inputs, {}).at("grad_x").reals, 1e-12) ==
        "");
  for (const Node& node : graph.nodes)
    for (ExprId id : roots(std::get<Comprehension>(node.definition)))
      CHECK(graph.exprs[id].tree_size < 5000);
}
