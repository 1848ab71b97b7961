// The edge rules of language.md 5, one by one.
#include "graphs.h"

using namespace tang;
using namespace tang::interpret;
using namespace tang::interpret::test;

namespace {

Array vec(std::vector<double> x) {
  int64_t n = static_cast<int64_t>(x.size());
  return real_array({n}, std::move(x));
}
Array ints(std::vector<int64_t> x) {
  int64_t n = static_cast<int64_t>(x.size());
  return integer_array({n}, std::move(x));
}

/// Reduces a vector under a built-in; the filter is built from the draft when given.
Array reduce(std::string_view name, Array x,
             std::function<ExprId(Draft&, TensorId)> filter = nullptr) {
  Draft d;
  int64_t n = x.size();
  Scalar scalar = x.scalar;
  ElemType type = scalar == Scalar::real      ? ElemType::f64
                  : scalar == Scalar::integer ? ElemType::i64
                                              : ElemType::boolean;
  TensorId in = d.input("x", type, {n});
  bool arg = name == "argmax" || name == "argmin";
  TensorId y = d.output("y", arg ? ElemType::i64 : type, {});
  std::vector<ExprId> body{d.read(in, {d.at(0)})};
  if (arg) body.push_back(d.at(0));
  ExprId condition = filter ? filter(d, in) : ExprId{};
  d.add(d.reduction(y, name, scalar, {}, {d.axis(0, n)}, body, condition));
  return d.run({{in, std::move(x)}});
}

double real_of_reduction(std::string_view name, std::vector<double> x) {
  return reduce(name, vec(std::move(x))).reals.at(0);
}
int64_t integer_of_reduction(std::string_view name, std::vector<double> x) {
  return reduce(name, vec(std::move(x))).integers.at(0);
}

} // namespace

TEST_CASE("reductions over nothing give the identity") {
  CHECK(real_of_reduction("sum", {}) == 0);
  CHECK(real_of_reduction("prod", {}) == 1);
  CHECK(real_of_reduction("max", {}) == -inf);
  CHECK(real_of_reduction("min", {}) == inf);
  CHECK(integer_of_reduction("argmax", {}) == -1);
  CHECK(integer_of_reduction("argmin", {}) == -1);
  Array none = zeros(Scalar::boolean, {0});
  CHECK(reduce("any", none).integers.at(0) == 0);
  CHECK(reduce("all", none).integers.at(0) == 1);
}

TEST_CASE("an empty integer max is the output type's least value") {
  Draft d;
  TensorId x = d.input("x", ElemType::i32, {0});
  TensorId y = d.output("y", ElemType::i32, {});
  d.add(d.reduction(y, "max", Scalar::integer, {}, {d.axis(0, 0)}, {d.read(x, {d.at(0)})}));
  CHECK(d.run({{x, ints({})}}).integers.at(0) == -2147483648);
}

TEST_CASE("max and min propagate NaN from every position") {
  for (auto x : {std::vector{quiet_nan, 1., 2.}, std::vector{1., quiet_nan, 2.},
                 std::vector{1., 2., quiet_nan}}) {
    CHECK(std::isnan(real_of_reduction("max", x)));
    CHECK(std::isnan(real_of_reduction("min", x)));
  }
  CHECK(real_of_reduction("max", {-inf, -inf}) == -inf);
}

TEST_CASE("argmax prefers NaN, then the lowest index") {
  CHECK(integer_of_reduction("argmax", {1, 3, 3, 2}) == 1);
  CHECK(integer_of_reduction("argmax", {1, quiet_nan, 9, quiet_nan}) == 1);
  CHECK(integer_of_reduction("argmin", {2, 1, 1}) == 1);
  CHECK(integer_of_reduction("argmin", {2, quiet_nan, -inf}) == 1);
  CHECK(integer_of_reduction("argmax", {-inf, -inf}) == 0);
}

TEST_CASE("a filtered point contributes nothing, whatever its data") {
  // sum[i where x[i] == x[i]] x[i]: NaN and what it would do to the sum are left out.
  auto is_number = [](Draft& d, TensorId x) {
    ExprId v = d.read(x, {d.at(0)});
    return d.op(Op::eq, v, v);
  };
  CHECK(reduce("sum", vec({1, quiet_nan, 2}), is_number).reals.at(0) == 3);
  CHECK(reduce("max", vec({quiet_nan}), is_number).reals.at(0) == -inf);
  CHECK(reduce("argmax", vec({quiet_nan, 5, 7}), is_number).integers.at(0) == 2);
}

TEST_CASE("an untaken branch contributes nothing, not even an overflow") {
  // where(c[i], big * big * big, 7): the product leaves 64 bits where c is true.
  for (bool taken : {false, true}) {
    Draft d;
    TensorId c = d.input("c", ElemType::boolean, {2}), b = d.input("b", ElemType::i64, {});
    TensorId y = d.output("y", ElemType::i64, {2});
    ExprId big = d.read(b, {});
    ExprId cube = d.op(Op::mul, d.op(Op::mul, big, big), big);
    d.map(y, {d.axis(0, 2)}, d.s().select(d.read(c, {d.at(0)}), cube, d.lit(7)));
    Sink sink;
    Array cond = zeros(Scalar::boolean, {2});
    cond.integers[1] = taken;
    auto values = d.run({{c, cond}, {b, integer_array({}, {INT64_C(1) << 31})}}, sink);
    CHECK(values.has_value() == !taken);
    if (values) CHECK(values->at(y).integers == std::vector<int64_t>{7, 7});
    if (taken) {
      REQUIRE(sink.diagnostics().size() == 1);
      CHECK(sink.diagnostics()[0].kind == Kind::integer_overflow);
    }
  }
}

TEST_CASE("a shared term that can fail runs only where a branch wants it") {
  // where(p, where(q, t, 1), where(q, 2, t)) with t = big * big * big shared by both sides.
  for (int mask = 0; mask < 4; ++mask) {
    Draft d;
    TensorId p = d.input("p", ElemType::boolean, {}), q = d.input("q", ElemType::boolean, {});
    TensorId b = d.input("b", ElemType::i64, {});
    TensorId y = d.output("y", ElemType::i64, {});
    ExprId big = d.read(b, {});
    ExprId t = d.op(Op::mul, d.op(Op::mul, big, big), big);
    ExprId pv = d.read(p, {}), qv = d.read(q, {});
    d.map(y, {}, d.s().select(pv, d.s().select(qv, t, d.lit(1)), d.s().select(qv, d.lit(2), t)));
    bool pb = mask & 1, qb = mask & 2;
    auto boolean = [](bool v) {
      Array a = zeros(Scalar::boolean, {});
      a.integers[0] = v;
      return a;
    };
    for (int64_t base : {INT64_C(3), INT64_C(1) << 31}) {
      Sink sink;
      auto values =
          d.run({{p, boolean(pb)}, {q, boolean(qb)}, {b, integer_array({}, {base})}}, sink);
      bool wants = pb == qb;
      CHECK(values.has_value() == (!wants || base == 3));
      if (values) CHECK(values->at(y).integers[0] == (wants ? 27 : pb ? 1 : 2));
    }
  }
}

TEST_CASE("guarded reads give their else value outside, evaluated only there") {
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {3});
  TensorId y = d.output("y", ElemType::f64, {6});
  ExprId place = d.op(Op::sub, d.op(Op::mul, d.lit(2), d.at(0)), d.lit(3));
  d.map(y, {d.axis(0, 6)}, d.read(x, {place}, d.s().to_real(d.at(0))));
  // places -3 -1 1 3 5 7
  CHECK(d.run({{x, vec({10, 11, 12})}}).reals == std::vector<double>{0, 1, 11, 3, 4, 5});
}

TEST_CASE("a gather outside its tensor reads as 0 or its else value") {
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {3}), id = d.input("id", ElemType::i64, {5});
  TensorId y = d.output("y", ElemType::f64, {5}), z = d.output("z", ElemType::f64, {5});
  ExprId place = d.read(id, {d.at(0)});
  d.map(y, {d.axis(0, 5)}, d.read(x, {place}));
  d.map(z, {d.axis(0, 5)}, d.read(x, {place}, d.num(-1)));
  Sink sink;
  auto values = d.run({{x, vec({10, 11, 12})}, {id, ints({2, -1, 3, INT64_MIN, 0})}}, sink);
  REQUIRE(values);
  CHECK(values->at(y).reals == std::vector<double>{12, 0, 0, 0, 10});
  CHECK(values->at(z).reals == std::vector<double>{12, -1, -1, -1, 10});
}

TEST_CASE("an unguarded affine read out of range is our bug, not the input's") {
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {3});
  TensorId y = d.output("y", ElemType::f64, {4});
  d.map(y, {d.axis(0, 4)}, d.read(x, {d.at(0)}));
  Sink sink;
  CHECK_THROWS_AS(d.run({{x, vec({1, 2, 3})}}, sink), InternalError);
}

TEST_CASE("topk orders by value descending, NaN first, then index; fewer points fill up") {
  struct Case {
    std::vector<double> x;
    int64_t k;
    std::vector<double> values;
    std::vector<int64_t> indices;
  };
  for (const Case& c : std::vector<Case>{
           {{1, 5, 3, 5}, 3, {5, 5, 3}, {1, 3, 2}},
           {{1, quiet_nan, 7, quiet_nan}, 3, {quiet_nan, quiet_nan, 7}, {1, 3, 2}},
           {{2}, 3, {2, -inf, -inf}, {0, -1, -1}},
           {{-inf}, 2, {-inf, -inf}, {0, -1}},
           {{}, 2, {-inf, -inf}, {-1, -1}},
           {{1, 2}, 0, {}, {}},
       }) {
    Draft d;
    int64_t n = static_cast<int64_t>(c.x.size());
    TensorId x = d.input("x", ElemType::f64, {n});
    TensorId v = d.output("v", ElemType::f64, {c.k}), id = d.output("id", ElemType::i32, {c.k});
    Comprehension node = d.reduction(v, "topk", Scalar::real, {}, {d.axis(0, n)},
                                     {d.read(x, {d.at(0)}), d.at(0)}, {}, c.k);
    // Both results number their position alike.
    ExprId at = d.at(1);
    node.reduction->monoid = *d.g.builtin("topk", Scalar::real, c.k);
    node.results = {{v, d.s().state(Op::acc, 0, Scalar::real, {&at, 1}), {d.axis(1, c.k)}},
                    {id, d.s().state(Op::acc, 1, Scalar::integer, {&at, 1}), {d.axis(1, c.k)}}};
    d.add(node);
    Sink sink;
    auto values = d.run({{x, vec(c.x)}}, sink);
    REQUIRE(values);
    for (size_t i = 0; i < c.values.size(); ++i) CHECK(same(values->at(v).reals[i], c.values[i]));
    CHECK(values->at(id).integers == c.indices);
  }
}

TEST_CASE("scans: inclusive, exclusive, descending, filtered, along an outer axis") {
  struct Case {
    bool exclusive, descending, filtered;
    std::vector<double> want;
  };
  // x = [[1, 2], [10, 20], [100, 200]], along the first axis; the filter leaves out the middle row.
  for (const Case& c : std::vector<Case>{{false, false, false, {1, 2, 11, 22, 111, 222}},
                                         {true, false, false, {0, 0, 1, 2, 11, 22}},
                                         {false, true, false, {111, 222, 110, 220, 100, 200}},
                                         {true, true, false, {110, 220, 100, 200, 0, 0}},
                                         {false, false, true, {1, 2, 1, 2, 101, 202}}}) {
    Draft d;
    TensorId x = d.input("x", ElemType::f64, {3, 2}), y = d.output("y", ElemType::f64, {3, 2});
    ExprId filter;
    if (c.filtered) filter = d.op(Op::ne, d.at(0), d.lit(1));
    Comprehension node = d.reduction(y, "sum", Scalar::real, {d.axis(0, 3), d.axis(1, 2)}, {},
                                     {d.read(x, {d.at(0), d.at(1)})}, filter);
    node.scan = Scan{0, c.exclusive, c.descending};
    d.add(node);
    CHECK(d.run({{x, real_array({3, 2}, {1, 2, 10, 20, 100, 200})}}).reals == c.want);
  }
}

TEST_CASE("bounds on a reduce axis: only lo <= index < hi takes part") {
  // y[i] = sum[j, i-1 <= j < i+1] x[j]
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {4}), y = d.output("y", ElemType::f64, {4});
  Axis j = d.axis(1, 4);
  j.lo = d.op(Op::sub, d.at(0), d.lit(1));
  j.hi = d.op(Op::add, d.at(0), d.lit(5));
  d.add(d.reduction(y, "sum", Scalar::real, {d.axis(0, 4)}, {j}, {d.read(x, {d.at(1)})}));
  CHECK(d.run({{x, vec({1, 10, 100, 1000})}}).reals == std::vector<double>{1111, 1111, 1110, 1100});
}

TEST_CASE("floordiv, mod, round and sign") {
  Draft d;
  TensorId a = d.input("a", ElemType::f64, {8}), b = d.input("b", ElemType::f64, {8});
  std::vector<TensorId> out;
  ExprId av = d.read(a, {d.at(0)}), bv = d.read(b, {d.at(0)});
  for (ExprId value : {d.op(Op::floordiv, av, bv), d.op(Op::mod, av, bv), d.op(Op::round, av),
                       d.op(Op::sign, av)}) {
    out.push_back(d.output("o" + std::to_string(out.size()), ElemType::f64, {8}));
    d.map(out.back(), {d.axis(0, 8)}, value);
  }
  Sink sink;
  auto values = d.run(
      {{a, vec({7, -7, 7, -7, 2.5, -2.5, 0.5, quiet_nan})}, {b, vec({2, 2, -2, -2, 0, 1, 0.1, 1})}},
      sink);
  REQUIRE(values);
  auto expect = [&](size_t n, std::vector<double> want) {
    for (size_t i = 0; i < want.size(); ++i) CHECK(same(values->at(out[n]).reals[i], want[i]));
  };
  expect(0, {3, -4, -4, 3, 0, -3, 4, quiet_nan});
  expect(1, {1, 1, -1, -1, 0, 0.5, 0.5 - 4 * 0.1, quiet_nan});
  expect(2, {7, -7, 7, -7, 2, -2, 0, quiet_nan});
  expect(3, {1, -1, 1, -1, 1, -1, 1, quiet_nan});
}

TEST_CASE("integers: floordiv by 0, shifts, saturating conversions") {
  Draft d;
  TensorId a = d.input("a", ElemType::i64, {5}), b = d.input("b", ElemType::i64, {5});
  ExprId av = d.read(a, {d.at(0)}), bv = d.read(b, {d.at(0)});
  std::vector<TensorId> out;
  for (ExprId value : {d.op(Op::floordiv, av, bv), d.op(Op::mod, av, bv), d.op(Op::shr, av, bv),
                       d.s().cast(ElemType::i8, av)}) {
    out.push_back(d.output("o" + std::to_string(out.size()), ElemType::i64, {5}));
    d.map(out.back(), {d.axis(0, 5)}, value);
  }
  Sink sink;
  auto values = d.run({{a, ints({7, -7, 300, -300, -1})}, {b, ints({2, 2, 0, 1, 70})}}, sink);
  REQUIRE(values);
  CHECK(values->at(out[0]).integers == std::vector<int64_t>{3, -4, 0, -300, -1});
  CHECK(values->at(out[1]).integers == std::vector<int64_t>{1, 1, 0, 0, 69});
  CHECK(values->at(out[2]).integers == std::vector<int64_t>{1, -2, 300, -150, -1});
  CHECK(values->at(out[3]).integers == std::vector<int64_t>{7, -7, 127, -128, -1});
}

TEST_CASE("comparisons with NaN are false but !=") {
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {});
  ExprId v = d.read(x, {});
  std::vector<int64_t> got;
  std::vector<TensorId> out;
  for (Op op : {Op::eq, Op::ne, Op::lt, Op::le}) {
    out.push_back(d.output("o", ElemType::boolean, {}));
    d.map(out.back(), {}, d.op(op, v, d.num(1)));
  }
  Sink sink;
  auto values = d.run({{x, real_array({}, {quiet_nan})}}, sink);
  REQUIRE(values);
  for (TensorId o : out) got.push_back(values->at(o).integers[0]);
  CHECK(got == std::vector<int64_t>{0, 1, 0, 0});
}
