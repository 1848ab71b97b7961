// Passes are linear in the size of the graph.
#include "../graph/build.h"
#include "run.h"
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <map>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

/// What running the passes costs, counted: it is the same on every machine.
struct Work {
  size_t nodes = 0;                           ///< that are left
  size_t most = 0;                            ///< nodes after any pass
  size_t terms = 0;                           ///< made on the way
  std::map<std::string_view, double> seconds; ///< of the processor, by pass
};

/// Every pass by itself may take at most this long. The limit leaves room for an unoptimised build
/// on a busy machine; a pass that is not linear takes minutes.
constexpr double patience = 60;

Work work(Graph g, const std::function<void(const Pass&, const Graph&)>& after = {}) {
  Work w;
  size_t before = g.exprs.size();
  auto start = std::chrono::steady_clock::now();
  std::clock_t busy = std::clock();
  Graph out = run_passes(std::move(g), 2, [&](const Pass& pass, const Graph& now) {
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    INFO(pass.name);
    CHECK(taken.count() < patience);
    w.most = std::max(w.most, now.nodes.size());
    w.seconds[pass.name] = static_cast<double>(std::clock() - busy) / CLOCKS_PER_SEC;
    if (after) after(pass, now);
    start = std::chrono::steady_clock::now(), busy = std::clock();
  });
  w.nodes = out.nodes.size(), w.terms = out.exprs.size() - std::min(before, out.exprs.size());
  verify(out, "all passes");
  return w;
}

/// Adds a loss over the last tensor, and its gradient by the first input.
Graph with_gradient(Builder& b, TensorId last, ExprId extent) {
  b.begin();
  Axis i = b.axis("i", extent);
  TensorId loss = b.reduce("loss", "sum", {}, {i}, {}, {b.read(last, {b.at(i)})});
  TensorId x = b.graph.inputs[0];
  TensorId dx = b.tensor("dx", TensorKind::output, ElemType::f32, b.graph[x].shape);
  b.graph.nodes.push_back({Gradient{loss, {}, {{x, dx}}}, {}, {}});
  return std::move(b.graph);
}

/// A chain of maps, all of them elementwise; its gradient, when asked for.
Graph chain(int length, bool gradient) {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {b.n(64)});
  for (int k = 0; k < length; ++k) {
    b.begin();
    Axis i = b.axis("i", b.n(64));
    t = b.map("h", {i}, b.s.unary(k % 2 ? Op::tanh : Op::neg, b.read(t, {b.at(i)})),
              k + 1 == length && !gradient ? Builder::output : TensorKind::intermediate);
  }
  return gradient ? with_gradient(b, t, b.n(64)) : std::move(b.graph);
}

/// Each level reads the one before twice; when they differ, at two places.
Graph doubling(int levels, bool gradient, bool differ) {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {b.n(64)});
  for (int k = 0; k < levels; ++k) {
    TensorId halves[2];
    for (int side = 0; side < 2; ++side) {
      b.begin();
      Axis i = b.axis("i", b.n(64));
      // The mirrored read makes every level need two places of the one before.
      ExprId place = side && differ ? b.sub(b.n(63), b.at(i)) : b.at(i);
      Op op = side ? Op::tanh : Op::sin;
      halves[side] = b.map("h", {i}, b.s.unary(op, b.read(t, {place})));
    }
    b.begin();
    Axis i = b.axis("i", b.n(64));
    t = b.map("t", {i}, b.add(b.read(halves[0], {b.at(i)}), b.read(halves[1], {b.at(i)})),
              k + 1 == levels && !gradient ? Builder::output : TensorKind::intermediate);
  }
  return gradient ? with_gradient(b, t, b.n(64)) : std::move(b.graph);
}

/// Recurrences one after another, each given what the one before collects: the states of affine
/// ones, or what is read of states that a contraction corrects.
Graph chain_of_recurrences(int length, bool corrected) {
  std::string text = "tg 1\ngraph chain\ndim T in 0..100000, P in 1..4096, N in 1..4096\n"
                     "input x : f32[T, P]\ninput a : f32[T]\ninput k : f32[T, N]\n"
                     "init[p: P, n: N] = 0.0\nzero[p: P] = 0.0\ny0[t, p] = x[t, p]\n";
  for (int n = 0; n < length; ++n)
    text += corrected
                ? fmt::format("recur t: T carry s{1} = init {{\n"
                              "  r[p] = sum[n] s{1}[p, n] * k[t, n]\n"
                              "  s{1}[p, n] = a[t] * s{1}[p, n] + (y{0}[t, p] - r[p]) * k[t, n]\n"
                              "  o[p] = sum[n] s{1}[p, n] * k[t, n]\n}} collect y{1} = o\n",
                              n, n + 1)
                : fmt::format("recur t: T carry h{1} = zero {{\n"
                              "  h{1}[p] = a[t] * h{1}[p] + y{0}[t, p]\n"
                              "}} collect y{1} = h{1}\n",
                              n, n + 1);
  return graph_of(text + fmt::format("output y{} : f32[T, P]\n", length));
}

/// Scans one after another. Of each the states are contracted, or only the end is read.
Graph chain_of_scans(int length, bool ends) {
  std::string text = "tg 1\ngraph chain\ndim T in 0..100000, P in 1..4096, N in 1..4096\n"
                     "input x : f32[T, P]\ninput a : f32[T]\ninput k : f32[T, N]\n"
                     "y0[t, p] = x[t, p]\n";
  for (int n = 0; n < length; ++n)
    text +=
        ends ? fmt::format("(d{1}[t, p], s{1}[t, p]) = scan affine[t](a[t], y{0}[t, p])\n"
                           "e{1}[p: P] = where(0 < T, s{1}[T - 1, p], 1)\n"
                           "y{1}[t, p] = x[t, p] * e{1}[p]\n",
                           n, n + 1)
             : fmt::format("u{1}[t, p, n] = y{0}[t, p] * k[t, n]\n"
                           "(d{1}[t, p, n], s{1}[t, p, n]) = scan affine[t](a[t], u{1}[t, p, n])\n"
                           "y{1}[t, p] = sum[n] s{1}[t, p, n] * k[t, n]\n",
                           n, n + 1);
  return graph_of(text + fmt::format("output y{} : f32[T, P]\n", length));
}

/// Nodes with a step of this law behind them, in recurrences as well.
size_t made_by(const Graph& g, const std::string& law) {
  size_t count = 0;
  auto look = [&](auto& self, const std::vector<Node>& nodes) -> void {
    for (const Node& node : nodes) {
      count += std::any_of(node.derivation.begin(), node.derivation.end(),
                           [&](const std::string& step) { return step.starts_with(law); });
      if (const auto* r = std::get_if<Recur>(&node.definition)) self(self, r->body);
    }
  };
  look(look, g.nodes);
  return count;
}

} // namespace

TEST_CASE("a chain of 50000 maps", "[scale]") {
  Work w = work(chain(50000, false));
  CHECK(w.nodes < 1000);
  CHECK(w.terms < 50000 * 20);
}

TEST_CASE("the gradient of a chain of maps is linear", "[scale]") {
  Work small = work(chain(5000, true)), large = work(chain(50000, true));
  INFO(large.most << " nodes, " << large.terms << " terms");
  CHECK(large.most < 50000 * 3);
  CHECK(large.nodes < 11 * small.nodes);
  CHECK(large.terms < 11 * small.terms);
}

TEST_CASE("doubling DAGs and their gradients are linear", "[scale]") {
  for (bool differ : {false, true})
    for (bool gradient : {false, true}) {
      INFO((differ ? "halves differ" : "equal halves") << (gradient ? ", gradient" : ""));
      Work small = work(doubling(30, gradient, differ)),
           large = work(doubling(60, gradient, differ));
      INFO(large.most << " nodes, " << large.terms << " terms; half of it " << small.terms);
      CHECK(large.most <= 60 * 10);
      CHECK(large.terms < 2.3 * small.terms);
    }
}

TEST_CASE("a chain of 1000 shifted maps", "[scale]") {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {b.n(64)});
  for (int k = 0; k < 1000; ++k) {
    b.begin();
    Axis i = b.axis("i", b.n(64));
    ExprId x = b.read(t, {b.add(b.at(i), b.n(1))}, b.r(0));
    t = b.map("h", {i}, b.s.unary(Op::exp, x),
              k == 999 ? Builder::output : TensorKind::intermediate);
  }
  CHECK(work(std::move(b.graph)).nodes < 200);
}

TEST_CASE("a doubling DAG of 60 levels", "[scale]") {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {b.n(64)});
  for (int k = 0; k < 60; ++k) {
    b.begin();
    Axis i = b.axis("i", b.n(64));
    ExprId x = b.read(t, {b.at(i)});
    t = b.map("h", {i}, b.add(x, b.mul(x, b.r(0.5))),
              k == 59 ? Builder::output : TensorKind::intermediate);
  }
  CHECK(work(std::move(b.graph)).nodes == 1);
}

TEST_CASE("chains of recurrences and scans are linear", "[scale]") {
  struct Chain {
    const char* name;
    Graph (*make)(int, bool);
    bool how;
    std::string law;
  };
  for (const Chain& chain :
       {Chain{"affine recurrences", chain_of_recurrences, false, "scan_recurrences"},
        {"corrected recurrences", chain_of_recurrences, true, "solve_feedback"},
        {"contracted scans", chain_of_scans, false, "chunk_scans"},
        {"ends of scans", chain_of_scans, true, "reduce_scans"}}) {
    INFO(chain.name);
    auto work_of = [&](size_t length) {
      return work(chain.make(static_cast<int>(length), chain.how),
                  [&](const Pass& pass, const Graph& now) {
                    if (pass.name == chain.law) CHECK(made_by(now, chain.law) >= length);
                  });
    };
    Work small = work_of(100), large = work_of(400);
    INFO(large.most << " nodes, " << large.terms << " terms; a quarter of it " << small.most
                    << " nodes, " << small.terms << " terms");
    CHECK(large.most < 4.1 * small.most);
    CHECK(large.terms < 4.1 * small.terms);
    // Four times as much takes four times as long; what is quadratic takes sixteen times.
    for (auto [pass, seconds] : large.seconds) {
      INFO(pass << " took " << seconds << " s, and " << small.seconds.at(pass) << " s");
      CHECK(seconds < 8 * small.seconds.at(pass) + 0.1);
    }
  }
}
