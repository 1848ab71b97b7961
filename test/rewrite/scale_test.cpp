// Passes are linear in the size of the graph.
#include "../graph/build.h"
#include "run.h"
#include <chrono>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

/// Seconds that all passes take. The limits leave room for an unoptimised build on a busy machine;
/// a pass that is not linear takes minutes.
double seconds(Graph g, size_t& nodes) {
  auto start = std::chrono::steady_clock::now();
  Graph out = run_passes(std::move(g), 2);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  nodes = out.nodes.size();
  verify(out, "all passes");
  return taken.count();
}

} // namespace

TEST_CASE("a chain of 50000 maps", "[scale]") {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {b.n(64)});
  for (int k = 0; k < 50000; ++k) {
    b.begin();
    Axis i = b.axis("i", b.n(64));
    t = b.map("h", {i}, b.s.unary(k % 2 ? Op::exp : Op::neg, b.read(t, {b.at(i)})),
              k == 9999 ? Builder::output : TensorKind::intermediate);
  }
  size_t nodes = 0;
  CHECK(seconds(std::move(b.graph), nodes) < 20);
  CHECK(nodes < 200);
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
  size_t nodes = 0;
  CHECK(seconds(std::move(b.graph), nodes) < 20);
  CHECK(nodes < 200);
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
  size_t nodes = 0;
  CHECK(seconds(std::move(b.graph), nodes) < 5);
  CHECK(nodes == 1);
}

TEST_CASE("a doubling DAG whose halves differ", "[scale]") {
  Builder b;
  TensorId t = b.input("x", ElemType::f32, {b.n(64)});
  for (int k = 0; k < 60; ++k) {
    TensorId halves[2];
    for (int side = 0; side < 2; ++side) {
      b.begin();
      Axis i = b.axis("i", b.n(64));
      // The mirrored read makes every level need two places of the one before.
      ExprId place = side ? b.sub(b.n(63), b.at(i)) : b.at(i);
      halves[side] = b.map("h", {i}, b.s.unary(Op::exp, b.read(t, {place})));
    }
    b.begin();
    Axis i = b.axis("i", b.n(64));
    t = b.map("t", {i}, b.add(b.read(halves[0], {b.at(i)}), b.read(halves[1], {b.at(i)})),
              k == 59 ? Builder::output : TensorKind::intermediate);
  }
  size_t nodes = 0;
  CHECK(seconds(std::move(b.graph), nodes) < 5);
  CHECK(nodes < 120);
}
