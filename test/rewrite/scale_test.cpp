// Passes are linear in the size of the graph.
#include "../graph/build.h"
#include "run.h"
#include <chrono>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

/// What running the passes costs, counted: it is the same on every machine.
struct Work {
  size_t nodes = 0; ///< that are left
  size_t most = 0;  ///< nodes after any pass
  size_t terms = 0; ///< made on the way
};

/// Every pass by itself may take at most this long. The limit leaves room for an unoptimised build
/// on a busy machine; a pass that is not linear takes minutes.
constexpr double patience = 60;

Work work(Graph g) {
  Work w;
  size_t before = g.exprs.size();
  auto start = std::chrono::steady_clock::now();
  Graph out = run_passes(std::move(g), 2, [&](const Pass& pass, const Graph& now) {
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    INFO(pass.name);
    CHECK(taken.count() < patience);
    w.most = std::max(w.most, now.nodes.size());
    start = std::chrono::steady_clock::now();
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
