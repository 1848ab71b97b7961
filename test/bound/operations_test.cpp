// Operation counts against numbers counted by hand.
#include "run.h"

using namespace tang::bound::test;
using namespace tang::bound;

TEST_CASE("a matrix product is two operations a point", "[bound]") {
  Bound b = bound_of("dim M in 0..65536, N in 0..65536, K in 0..65536\n"
                     "input a : bf16[M, K]\ninput b : bf16[K, N]\n"
                     "y[i, j] = sum[k] a[i, k] * b[k, j]\noutput y : bf16[M, N]\n");
  const KernelBound& k = b.analysis.kernels[0];
  CHECK(b.value(k.operations.flops, {3, 5, 7}) == 2 * 3 * 5 * 7);
  CHECK(b.text(k.operations.flops) == "2*M*N*K");
  REQUIRE(k.contractions.size() == 1);
  CHECK(b.value(k.contractions[0].points, {3, 5, 7}) == 3 * 5 * 7);
  CHECK(k.contractions[0].bits == 8);
  REQUIRE(b.analysis.contractions.size() == 1);
}

TEST_CASE("special functions and data integers count apart; index arithmetic does not", "[bound]") {
  Bound b = bound_of("dim M in 1..64, N in 1..64\ninput x : f32[M, N]\ninput n : i32[M]\n"
                     "y[i, j: N] = exp(x[i, N - 1 - j]) + 1.0\nk[i] = n[i] * n[i] + 2\n"
                     "output y : f32[M, N]\noutput k : i32[M]\n");
  const Operations& o = b.analysis.kernels[0].operations;
  CHECK(b.value(o.flops, {3, 5}) == 15);
  CHECK(b.value(o.special, {3, 5}) == 15);
  CHECK(b.value(o.integer, {3, 5}) == 6);
}

TEST_CASE("terms count once for the indices that they depend on", "[bound]") {
  Bound b = bound_of("dim M in 1..64, N in 1..64\ninput x : f32[M]\ninput z : f32[N]\n"
                     "y[i, j] = exp(x[i]) * z[j]\noutput y : f32[M, N]\n");
  const Operations& o = b.analysis.kernels[0].operations;
  CHECK(b.value(o.special, {3, 5}) == 3);
  CHECK(b.value(o.flops, {3, 5}) == 15);
}

TEST_CASE("causal filters have a closed form", "[bound]") {
  Bound b = bound_of("dim S in 0..65536, T in 0..65536\ninput p : f32[S, T]\n"
                     "o[i] = sum[j where j <= i] p[i, j]\noutput o : f32[S]\n");
  const Operations& o = b.analysis.kernels[0].operations;
  CHECK(o.reasons.empty());
  for (int64_t s : {0, 1, 2, 7})
    for (int64_t t : {0, 1, 3, 9}) {
      int64_t points = 0;
      for (int64_t i = 0; i < s; ++i) points += std::min(i + 1, t);
      CHECK(b.value(o.flops, {s, t}) == points);
    }
}

TEST_CASE("bands and offsets are counted exactly", "[bound]") {
  const char* filters[] = {"j <= i and i - 3 < j", "j - T <= i - S", "j < i",
                           "i + 2 <= j",           "j == i + 1",     "not (j <= i)",
                           "j <= i and 2 <= j",    "3 * j <= i"};
  for (const char* filter : filters) {
    Bound b = bound_graph(graph_of(
        std::string("tg 1\ndim S in 0..64, T in 0..64\ninput p : f32[S, T]\no[i] = sum[j where ") +
        filter + "] p[i, j]\noutput o : f32[S]\n"));
    const Graph& g = b.graph;
    const auto& node = std::get<Comprehension>(g.nodes[0].definition);
    std::vector<Axis> axes{node.points[0], node.reduction->axes[0]};
    auto points = count_points(*b.analysis.formulas, axes,
                               domain_of(*b.analysis.formulas, *node.reduction).conditions);
    INFO(filter);
    if (!points) {
      CHECK((std::string(filter) == "3 * j <= i" || std::string(filter) == "j <= i and 2 <= j"));
      continue;
    }
    for (int64_t s : {0, 1, 2, 5, 8})
      for (int64_t t : {0, 1, 2, 5, 8}) {
        int64_t expected = 0;
        for (int64_t i = 0; i < s; ++i)
          for (int64_t j = 0; j < t; ++j) {
            ExprStore store = g.exprs;
            std::unordered_map<IndexId, ExprId> map{{axes[0].index, store.integer(i)},
                                                    {axes[1].index, store.integer(j)}};
            expected += *value_of(store, substitute(store, node.reduction->filter, map), {{s, t}});
          }
        INFO(s << " x " << t);
        CHECK(b.value(*points, {s, t}) == expected);
      }
  }
}

TEST_CASE("products outside the padding are not certain", "[bound]") {
  Bound b = bound_of("dim N in 1..64, C in 1..64, K in 1..64, H in 1..64\n"
                     "input x : f16[N, C, H]\nparam w : f16[K, C, 3]\n"
                     "y[n, k, i: H] = sum[c, r] (x[n, c, i + r - 1] else 0) * w[k, c, r]\n"
                     "output y : f16[N, K, H]\n");
  const KernelBound& k = b.analysis.kernels[0];
  CHECK(b.value(k.operations.flops, {2, 3, 5, 7}) == 2 * 2 * 3 * 5 * 7 * 3);
  REQUIRE(k.contractions.size() == 1);
  // Of 3 * 7 pairs two reach outside.
  CHECK(b.value(k.contractions[0].points, {2, 3, 5, 7}) == 2 * 3 * 5 * (21 - 2));
}

TEST_CASE("only products that no rewriting avoids are certain", "[bound]") {
  auto contractions = [](const std::string& body) {
    Bound b = bound_of("dim M in 1..64, N in 1..64, K in 1..64\ninput a : f32[M, K]\n"
                       "input b : f32[K, N]\ninput v : f32[M]\ninput u : f32[K]\n" +
                       body);
    std::vector<int64_t> points;
    for (const Contraction& c : b.analysis.contractions)
      points.push_back(b.value(c.points, {3, 5, 7}));
    return points;
  };
  using Points = std::vector<int64_t>;
  CHECK(contractions("y[i, j] = sum[k] a[i, k] * b[k, j]\noutput y : f32[M, N]\n") == Points{105});
  // v factors out of the sum, and what is left has no rows.
  CHECK(contractions("y[i, j] = sum[k] v[i] * b[k, j]\noutput y : f32[M, N]\n").empty());
  CHECK(contractions("y[i, j] = sum[k] (v[i] * u[k]) * b[k, j]\noutput y : f32[M, N]\n").empty());
  CHECK(contractions("y[i, j] = sum[k] (a[i, k] + b[k, j])\noutput y : f32[M, N]\n").empty());
  // (a b) z may be done as a (b z).
  CHECK(contractions("input z : f32[N, N]\nt[i, j] = sum[k] a[i, k] * b[k, j]\n"
                     "y[i, l] = sum[j] t[i, j] * z[j, l]\noutput y : f32[M, N]\n")
            .empty());
  // With something between that is not linear the first product is certain.
  CHECK(contractions("input z : f32[N, N]\nt[i, j] = sum[k] a[i, k] * b[k, j]\n"
                     "y[i, l] = sum[j] exp(t[i, j]) * z[j, l]\noutput y : f32[M, N]\n") ==
        Points{105});
  // A symmetric result needs half.
  CHECK(contractions("y[i: M, j: M] = sum[k] a[i, k] * a[j, k]\noutput y : f32[M, M]\n") ==
        Points{31});
}

TEST_CASE("a sum that two results use is counted once", "[bound]") {
  Bound b = bound_of("dim M in 1..64, N in 1..64, K in 1..64\ninput a : f32[M, K]\n"
                     "input b : f32[K, N]\ny[i, j] = sum[k] a[i, k] * b[k, j]\n"
                     "z[i, j] = y[i, j] + 1\noutput y : f32[M, N]\noutput z : f32[M, N]\n");
  // One node: the second result is an epilogue of the first.
  REQUIRE(b.graph.nodes.size() == 1);
  for (const auto* found : {&b.analysis.kernels[0].contractions, &b.analysis.contractions}) {
    REQUIRE(found->size() == 1);
    CHECK(b.value(found->front().points, {3, 5, 7}) == 3 * 5 * 7);
  }
}

TEST_CASE("sums over one loop are counted each", "[bound]") {
  auto counts = [](const std::string& body) {
    Bound b = bound_of("dim M in 1..64, N in 1..64, K in 1..64\ninput a : f32[M, K]\n"
                       "input b : f32[K, N]\ninput c : f32[K, N]\n"
                       "g[i, j] = sum[k] a[i, k] * b[k, j]\n" +
                       body + "output z : f32[M, N]\n");
    std::vector<size_t> found{b.analysis.contractions.size()};
    for (const KernelBound& kernel : b.analysis.kernels)
      found.push_back(kernel.contractions.size());
    for (const Contraction& each : b.analysis.contractions)
      CHECK(b.value(each.points, {3, 5, 7}) == 3 * 5 * 7);
    return found;
  };
  using Found = std::vector<size_t>; // in the whole graph, in its kernel
  const std::string u = "u[i, j] = sum[k] a[i, k] * c[k, j]\n";
  CHECK(counts(u + "z[i, j] = silu(g[i, j]) * u[i, j]\n") == Found{2, 2});
  CHECK(counts(u + "z[i, j] = tanh(g[i, j]) + tanh(u[i, j])\n") == Found{2, 2});
  // a b + a c is a (b + c): neither is certain, below a function too.
  CHECK(counts(u + "z[i, j] = g[i, j] + u[i, j]\n") == Found{0, 0});
  CHECK(counts(u + "z[i, j] = tanh(g[i, j] - 2 * u[i, j])\n") == Found{0, 0});
  CHECK(counts(u + "z[i, j] = where(g[i, j] <= u[i, j], 1.0, 0.0)\n") == Found{0, 0});
  // A maximum over a row is not linear in it.
  CHECK(counts("m[i] = max[j] g[i, j]\nz[i, j] = exp(g[i, j] - m[i])\n") == Found{1, 1});
  // The same product with a factor is no other product.
  CHECK(counts(
            "u[i, j] = sum[k] a[i, k] * (2 * b[k, j])\nz[i, j] = tanh(g[i, j]) * exp(u[i, j])\n") ==
        Found{1, 1});
}

TEST_CASE("sums of other tensors are added and still counted", "[bound]") {
  Bound b = bound_of("dim M in 1..64, N in 1..64, K in 1..64\ninput a : f32[M, K]\n"
                     "input b : f32[K, N]\ninput c : f32[M, K]\ninput d : f32[K, N]\n"
                     "z[i, j] = tanh((sum[k] a[i, k] * b[k, j]) + (sum[k] c[i, k] * d[k, j]))\n"
                     "output z : f32[M, N]\n");
  CHECK(b.analysis.contractions.size() == 2);
}

TEST_CASE("a product that only a branch bends may be done in another order", "[bound]") {
  auto count = [](const std::string& last) {
    Bound b = bound_of("dim M in 1..64, N in 1..64, K in 1..64\ninput a : f32[M, K]\n"
                       "input b : f32[K, N]\ninput s : f32[N, N]\ninput p : bool[M]\n"
                       "t[i, j] = sum[k] a[i, k] * b[k, j]\n"
                       "y[i, l] = sum[j] t[i, j] * s[j, l]\n" +
                       last + "output y : f32[M, N]\noutput w : f32[M, N]\n");
    return b.analysis.contractions.size();
  };
  CHECK(count("w[i, j] = exp(t[i, j])\n") == 1);
  CHECK(count("w[i, j] = relu(t[i, j])\n") == 1);
  CHECK(count("w[i, j] = where(p[i], exp(t[i, j]), 0.0)\n") == 0);
}
