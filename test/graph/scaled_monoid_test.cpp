#include "build.h"
#include "graph/scaled_monoid.h"
#include <catch2/catch.hpp>
#include <limits>

using namespace tang;
using namespace tang::graph;

namespace {

/// (r, a): r combines by `op`, a falls by `power` of the distance to it.
Monoid falling(Graph& g, Op op, Op power) {
  ExprStore& s = g.exprs;
  auto state = [&](Op side, uint32_t field) { return s.state(side, field, Scalar::real); };
  auto weight = [&](Op own, Op other) {
    ExprId fall = s.unary(power, s.binary(Op::sub, state(own, 0), state(other, 0)));
    return s.select(s.binary(Op::le, state(other, 0), state(own, 0)), s.real(1), fall);
  };
  double end = std::numeric_limits<double>::infinity();
  Monoid m;
  m.fields = {{"r", Scalar::real, {}, s.real(op == Op::max ? -end : end)},
              {"a", Scalar::real, {}, s.real(0)}};
  m.combine = {s.binary(op, state(Op::lhs, 0), state(Op::rhs, 0)),
               s.binary(Op::add, s.binary(Op::mul, weight(Op::lhs, Op::rhs), state(Op::lhs, 1)),
                        s.binary(Op::mul, weight(Op::rhs, Op::lhs), state(Op::rhs, 1)))};
  m.commutative = true;
  return m;
}

} // namespace

TEST_CASE("amounts fall by powers of the distance below a maximum", "[scaled_monoid]") {
  for (Op power : {Op::exp, Op::exp2, Op::tanh}) {
    Graph g;
    auto scaled = scaled_monoid(g, falling(g, Op::max, power));
    REQUIRE(scaled);
    REQUIRE(scaled->amounts.size() == 1);
    const auto& fall = scaled->amounts[0].fall;
    CHECK(bool(fall) == (power != Op::tanh));
    if (fall) CHECK((fall->reference == 0 && fall->power == power));
  }
  // Below a minimum nothing falls: the weight of the side that stays is another one.
  Graph g;
  auto scaled = scaled_monoid(g, falling(g, Op::min, Op::exp));
  REQUIRE(scaled);
  CHECK_FALSE(scaled->amounts[0].fall);
}
