// Prover: the places that real programs read are proved, and nothing false ever is.
#include "base/checked.h"
#include "build.h"
#include "graph/prover.h"
#include <catch2/catch.hpp>
#include <functional>
#include <random>

using namespace tang;
using namespace tang::graph;

namespace {

struct Terms : Builder {
  Prover prover() { return Prover(graph); }
};

} // namespace

TEST_CASE("a split index covers its tensor", "[prover]") {
  Terms t;
  ExprId hb_extent = t.dim("HB", 0, 1 << 20);
  Axis hb = t.axis(hb_extent), hk = t.axis(t.n(128));
  Prover p = t.prover();
  p.add_axis(hb), p.add_axis(hk);
  ExprId place = t.add(t.mul(128, t.at(hb)), t.at(hk));
  CHECK(p.in_range(place, t.mul(128, hb_extent)));
  CHECK_FALSE(p.in_range(t.add(place, t.n(1)), t.mul(128, hb_extent)));
  CHECK_FALSE(p.in_range(t.sub(place, t.n(1)), t.mul(128, hb_extent)));
}

TEST_CASE("a row-major offset with symbolic extents is in range", "[prover]") {
  Terms t;
  ExprId m = t.dim("M", 0, 4096), k = t.dim("K", 0, 4096);
  Axis i = t.axis(m), j = t.axis(k);
  Prover p = t.prover();
  p.add_axis(i), p.add_axis(j);
  ExprId place = t.add(t.mul(k, t.at(i)), t.at(j));
  CHECK(p.in_range(place, t.mul(m, k)));
  CHECK_FALSE(p.in_range(t.add(place, t.n(1)), t.mul(m, k)));
}

TEST_CASE("a convolution's padding is decided by its conditions", "[prover]") {
  Terms t;
  ExprId h = t.dim("H", 1, 4096);
  Axis i = t.axis(t.floordiv(t.add(h, t.n(1)), 2)), r = t.axis(t.n(3));
  Prover p = t.prover();
  p.add_axis(i), p.add_axis(r);
  ExprId place = t.sub(t.add(t.mul(2, t.at(i)), t.at(r)), t.n(1));
  CHECK_FALSE(p.in_range(place, h));
  CHECK(p.less_equal(t.n(-1), place));
  CHECK_FALSE(p.less_equal(t.n(0), place));
  CHECK(p.less(place, t.add(h, t.n(2)))); // i <= (H-1)/2
  size_t mark = p.mark();
  p.assume(t.s.logical_and(t.le(t.n(0), place), t.lt(place, h)));
  CHECK(p.in_range(place, h));
  p.rewind(mark);
  CHECK_FALSE(p.in_range(place, h));
  // The same as the else branch of `where(place < 0 or place >= H, 0, x[place])`.
  p.assume_not(t.s.binary(Op::logical_or, t.lt(place, t.n(0)), t.le(h, place)));
  CHECK(p.in_range(place, h));
}

TEST_CASE("causal windows are proved from their filter", "[prover]") {
  Terms t;
  ExprId s = t.dim("S", 0, 1 << 17);
  Axis i = t.axis(s), j = t.axis(s);
  Prover p = t.prover();
  p.add_axis(i), p.add_axis(j);
  ExprId distance = t.sub(t.at(i), t.at(j));
  CHECK_FALSE(p.less_equal(t.n(0), distance));
  p.assume(t.le(t.at(j), t.at(i)));
  CHECK(p.in_range(distance, s));
  CHECK(p.holds(t.le(t.at(j), t.at(i))));
  CHECK(p.fails(t.lt(t.at(i), t.at(j))));
  CHECK_FALSE(p.holds(t.lt(t.at(j), t.at(i))));
}

TEST_CASE("queries that are the last rows of the keys", "[prover]") {
  Terms t;
  ExprId sq = t.dim("Sq", 1, 4096), sk = t.dim("Sk", 1, 4096);
  Axis i = t.axis(sq), j = t.axis(sk);
  Prover p = t.prover();
  p.add_axis(i), p.add_axis(j);
  ExprId last = t.sub(t.add(t.at(i), sk), sq);
  CHECK(p.less(last, sk));
  CHECK_FALSE(p.less_equal(t.n(0), last));
  p.assume(t.le(t.sub(t.at(j), sk), t.sub(t.at(i), sq)));
  CHECK(p.in_range(last, sk));
  CHECK(p.in_range(t.sub(last, t.at(j)), sk));
}

TEST_CASE("pages are counted by rounding up", "[prover]") {
  Terms t;
  ExprId s = t.dim("S", 0, 1 << 20);
  Axis j = t.axis(s);
  Prover p = t.prover();
  p.add_axis(j);
  ExprId page = t.floordiv(t.at(j), 16), slot = t.mod(t.at(j), 16);
  ExprId pages = t.floordiv(t.add(s, t.n(15)), 16);
  CHECK(p.in_range(page, pages));
  CHECK_FALSE(p.in_range(page, t.floordiv(s, 16)));
  CHECK(p.in_range(slot, t.n(16)));
  CHECK_FALSE(p.in_range(slot, t.n(15)));
  CHECK(p.in_range(t.add(t.mul(16, page), slot), s));
  CHECK(p.in_range(t.mul(16, page), s));
}

TEST_CASE("a dim's step is used", "[prover]") {
  Terms t;
  ExprId s = t.dim("S", 0, 4096, 16), free = t.dim("U", 0, 4096);
  Axis j = t.axis(s), u = t.axis(free);
  Prover p = t.prover();
  p.add_axis(j), p.add_axis(u);
  CHECK(p.in_range(t.floordiv(t.at(j), 16), t.floordiv(s, 16)));
  CHECK(p.holds(t.s.binary(Op::eq, t.mul(16, t.floordiv(s, 16)), s)));
  CHECK_FALSE(p.holds(t.s.binary(Op::eq, t.mul(16, t.floordiv(free, 16)), free)));
}

TEST_CASE("an axis with a point has an extent", "[prover]") {
  Terms t;
  ExprId s = t.dim("S", 0, 4096);
  Axis i = t.axis(s);
  Prover p = t.prover();
  CHECK_FALSE(p.less(t.n(0), s));
  p.add_axis(i);
  CHECK(p.less(t.n(0), s));
  ExprId reversed = t.sub(t.sub(s, t.n(1)), t.at(i));
  CHECK(p.in_range(reversed, s));
  CHECK(p.in_range(t.sub(s, t.n(1)), s));
}

TEST_CASE("tightened axes, minima and choices", "[prover]") {
  Terms t;
  ExprId s = t.dim("S", 1, 4096);
  Axis i = t.axis(s);
  Axis j = t.axis(s);
  j.hi = t.add(t.at(i), t.n(1));
  j.lo = t.sub(t.at(i), t.n(7));
  Prover p = t.prover();
  p.add_axis(i), p.add_axis(j);
  CHECK(p.in_range(t.sub(t.at(i), t.at(j)), t.n(8)));
  CHECK_FALSE(p.in_range(t.sub(t.at(i), t.at(j)), t.n(7)));
  ExprId clamped =
      t.s.binary(Op::max, t.s.binary(Op::min, t.add(t.at(i), t.n(3)), t.sub(s, t.n(1))), t.n(0));
  CHECK(p.in_range(clamped, s));
  ExprId wrapped = t.s.select(t.lt(t.at(i), t.n(2)), t.n(0), t.sub(t.at(i), t.n(2)));
  CHECK(p.in_range(wrapped, s));
  CHECK_FALSE(p.in_range(t.sub(wrapped, t.n(1)), s));
  ExprId mirrored = t.s.unary(Op::abs, t.sub(t.at(i), t.at(j)));
  CHECK(p.in_range(mirrored, s));
}

TEST_CASE("a long chain of choices ends", "[prover]") {
  // A binary search: whether a step is taken depends on where the last one ended.
  Terms t;
  ExprId length = t.dim("T", 0, 1 << 20), position = t.n(0);
  TensorId keys = t.input("keys", ElemType::i32, {length});
  for (int64_t width = 1 << 20; width > 0; width /= 2) {
    ExprId end = t.add(position, t.n(width));
    ExprId key = t.read(keys, {t.sub(end, t.n(1))}, t.n(0));
    ExprId taken = t.s.logical_and(t.le(end, length), t.lt(key, t.n(7)));
    position = t.s.select(taken, end, position);
  }
  Prover p = t.prover();
  CHECK(p.range(position).lo == 0);
  CHECK(p.less_equal(t.n(0), position));
  CHECK_FALSE(p.less(position, length));
}

TEST_CASE("declared ranges bound what is read", "[prover]") {
  Terms t;
  Tensor pos;
  pos.name = "pos", pos.kind = TensorKind::input, pos.type = ElemType::i32;
  pos.range = IntRange{0, 99};
  ExprId at = t.s.read(t.graph.add(pos), Scalar::integer, {});
  Prover p = t.prover();
  CHECK(p.in_range(at, t.n(100)));
  CHECK_FALSE(p.in_range(at, t.n(99)));
  CHECK(p.range(t.mul(-2, at)) == IntRange{-198, 0});
}

TEST_CASE("where nothing is, everything holds", "[prover]") {
  Terms t;
  ExprId n = t.dim("N", 1, 3);
  auto everything_under = [&](ExprId condition, bool value) {
    Prover p = t.prover();
    p.add_axis(t.axis(n));
    p.assume(condition, value);
    return p.less(t.n(5), t.n(3));
  };
  CHECK(everything_under(t.lt(n, t.n(0)), true));
  CHECK(everything_under(t.lt(t.n(3), t.n(0)), true)); // the same, of a dim that is bound
  CHECK(everything_under(t.lt(t.n(0), t.n(3)), false));
  CHECK(everything_under(t.s.boolean(false), true));
  CHECK(everything_under(t.s.boolean(true), false));
  CHECK(everything_under(t.s.binary(Op::eq, t.n(1), t.n(2)), true));
  CHECK_FALSE(everything_under(t.s.boolean(true), true));
  CHECK_FALSE(everything_under(t.lt(t.n(0), t.n(3)), true));
  CHECK_FALSE(everything_under(t.s.binary(Op::ne, t.n(1), t.n(2)), true));
}

TEST_CASE("a contradiction between coefficients that overflow is not proved", "[prover]") {
  Terms t;
  Axis i = t.axis(t.dim("S", 0, std::numeric_limits<int64_t>::max()));
  Prover p = t.prover();
  p.add_axis(i);
  ExprId huge = t.mul(std::numeric_limits<int64_t>::max(), t.at(i));
  CHECK_FALSE(p.less(t.mul(huge, t.n(2)), t.n(0)));
  CHECK_FALSE(p.nonnegative(Polynomial::constant(-1)));
}

namespace {

/// Evaluates integer and boolean terms by recursion; the terms of this test are small.
int64_t evaluate(const ExprStore& s, ExprId id, const std::function<int64_t(const Expr&)>& leaf) {
  const Expr& e = s[id];
  auto v = [&](size_t k) { return evaluate(s, e.operands[k], leaf); };
  switch (e.op) {
  case Op::literal_int:
  case Op::literal_bool: return e.integer;
  case Op::add: return v(0) + v(1);
  case Op::sub: return v(0) - v(1);
  case Op::mul: return v(0) * v(1);
  case Op::neg: return -v(0);
  case Op::min: return std::min(v(0), v(1));
  case Op::max: return std::max(v(0), v(1));
  case Op::abs: return std::abs(v(0));
  case Op::floordiv: return floordiv(v(0), v(1));
  case Op::mod: return floormod(v(0), v(1));
  case Op::select: return v(0) ? v(1) : v(2);
  case Op::lt: return v(0) < v(1);
  case Op::le: return v(0) <= v(1);
  case Op::eq: return v(0) == v(1);
  case Op::ne: return v(0) != v(1);
  case Op::logical_and: return v(0) && v(1);
  case Op::logical_or: return v(0) || v(1);
  case Op::logical_not: return !v(0);
  default: return leaf(e);
  }
}

} // namespace

TEST_CASE("random goals: what is proved is true", "[prover][property]") {
  std::mt19937 random(20240607);
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  int proved = 0;
  for (int round = 0; round < 1200; ++round) {
    Terms t;
    int d_lo = pick(0, 2);
    ExprId d = t.dim("D", d_lo, d_lo + pick(0, 3), 1), e = t.dim("E", 0, 4, 2);
    Axis i = t.axis(pick(0, 1) ? d : t.n(pick(1, 4)));
    Axis j = t.axis(pick(0, 1) ? t.add(e, t.n(1)) : t.mul(2, d));
    if (pick(0, 3) == 0) j.hi = t.add(t.at(i), t.n(pick(0, 2)));
    if (pick(0, 3) == 0) j.lo = t.sub(t.at(i), t.n(pick(0, 2)));
    ExprId leaves[] = {t.at(i), t.at(j), d, e};
    std::function<ExprId(int)> term = [&](int depth) -> ExprId {
      if (depth == 0) return pick(0, 3) ? leaves[pick(0, 3)] : t.n(pick(-3, 4));
      ExprId a = term(depth - 1), b = term(depth - 1);
      switch (pick(0, 10)) {
      case 0: return t.mul(pick(-3, 3), a);
      case 1: return t.floordiv(a, pick(1, 4));
      case 2: return t.mod(a, pick(1, 4));
      case 3: return t.s.binary(Op::min, a, b);
      case 4: return t.s.binary(Op::max, a, b);
      case 5: return t.s.unary(Op::abs, a);
      case 6: return t.s.select(t.le(a, b), b, a);
      case 7: return t.mul(a, b);
      case 8: return t.sub(a, b);
      default: return t.add(a, b);
      }
    };
    auto condition = [&] {
      ExprId a = term(1), b = term(1);
      constexpr Op ops[] = {Op::lt, Op::le, Op::eq, Op::ne};
      ExprId c = t.s.binary(ops[pick(0, 3)], a, b);
      if (pick(0, 3) == 0) c = t.s.binary(Op::logical_or, c, t.lt(term(1), term(1)));
      return pick(0, 2) ? c : t.s.unary(Op::logical_not, c);
    };
    Prover p = t.prover();
    p.add_axis(i), p.add_axis(j);
    std::vector<ExprId> conditions;
    for (int k = pick(0, 2); k > 0; --k) conditions.push_back(condition());
    for (ExprId c : conditions) p.assume(c);
    ExprId goal = pick(0, 1) ? condition() : t.le(term(2), t.add(term(1), t.n(pick(0, 4))));
    if (t.s.is_literal(goal)) continue;
    auto decided = p.decide(goal);
    ExprId ranged = t.s[goal].op == Op::logical_not ? d : t.s[goal].operands[0];
    IntRange range = p.range(ranged);
    proved += decided.has_value();
    for (int64_t dv = d_lo; dv <= t.graph.dims[0].hi; ++dv)
      for (int64_t ev = 0; ev <= 4; ev += 2)
        for (int64_t iv = 0; iv < 16; ++iv)
          for (int64_t jv = 0; jv < 16; ++jv) {
            std::function<int64_t(const Expr&)> leaf = [&](const Expr& x) -> int64_t {
              if (x.op == Op::dim) return x.ref == 0 ? dv : ev;
              return IndexId(x.ref) == i.index ? iv : jv;
            };
            auto value = [&](ExprId id) { return evaluate(t.s, id, leaf); };
            bool inside = iv < value(i.extent) && jv < value(j.extent) &&
                          (!j.lo || value(j.lo) <= jv) && (!j.hi || jv < value(j.hi));
            for (ExprId c : conditions) inside = inside && value(c);
            if (!inside) continue;
            if (decided && value(goal) != *decided) FAIL("round " << round << ": false proof");
            if (t.s[ranged].scalar == Scalar::integer) {
              int64_t v = value(ranged);
              if (v < range.lo || range.hi < v) FAIL("round " << round << ": wrong range");
            }
          }
  }
  CHECK(proved > 120); // the test means something
}
