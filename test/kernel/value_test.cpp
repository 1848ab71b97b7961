#include "base/checked.h"
#include "kernel/linear.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <map>
#include <random>

using namespace tang::kernel;

namespace {

/// Prints a value with full parentheses, so that a test sees its form.
std::string show(const ValueStore& s, ValueId id) {
  const Value& v = s[id];
  if (v.form == Form::literal)
    return is_real(v.type)           ? fmt::format("{}", v.real)
           : v.type == Type::boolean ? (v.integer ? "true" : "false")
                                     : std::to_string(v.integer);
  if (v.form == Form::variable) return s[VarId(v.ref)].name;
  std::string text = std::string(tang::graph::info(v.op).name) + "(";
  for (size_t i = 0; i < v.operands.size(); ++i) text += (i ? ", " : "") + show(s, v.operands[i]);
  return text + ")";
}

struct Values {
  ValueStore s;
  ValueId i = s.variable({"i", Type::index, 0, 7}), j = s.variable({"j", Type::index, 0, 15});
  ValueId n = s.variable({"n", Type::index, 1, 1000}), x = s.variable({"x", Type::index, {}, {}});
  ValueId c(int64_t v) { return s.integer(v); }
  ValueId times(ValueId a, int64_t f) { return s.mul(a, c(f)); }
  std::string text(ValueId id) { return show(s, id); }
};

} // namespace

TEST_CASE("sums of index values have one form", "[value]") {
  Values v;
  ValueStore& s = v.s;
  CHECK(s.add(v.times(v.i, 8), v.times(v.i, 8)) == v.times(v.i, 16));
  CHECK(s.add(v.i, v.j) == s.add(v.j, v.i));
  CHECK(s.sub(s.add(v.i, v.j), v.i) == v.j);
  CHECK(v.text(s.add(v.c(3), s.add(v.i, v.c(4)))) == "add(i, 7)");
  CHECK(v.text(s.sub(v.c(3), v.i)) == "sub(3, i)");
  CHECK(v.text(s.sub(v.i, v.c(3))) == "sub(i, 3)");
  CHECK(v.text(s.sub(v.times(v.j, -2), v.c(1))) == "sub(mul(j, -2), 1)");
  // The same factor is written once, different factors largest first.
  CHECK(v.text(s.add(v.times(v.i, 8), v.times(v.j, 8))) == "mul(add(i, j), 8)");
  CHECK(v.text(s.add(v.j, v.times(s.add(v.times(v.x, 4), v.i), 16))) ==
        "add(add(mul(x, 64), mul(i, 16)), j)");
  // Symbolic factors are not distributed.
  CHECK(v.text(s.mul(s.add(v.i, v.j), v.n)) == "mul(n, add(i, j))");
  CHECK(v.text(s.mul(v.times(s.add(v.i, v.j), 2), v.times(v.n, 3))) == "mul(mul(n, add(i, j)), 6)");
  CHECK(v.text(s.mul(v.n, v.c(0))) == "0");
}

TEST_CASE("a doubling DAG has a linear form while its coefficients fit", "[value]") {
  ValueStore s;
  ValueId x = s.variable({"x", Type::i64, {}, {}}), sum = x;
  auto atom = [](ValueId id) { return tang::graph::Polynomial::atom(atom_of(id)); };
  // Sums of machine integers stay as they are written.
  for (int level = 0; level < 62; ++level) sum = s.add(sum, sum);
  CHECK(s.size() == 63);
  CHECK(linear_form(s, sum) == atom(x).times(tang::graph::Polynomial::constant(int64_t{1} << 62)));
  CHECK(!linear_form(s, s.add(sum, sum)));
  CHECK(linear_form(s, s.sub(s.add(sum, x), sum)) == atom(x));
}

TEST_CASE("divisions are decided by ranges", "[value]") {
  Values v;
  ValueStore& s = v.s;
  auto div = [&](ValueId a, int64_t b) { return s.binary(Op::floordiv, a, v.c(b)); };
  auto mod = [&](ValueId a, int64_t b) { return s.binary(Op::mod, a, v.c(b)); };
  CHECK(div(v.times(v.x, 8), 8) == v.x);
  CHECK(div(s.add(v.times(v.x, 8), v.i), 8) == v.x);
  CHECK(mod(s.add(v.times(v.x, 8), v.i), 8) == v.i);
  CHECK(div(v.i, 8) == v.c(0));
  CHECK(mod(v.i, 8) == v.i);
  CHECK(v.text(div(v.j, 8)) == "floordiv(j, 8)");
  CHECK(v.text(div(s.add(v.times(v.x, 8), v.j), 8)) == "add(x, floordiv(j, 8))");
  CHECK(v.text(mod(s.add(v.times(v.x, 8), v.j), 8)) == "mod(j, 8)");
  CHECK(v.text(div(s.add(v.times(v.x, 8), v.i), 32)) == "floordiv(x, 4)");
  CHECK(v.text(mod(s.add(v.times(v.x, 8), v.i), 32)) == "add(mul(mod(x, 4), 8), i)");
  CHECK(v.text(div(div(v.x, 4), 8)) == "floordiv(x, 32)");
  CHECK(v.text(mod(mod(v.x, 32), 8)) == "mod(x, 8)");
  CHECK(s.add(v.times(div(v.x, 8), 8), mod(v.x, 8)) == v.x);
  CHECK(div(s.mul(v.x, v.n), 1) == s.mul(v.x, v.n));
  CHECK(s.binary(Op::floordiv, s.mul(v.x, v.n), v.n) == v.x);
  CHECK(s.binary(Op::mod, s.mul(v.x, v.n), v.n) == v.c(0));
  CHECK(s.binary(Op::floordiv, v.x, v.c(0)) == v.c(0));
  CHECK(v.text(s.ceildiv(v.n, 16)) == "floordiv(add(n, 15), 16)");
  CHECK(v.text(s.binary(Op::floordiv, v.n, v.x)) == "floordiv(n, x)"); // x may be 0
}

TEST_CASE("comparisons, extrema and logic are decided by ranges", "[value]") {
  Values v;
  ValueStore& s = v.s;
  CHECK(v.text(s.less(v.i, v.c(8))) == "true");
  CHECK(v.text(s.less(v.j, v.c(8))) == "lt(j, 8)");
  CHECK(v.text(s.less(s.add(v.x, v.i), s.add(v.x, v.c(8)))) == "true");
  CHECK(v.text(s.binary(Op::le, v.c(16), v.j)) == "false");
  CHECK(v.text(s.binary(Op::eq, v.n, v.c(0))) == "false");
  CHECK(v.text(s.binary(Op::min, v.i, v.c(7))) == "i");
  CHECK(v.text(s.binary(Op::max, v.i, v.c(3))) == "max(i, 3)");
  ValueId p = s.less(v.x, v.n), q = s.less(v.j, v.x);
  CHECK(s.both(s.both(p, q), p) == s.both(p, q));
  CHECK(s.both({}, p) == p);
  CHECK(v.text(s.unary(Op::logical_not, p)) == "le(n, x)");
  CHECK(s.unary(Op::logical_not, s.unary(Op::logical_not, p)) == p);
  CHECK(s.select(p, s.boolean(true), s.boolean(false)) == p);
  CHECK(s.binary(Op::logical_or, p, s.boolean(true)) == s.boolean(true));
}

TEST_CASE("reals know only the identities that are exact", "[value]") {
  Values v;
  ValueStore& s = v.s;
  ValueId a = s.variable({"a", Type::f32, {}, {}}), zero = s.real(0, Type::f32);
  CHECK(s.binary(Op::mul, a, s.real(1, Type::f32)) == a);
  CHECK(s.binary(Op::div, a, s.real(1, Type::f32)) == a);
  CHECK(v.text(s.binary(Op::mul, a, zero)) == "mul(a, 0)");
  CHECK(v.text(s.binary(Op::add, a, zero)) == "add(a, 0)"); // -0 + 0 is 0
  CHECK(v.text(s.binary(Op::sub, a, a)) == "sub(a, a)");
  CHECK(v.text(s.binary(Op::le, a, a)) == "le(a, a)");
  CHECK(v.text(s.unary(Op::logical_not, s.less(a, zero))) == "logical_not(lt(a, 0))");
  CHECK(s.real(0.1, Type::f32) == s.real(0.1f, Type::f32));
  CHECK(s.convert(Type::i32, s.real(3e10, Type::f64)) == s.integer(2147483647, Type::i32));
  CHECK(s.convert(Type::i32, s.real(-1.9, Type::f32)) == s.integer(-1, Type::i32));
  CHECK(s.convert(Type::f32, s.integer(3)) == s.real(3, Type::f32));
  CHECK(s[s.convert(Type::f32, s.integer((1 << 24) + 1))].form == Form::convert);
  CHECK(s.round(ElemType::i8, s.integer(300)) == s.integer(127));
  CHECK(s.round(ElemType::i8, v.i) == v.i);
}

TEST_CASE("data integers keep the order in which they are written", "[value]") {
  Values v;
  ValueStore& s = v.s;
  ValueId a = s.variable({"a", Type::i32, {}, {}}), b = s.variable({"b", Type::i32, {}, {}});
  CHECK(v.text(s.sub(s.add(a, b), a)) == "sub(add(a, b), a)");
  CHECK(s.range(a) == tang::graph::range_of(ElemType::i32));
  CHECK_THROWS(s.add(a, v.i));
}

TEST_CASE("a DAG that doubles stays small", "[value]") {
  Values v;
  ValueId x = v.s.variable({"a", Type::i64, {}, {}});
  for (int i = 0; i < 5000; ++i) x = v.s.add(x, x);
  CHECK(reachable(v.s, {&x, 1}).size() == 5001);
  CHECK(rewrite(v.s, x, [](ValueId id) { return id; }) == x);
}

namespace {

int64_t evaluate(const ValueStore& s, ValueId root, const std::map<uint32_t, int64_t>& env) {
  std::map<uint32_t, int64_t> known;
  for (ValueId id : reachable(s, {&root, 1})) {
    const Value& v = s[id];
    auto in = [&](size_t k) { return known.at(v.operands[k].value); };
    int64_t r = v.integer;
    if (v.form == Form::variable) r = env.at(v.ref);
    if (v.form == Form::operation) switch (v.op) {
      case Op::add: r = in(0) + in(1); break;
      case Op::sub: r = in(0) - in(1); break;
      case Op::mul: r = in(0) * in(1); break;
      case Op::neg: r = -in(0); break;
      case Op::min: r = std::min(in(0), in(1)); break;
      case Op::max: r = std::max(in(0), in(1)); break;
      case Op::floordiv: r = tang::floordiv(in(0), in(1)); break;
      case Op::mod: r = tang::floormod(in(0), in(1)); break;
      case Op::lt: r = in(0) < in(1); break;
      case Op::le: r = in(0) <= in(1); break;
      case Op::eq: r = in(0) == in(1); break;
      case Op::select: r = in(0) ? in(1) : in(2); break;
      default: FAIL("an op that the test does not make");
      }
    known[id.value] = r;
  }
  return known.at(root.value);
}

} // namespace

TEST_CASE("simplified terms have the value of what was written", "[value]") {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 400; ++round) {
    ValueStore s;
    std::map<uint32_t, int64_t> env;
    std::vector<std::pair<ValueId, int64_t>> made; // value, and what it must evaluate to
    for (int k = 0; k < 4; ++k) {
      int64_t lo = pick(20) - 8, hi = lo + pick(20), at = lo + pick(static_cast<int>(hi - lo) + 1);
      VarId var = s.add_var({std::string(1, static_cast<char>('a' + k)), Type::index, lo, hi});
      env[var.value] = at;
      made.emplace_back(s.variable(var), at);
    }
    for (int k = 0; k < 12; ++k) {
      constexpr Op ops[] = {Op::add, Op::sub, Op::mul, Op::floordiv, Op::mod, Op::min, Op::max};
      Op op = ops[pick(7)];
      auto [a, va] = made[static_cast<size_t>(pick(static_cast<int>(made.size())))];
      auto [b, vb] = made[static_cast<size_t>(pick(static_cast<int>(made.size())))];
      if (pick(2) == 0) vb = 1 << pick(4), b = s.integer(vb);
      if (std::abs(va) > 1000000 || std::abs(vb) > 1000000) continue;
      int64_t r = op == Op::add        ? va + vb
                  : op == Op::sub      ? va - vb
                  : op == Op::mul      ? va * vb
                  : op == Op::floordiv ? tang::floordiv(va, vb)
                  : op == Op::mod      ? tang::floormod(va, vb)
                  : op == Op::min      ? std::min(va, vb)
                                       : std::max(va, vb);
      made.emplace_back(s.binary(op, a, b), r);
    }
    for (auto [id, expected] : made) {
      INFO(show(s, id));
      REQUIRE(evaluate(s, id, env) == expected);
      REQUIRE(s.range(id).lo <= expected);
      REQUIRE(expected <= s.range(id).hi);
      auto form = expanded_form(s, id);
      if (form) REQUIRE(evaluate(s, build(s, *form), env) == expected);
    }
  }
}
