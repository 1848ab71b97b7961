// Compulsory traffic against numbers counted by hand, and against counting touched elements.
#include "run.h"

using namespace tang::bound::test;
using namespace tang::bound;

TEST_CASE("matmul reads each operand once and writes the result once", "[bound]") {
  Bound b = bound_of("dim M in 0..65536, N in 0..65536, K in 0..65536\n"
                     "input a : bf16[M, K]\ninput b : bf16[K, N]\n"
                     "y[i, j] = sum[k] a[i, k] * b[k, j]\noutput y : bf16[M, N]\n");
  Numbers dims{128, 256, 512};
  CHECK(b.elements("a", dims) == 128 * 512);
  CHECK(b.elements("b", dims) == 512 * 256);
  CHECK(b.elements("y", dims) == 128 * 256);
  CHECK(b.value(b.analysis.whole.read_bytes, dims) == 2 * (128 * 512 + 512 * 256));
  CHECK(b.value(b.analysis.whole.written_bytes, dims) == 2 * 128 * 256);
  SECTION("empty dims need nothing, but the zeros are written") {
    CHECK(b.elements("a", {0, 256, 512}) == 0);
    CHECK(b.elements("b", {0, 256, 512}) == 0);
    CHECK(b.elements("b", {128, 0, 512}) == 0);
    CHECK(b.elements("a", {128, 256, 0}) == 0);
    CHECK(b.elements("y", {128, 256, 0}) == 128 * 256);
    CHECK(b.elements("y", {0, 256, 512}) == 0);
  }
}

TEST_CASE("softmax in one kernel reads its input once", "[bound]") {
  Bound b = bound_of("dim M in 1..65536, N in 1..65536\ninput x : f32[M, N]\n"
                     "y[i, j] = softmax[j] x[i, j]\noutput y : f32[M, N]\n");
  CHECK(b.elements("x", {32, 100}) == 3200);
  CHECK(b.elements("y", {32, 100}) == 3200);
  CHECK(b.text(b.find(b.analysis.whole, "x")->bytes) == "4*M*N");
}

TEST_CASE("an intermediate between two kernels is written and read", "[bound]") {
  Bound b = bound_of("dim M in 1..100, K in 1..100\ninput x : f32[M, K]\n"
                     "s[i] = sum[k] x[i, k]\nm = max[i] s[i]\ny[i] = s[i] - m\n"
                     "store s : f16\noutput y : f32[M]\n",
                     false);
  REQUIRE(b.analysis.kernels.size() == 3);
  CHECK(b.elements("s", {10, 20}, 0) == 10);
  CHECK(b.elements("s", {10, 20}, 1) == 10);
  CHECK(b.elements("x", {10, 20}, 1) == 0);
  CHECK(b.whole("s", {10, 20}) == 0);
  CHECK(b.whole("x", {10, 20}) == 200);
  REQUIRE(b.analysis.edges.size() == 3);
  CHECK(b.value(b.analysis.edges[0].bytes, {10, 20}) == 20);
}

TEST_CASE("a convolution touches what its windows cover", "[bound]") {
  SECTION("stride 1, padded: all of the input") {
    Bound b = bound_of("dim N in 1..64, C in 1..64, K in 1..64, H in 1..64, W in 1..64\n"
                       "input x : f32[N, C, H, W]\nparam w : f32[K, C, 3, 3]\n"
                       "y[n, k, i: H, j: W] = sum[c, r, s] "
                       "(x[n, c, i + r - 1, j + s - 1] else 0) * w[k, c, r, s]\n"
                       "output y : f32[N, K, H, W]\n");
    CHECK(b.elements("x", {2, 3, 5, 7, 11}) == 2 * 3 * 7 * 11);
    CHECK(b.elements("w", {2, 3, 5, 7, 11}) == 5 * 3 * 9);
  }
  SECTION("stride 2, window 3, padding 1: all of it, by two residues") {
    Bound b = bound_of("dim OH in 1..64\nlet H = 1\ndim IH = 2 * OH\ninput x : f32[IH]\n"
                       "param w : f32[3]\n"
                       "y[i: OH] = sum[r] (x[2 * i + r - 1] else 0) * w[r]\noutput y : f32[OH]\n");
    CHECK(b.elements("x", {10}) == 20);
  }
  SECTION("stride 3, window 2: a third is never touched") {
    Bound b = bound_of("dim OH in 1..64\ndim IH = 3 * OH\ninput x : f32[IH]\nparam w : f32[2]\n"
                       "y[i: OH] = sum[r] x[3 * i + r] * w[r]\noutput y : f32[OH]\n");
    CHECK(b.elements("x", {10}) == 20);
  }
  SECTION("stride 2, dilation 2: even rows only") {
    Bound b = bound_sample("conv2d");
    // N, C, K, OH, OW
    CHECK(b.elements("x", {1, 2, 3, 4, 5}) == 2 * 4 * 5);
  }
  SECTION("full padding: more outputs than inputs") {
    Bound b = bound_of("dim H in 1..64\ninput x : f32[H]\nparam w : f32[3]\n"
                       "y[i: H + 2] = sum[r] (x[i + r - 2] else 0) * w[r]\n"
                       "output y : f32[H + 2]\n");
    CHECK(b.elements("x", {10}) == 10);
  }
}

TEST_CASE("gathers count the index, and rows only where they are sure to exist", "[bound]") {
  Bound b = bound_of("dim T in 1..64, V in 1..64, C in 1..64\ninput id : i32[T]\n"
                     "input w : f16[V, C]\ny[t, c] = w[id[t], c]\noutput y : f16[T, C]\n");
  CHECK(b.elements("id", {5, 10, 8}) == 5);
  CHECK(b.elements("w", {5, 10, 8}) == 0);
  Bound sure = bound_of("dim T in 1..64, V in 1..64, C in 1..64\ninput id : i32[T] in 0..<V\n"
                        "input w : f16[V, C]\ny[t, c] = w[id[t], c]\noutput y : f16[T, C]\n");
  CHECK(sure.elements("w", {5, 10, 8}) <= 8); // all ids may be equal
}

TEST_CASE("causal filters need all keys, and of values all", "[bound]") {
  Bound b = bound_of("dim S in 1..64, D in 1..64\ninput p : f32[S, S]\ninput v : f32[S, D]\n"
                     "o[i, d] = sum[j where j <= i] p[i, j] * v[j, d]\noutput o : f32[S, D]\n");
  CHECK(b.elements("v", {7, 3}) == 21);
  CHECK(b.elements("p", {7, 3}) == 28); // the lower triangle
}

TEST_CASE("a part of an intermediate needs a part of its inputs", "[bound]") {
  // Of the scores the lower triangle is needed: all queries and keys, whatever the softmax needs.
  Bound b = bound_of("dim S in 1..64, D in 1..64\ninput q : f32[S, D]\ninput k : f32[S, D]\n"
                     "input v : f32[S, D]\ns[i, j] = sum[d] q[i, d] * k[j, d]\n"
                     "p[i, j] = softmax[j where j <= i] s[i, j]\n"
                     "o[i, d] = sum[j] p[i, j] * v[j, d]\noutput o : f32[S, D]\n");
  for (const char* name : {"q", "k", "v"}) CHECK(b.whole(name, {7, 3}) == 21);
  Bound shifted =
      bound_of("dim N in 3..64\ninput x : f32[N]\nt[i] = x[i] * x[i]\nu[i] = exp(t[i])\n"
               "s = sum[i] u[i]\ny[i: N - 2] = u[i + 2] + s * 0\n"
               "z = sum[i: N - 2] u[i + 1]\noutput y : f32[N - 2]\noutput z : f32\n");
  CHECK(shifted.whole("x", {10}) == 10);
  Bound part = bound_of("dim N in 3..64, M in 1..64\ninput x : f32[N, M]\nt[i] = sum[m] x[i, m]\n"
                        "y[i: N - 2] = exp(t[i + 2])\nz[i: N - 2] = t[i + 2] * 2\n"
                        "output y : f32[N - 2]\noutput z : f32[N - 2]\n");
  CHECK(part.whole("x", {10, 5}) == 40);
}

TEST_CASE("what data decides is not counted", "[bound]") {
  Bound b = bound_of("dim N in 1..64\ninput c : bool[N]\ninput x : f32[N]\ninput z : f32[N]\n"
                     "y[i] = where(c[i], x[i], z[i])\noutput y : f32[N]\n");
  CHECK(b.elements("c", {9}) == 9);
  CHECK(b.elements("x", {9}) == 0);
  CHECK_FALSE(b.analysis.whole.reasons.empty());
  Bound filtered = bound_of("dim N in 1..64\ninput c : bool[N]\ninput x : f32[N]\n"
                            "y = sum[i where c[i]] x[i]\noutput y : f32\n");
  CHECK(filtered.elements("c", {9}) == 9);
  CHECK(filtered.elements("x", {9}) == 0);
  Bound any = bound_of("dim N in 1..64\ninput c : bool[N]\ny = any[i] c[i]\noutput y : bool\n");
  CHECK(any.elements("c", {9}) == 0);
  Bound branch = bound_of("dim N in 2..64\ninput x : f32[N]\n"
                          "y[i] = where(i == 0, 0.0, x[i])\noutput y : f32[N]\n");
  CHECK(branch.elements("x", {9}) <= 8);
}

TEST_CASE("packed elements share bytes", "[bound]") {
  Bound b = bound_of("dim N in 0..64\ninput x : i4[N]\ny[i] = x[i] + 1\noutput y : i8[N]\n");
  for (int64_t n : {0, 1, 2, 7, 8}) {
    CHECK(b.value(b.analysis.whole.read_bytes, {n}) == (n + 1) / 2);
    CHECK(b.value(b.analysis.whole.written_bytes, {n}) == n);
  }
}

TEST_CASE("outputs in place write only what changes", "[bound]") {
  Bound b = bound_sample("kv_append");
  CHECK(b.elements("grown", {2, 16, 4, 8}) == 0);
  CHECK(b.elements("cache", {2, 16, 4, 8}) == 0);
  CHECK(b.elements("at", {2, 16, 4, 8}) == 2);
}

TEST_CASE("one tensor read twice counts once", "[bound]") {
  Bound b = bound_of("dim N in 1..64, K in 1..64\ninput a : f32[N, K]\n"
                     "y[i, j] = sum[k] a[i, k] * a[j, k]\noutput y : f32[N, N]\n");
  CHECK(b.elements("a", {5, 7}) == 35);
}

TEST_CASE("recurrences count every step's inputs for the whole, one step's for a kernel",
          "[bound]") {
  Bound b = bound_of("dim T in 0..64, N in 1..64\ninput x : f32[T, N]\ninput h0 : f32[N]\n"
                     "param w : f32[N, N]\n"
                     "recur t: T carry h = h0 {\n"
                     "  h[j] = x[t, j] + sum[k] h[k] * w[k, j]\n} collect hs = h\n"
                     "output hs : f32[T, N]\noutput h as last : f32[N]\n");
  CHECK(b.whole("x", {6, 5}) == 30);
  CHECK(b.whole("w", {6, 5}) == 25);
  CHECK(b.whole("h0", {6, 5}) == 5);
  CHECK(b.whole("w", {0, 5}) == 0);
  CHECK(b.whole("hs", {6, 5}) == 30);
  const KernelBound* step = nullptr;
  for (const KernelBound& kernel : b.analysis.kernels)
    for (const TensorTraffic& t : kernel.traffic.tensors)
      if (b.graph[t.tensor].name == "x") {
        step = &kernel;
        CHECK(b.value(t.elements, {6, 5}) == 5);
      }
  REQUIRE(step);
  CHECK(b.value(step->launches, {6, 5}) == 6);
}

namespace {

/// Elements of `tensor` that one comprehension of the graph touches in a plain evaluation.
int64_t touched(const Graph& g, const Comprehension& node, TensorId tensor, const Numbers& dims) {
  ExprStore store = g.exprs;
  std::vector<Axis> axes = node.points;
  if (node.reduction)
    axes.insert(axes.end(), node.reduction->axes.begin(), node.reduction->axes.end());
  std::set<Numbers> found;
  Numbers at(axes.size(), 0);
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) extents.push_back(*value_of(store, axis.extent, dims));
  if (std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e <= 0; })) return 0;
  auto all = roots(node);
  auto terms = reachable(store, all);
  for (;;) {
    std::unordered_map<IndexId, ExprId> map;
    for (size_t i = 0; i < axes.size(); ++i) map[axes[i].index] = store.integer(at[i]);
    auto value = [&](ExprId id) { return value_of(store, substitute(store, id, map), dims); };
    bool inside = true;
    if (node.reduction) {
      if (node.reduction->filter) inside &= value(node.reduction->filter) == 1;
      for (const Axis& axis : axes) {
        if (axis.lo) inside &= *value(axis.lo) <= *value(store.index(axis.index));
        if (axis.hi) inside &= *value(axis.hi) > *value(store.index(axis.index));
      }
    }
    for (ExprId id : terms) {
      if (!inside || store[id].op != Op::read || store[id].ref != tensor.value) continue;
      Expr read = store[id];
      Numbers element;
      bool in = true;
      for (size_t k = 0; k < g[tensor].shape.size(); ++k) {
        element.push_back(value(read.operands[k]).value());
        in &= element.back() >= 0 && element.back() < *value(g[tensor].shape[k]);
      }
      if (in) found.insert(element);
    }
    size_t i = 0;
    while (i < axes.size() && ++at[i] == extents[i]) at[i++] = 0;
    if (i == axes.size()) break;
  }
  return static_cast<int64_t>(found.size());
}

} // namespace

TEST_CASE("no bound exceeds the elements that a plain evaluation touches", "[bound]") {
  struct Case {
    const char* body;
    bool exact;
  };
  const Case cases[] = {
      {"y[i: N] = sum[r: 3] (x[i + r - 1] else 0)", true},
      {"y[i: N] = sum[r: 3] (x[i + 2 * r - 2] else 0)", true},
      {"y[i: N] = sum[r: 3] (x[2 * i + r - 1] else 0)", false},
      {"y[i: N] = sum[r: 5] (x[3 * i - r + 1] else 0)", false},
      {"y[i: N] = (x[i + 2] else 0) + 1", true},
      {"y[i: N] = (x[i - 3] else 0) + 1", true},
      {"y[i: N] = (x[N - 1 - i] else 0) + 1", true},
      {"y[i: N] = x[floordiv(i, 3)] + 1", true},
      {"y[i: N] = x[mod(i, 3)] + 1", false},
      {"y[i: N] = sum[j: N where j <= i] x[j]", true},
      {"y[i: N] = sum[j: N where j < i] x[j]", false},
      {"y[i: N] = sum[j: N where i - 2 < j and j <= i] x[j]", true},
      {"y[i: N] = sum[j: N where j == i] x[j]", true},
      {"y[i: N] = sum[j: N where 2 * j <= i] x[j]", false},
      {"y[i: N] = where(i < 2, x[i], 0.0)", false},
      {"y[i: N] = max[a: 2, b: 2] (x[2 * a + b + i - 1] else 0)", true},
      {"y[i: N] = sum[a: 2, b: 2] (x[a * 2 + b] else 0)", false},
      {"y[i: N] = sum[a: N, b: N] (x[a + b + i] else 0)", false},
  };
  for (const Case& c : cases) {
    std::string body =
        std::string("dim N in 0..64\ninput x : f32[N]\n") + c.body + "\noutput y : f32[N]\n";
    SECTION(c.body) {
      Graph g = rewritten(graph_of("tg 1\n" + body));
      REQUIRE(g.nodes.size() == 1);
      Bound b = bound_graph(std::move(g));
      const auto& node = std::get<Comprehension>(b.graph.nodes[0].definition);
      for (int64_t n : {0, 1, 2, 3, 4, 5, 8, 9, 13}) {
        int64_t least = b.elements("x", {n}), most = touched(b.graph, node, b.graph.inputs[0], {n});
        INFO(n << ": " << least << " of " << most);
        CHECK(least <= most);
        if (c.exact && n >= 8) CHECK(least == most);
      }
    }
  }
}
