// `canonicalize`: equal mathematics has equal terms, whatever its indices were called.
#include "build.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::graph;

namespace {

struct Sums {
  Builder b;
  TensorId x = b.input("x", ElemType::f32, {b.n(4), b.n(8)});
  Axis i = b.axis("i", b.n(4));

  /// sum[j: extent] x[i, j] * x[i, j], the index called `name`.
  ExprId squares(uint32_t name, int64_t extent = 8) {
    IndexId j(name);
    ExprId read = b.read(x, {b.at(i), b.s.index(j)});
    return fold({j}, {b.n(extent)}, b.mul(read, read));
  }
  ExprId fold(std::vector<IndexId> bound, std::vector<ExprId> extents, ExprId body) {
    return b.s.fold(*b.graph.builtin("sum", Scalar::real), Scalar::real, bound, extents, {}, body);
  }
  /// Of a map with this value: folds, and the indices that they bind, ascending.
  std::pair<size_t, std::vector<uint32_t>> folds(ExprId value) {
    Comprehension c;
    c.points = {i}, c.results = {{b.result("y", c.points, Scalar::real), value, {}}};
    c = canonicalize(b.s, std::move(c));
    size_t count = 0;
    std::vector<uint32_t> bound;
    for (ExprId id : reachable(b.s, roots(c))) {
      count += b.s[id].op == Op::fold;
      for (IndexId index : b.s[id].bound) bound.push_back(index.value);
    }
    std::sort(bound.begin(), bound.end());
    return {count, bound};
  }
};

using Found = std::pair<size_t, std::vector<uint32_t>>;

} // namespace

TEST_CASE("folds that differ in the names of what they bind are one term", "[canonical]") {
  Sums s;
  CHECK(s.folds(s.b.add(s.squares(5), s.squares(9))) == Found{1, {1}});
  CHECK(s.folds(s.b.add(s.squares(5), s.b.mul(s.squares(9), s.squares(2)))) == Found{1, {1}});
  // Around equal folds, equal ones.
  auto around = [&](uint32_t p, uint32_t j) {
    ExprId element = s.b.read(s.x, {s.b.at(s.i), s.b.s.index(IndexId(p))});
    return s.fold({IndexId(p)}, {s.b.n(8)}, s.b.mul(element, s.squares(j)));
  };
  CHECK(s.folds(s.b.add(around(3, 4), around(7, 6))).first == 2);
}

TEST_CASE("folds over other ranges or bodies stay apart", "[canonical]") {
  Sums s;
  CHECK(s.folds(s.b.add(s.squares(5), s.squares(5, 7))).first == 2);
  CHECK(s.folds(s.b.add(s.squares(5), s.squares(6, 7))) == Found{2, {1, 2}});
  IndexId j(6);
  ExprId cubes = s.b.read(s.x, {s.b.at(s.i), s.b.s.index(j)});
  cubes = s.fold({j}, {s.b.n(8)}, s.b.mul(cubes, s.b.mul(cubes, cubes)));
  CHECK(s.folds(s.b.add(s.squares(5), cubes)) == Found{2, {1, 2}});
}
