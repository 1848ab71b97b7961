// Every invariant of a graph can be broken, and is then reported.
#include "base/check.h"
#include "build.h"
#include "graph/verify.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::graph;

namespace {

/// y[i] = sum[k] x[i, k], z[i] = y[i] * 2
struct Sample : Builder {
  TensorId x, y, z;
  Axis i, k;
  Sample() {
    x = input("x", ElemType::f32, {n(4), n(8)});
    i = axis("i", n(4)), k = axis("k", n(8));
    y = reduce("y", "sum", {i}, {k}, {}, {read(x, {at(i), at(k)})});
    begin();
    z = map("z", {axis("i", n(4))}, mul(read(y, {s.index(IndexId(0))}), r(2)), output);
  }
  Comprehension& first() { return std::get<Comprehension>(graph.nodes[0].definition); }
  Comprehension& second() { return std::get<Comprehension>(graph.nodes[1].definition); }
  std::string failure() {
    try {
      verify(graph, "test");
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  }
};

} // namespace

TEST_CASE("a sound graph passes", "[verify]") {
  Sample g;
  CHECK(g.failure() == "");
}

TEST_CASE("each broken invariant is named", "[verify]") {
  Sample g;
  std::string wanted;
  SECTION("order") {
    std::swap(g.graph.nodes[0], g.graph.nodes[1]);
    wanted = "graph after test: node of `z`: `y` is read before it is defined";
  }
  SECTION("two definitions") {
    g.graph.nodes.push_back(g.graph.nodes[0]);
    wanted = "`y` is defined twice";
  }
  SECTION("an undefined output") {
    g.graph.nodes.pop_back();
    wanted = "output `z` is not defined";
  }
  SECTION("a free index") {
    g.second().results[0].value = g.s.to_real(g.s.index(IndexId(7)));
    wanted = "index 7 is free";
  }
  SECTION("a reduce index after the reduction") {
    g.first().results[0].value = g.s.to_real(g.at(g.k));
    wanted = "index 1 is free";
  }
  SECTION("an index bound twice") {
    g.first().reduction->axes[0].index = g.i.index;
    wanted = "bound twice";
  }
  SECTION("rank") {
    g.first().reduction->body[0] = g.read(g.x, {g.at(g.i)});
    wanted = "`x` has rank 2 and is read with 1 places";
  }
  SECTION("range") {
    g.first().reduction->body[0] = g.read(g.x, {g.at(g.k), g.at(g.i)});
    wanted = "place 0 of x[k, i] may leave the tensor";
  }
  SECTION("class of a body") {
    g.first().reduction->body[0] = g.n(1);
    wanted = "wrong class";
  }
  SECTION("mixed operands") {
    g.second().results[0].value = g.add(g.r(1), g.n(1));
    wanted = "mixes classes";
  }
  SECTION("a state without a reduction") {
    g.second().results[0].value = g.s.state(Op::acc, 0, Scalar::real);
    wanted = "stands outside its place";
  }
  SECTION("an unknown field") {
    g.first().results[0].value = g.s.state(Op::acc, 3, Scalar::real);
    wanted = "no field 3";
  }
  SECTION("a number of bodies") {
    g.first().reduction->body.push_back(g.r(1));
    wanted = "2 bodies for 1 fields";
  }
  SECTION("shape") {
    g.graph[g.z].shape[0] = g.n(5);
    wanted = "extent 0 of `z` is 5 in its shape and 4 in its node";
  }
  SECTION("an extent that reads data") {
    g.graph[g.z].shape[0] = g.s.cast(ElemType::i64, g.read(g.x, {g.n(0), g.n(0)}));
    wanted = "not an integer over dims";
  }
  SECTION("a scan with reduce indices") {
    g.first().scan = Scan{};
    wanted = "a scan has reduce indices";
  }
  SECTION("kind of an output") {
    g.graph[g.z].kind = TensorKind::intermediate;
    wanted = "another kind";
  }
  INFO(g.failure());
  REQUIRE(!wanted.empty());
  CHECK(g.failure().find(wanted) != std::string::npos);
}

TEST_CASE("what is stored over an input is written last, and reads it where it writes",
          "[verify]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  Axis i = b.axis("i", b.n(8));
  auto replace = [&](ExprId place) {
    TensorId y = b.map("y", {i}, b.add(b.read(x, {place}), b.r(1)), Builder::output);
    b.graph[y].over = x;
  };
  SECTION("at the same point") {
    replace(b.at(i));
    CHECK_NOTHROW(verify(b.graph, "test"));
  }
  SECTION("not at another point") {
    replace(b.sub(b.n(7), b.at(i)));
    CHECK_THROWS_AS(verify(b.graph, "test"), InternalError);
  }
  SECTION("not before a reader") {
    replace(b.at(i));
    b.begin();
    i = b.axis("i", b.n(8));
    b.map("z", {i}, b.read(x, {b.at(i)}), Builder::output);
    CHECK_THROWS_AS(verify(b.graph, "test"), InternalError);
  }
}

TEST_CASE("reads are proved where they stand", "[verify]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  Axis i = b.axis("i", b.n(8));
  ExprId back = b.read(x, {b.sub(b.at(i), b.n(1))});
  ExprId inside = b.le(b.n(1), b.at(i));
  SECTION("in the branch of a choice") {
    b.map("y", {i}, b.s.select(inside, back, b.r(0)), Builder::output);
    CHECK_NOTHROW(verify(b.graph, "test"));
  }
  SECTION("not in its other branch") {
    b.map("y", {i}, b.s.select(inside, b.r(0), back), Builder::output);
    CHECK_THROWS_AS(verify(b.graph, "test"), InternalError);
  }
  SECTION("not when it stands outside as well") {
    b.map("y", {i}, b.add(b.s.select(inside, back, b.r(0)), back), Builder::output);
    CHECK_THROWS_AS(verify(b.graph, "test"), InternalError);
  }
  SECTION("under a filter") {
    b.reduce("y", "sum", {}, {i}, inside, {back}, Builder::output);
    CHECK_NOTHROW(verify(b.graph, "test"));
  }
  SECTION("under a fold's filter") {
    Axis p = b.axis("p", b.n(3));
    std::vector<IndexId> bound{i.index};
    std::vector<ExprId> extents{b.n(8)};
    MonoidId sum = *b.graph.builtin("sum", Scalar::real);
    b.map("y", {p}, b.s.fold(sum, Scalar::real, bound, extents, inside, back), Builder::output);
    CHECK_NOTHROW(verify(b.graph, "test"));
    b.begin();
    b.axis("i", b.n(8)), p = b.axis("p", b.n(3));
    b.map("z", {p}, b.s.fold(sum, Scalar::real, bound, extents, {}, back), Builder::output);
    CHECK_THROWS_AS(verify(b.graph, "test"), InternalError);
  }
  SECTION("a branch under 60 others that share their terms") {
    ExprId e = back;
    for (int level = 0; level < 60; ++level)
      e = b.add(b.s.select(inside, e, b.r(level)), b.s.select(b.lt(b.n(0), b.at(i)), e, b.r(1)));
    b.map("y", {i}, e, Builder::output);
    CHECK_NOTHROW(verify(b.graph, "test"));
  }
}

TEST_CASE("a gradient names defined reals of fitting shapes", "[verify]") {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(8)});
  TensorId id = b.input("id", ElemType::i32, {b.n(8)});
  Axis i = b.axis("i", b.n(8));
  TensorId y = b.map("y", {i}, b.mul(b.read(x, {b.at(i)}), b.r(2)), Builder::output);
  TensorId dy = b.input("dy", ElemType::f32, {b.n(8)});
  TensorId dx = b.tensor("dx", TensorKind::intermediate, ElemType::f32, {b.n(8)});
  Gradient gradient{y, dy, {{x, dx}}};
  std::string wanted;
  SECTION("a sound one") {}
  SECTION("a rank without a cotangent") {
    gradient.cotangent = {};
    wanted = "`y` needs a cotangent";
  }
  SECTION("integers") {
    gradient.pairs[0].wrt = id;
    wanted = "a gradient names `id`, which is not real";
  }
  SECTION("shapes") {
    b.graph[dx].shape[0] = b.n(7);
    wanted = "`x` and `dx` differ in shape";
  }
  SECTION("two definitions") {
    gradient.pairs.push_back({y, dx});
    wanted = "`dx` is defined twice";
  }
  SECTION("order") {
    gradient.of = dx;
    wanted = "a gradient names what is not defined";
  }
  b.graph.nodes.push_back({gradient, {}, {}});
  std::string failure;
  try {
    verify(b.graph, "test");
  } catch (const InternalError& error) {
    failure = error.what();
  }
  INFO(failure);
  CHECK(failure.empty() == wanted.empty());
  CHECK(failure.find(wanted) != std::string::npos);
}
