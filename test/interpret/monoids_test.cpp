// User monoids: combine terms, indexed fields, folds, scans; and the test of their laws.
#include "graphs.h"
#include "interpret/check_monoids.h"

using namespace tang;
using namespace tang::interpret;
using namespace tang::interpret::test;

namespace {

/// monoid lse(m = -inf, s = 0) (a, b) -> (max, rescaled sum), stable.
MonoidId lse(Draft& d) {
  ExprStore& s = d.s();
  auto st = [&](Op op, uint32_t f) { return s.state(op, f, Scalar::real); };
  ExprId m = d.op(Op::max, st(Op::lhs, 0), st(Op::rhs, 0));
  auto part = [&](Op side) {
    // where(side.m == m, side.s, side.s * exp(side.m - m)): no NaN from -inf - -inf.
    ExprId scaled = d.op(Op::mul, st(side, 1), d.op(Op::exp, d.op(Op::sub, st(side, 0), m)));
    return s.select(d.op(Op::eq, st(side, 0), m), st(side, 1), scaled);
  };
  Monoid monoid;
  monoid.name = "lse";
  monoid.fields = {{"m", Scalar::real, {}, d.num(-inf)}, {"s", Scalar::real, {}, d.num(0)}};
  monoid.combine = {m, d.op(Op::add, part(Op::lhs), part(Op::rhs))};
  monoid.visible = {0, 1};
  return d.g.add(monoid);
}

/// monoid linear(A[i: n, k: n] = where(i == k, 1, 0), c[i: n] = 0): composition of x -> A x + c,
/// the earlier part first.
MonoidId linear(Draft& d, int64_t n, bool wrong = false) {
  ExprStore& s = d.s();
  MonoidId sum = *d.g.builtin("sum", Scalar::real);
  ExprId i = d.at(0), k = d.at(1), l = d.at(2);
  IndexId bound(2);
  ExprId extent = d.lit(n);
  auto A = [&](Op side, ExprId a, ExprId b) {
    ExprId places[] = {a, b};
    return s.state(side, 0, Scalar::real, places);
  };
  auto c = [&](Op side, ExprId a) { return s.state(side, 1, Scalar::real, {&a, 1}); };
  auto total = [&](ExprId body) {
    return s.fold(sum, Scalar::real, {&bound, 1}, {&extent, 1}, {}, body);
  };
  Monoid m;
  m.name = "linear";
  m.fields = {{"A",
               Scalar::real,
               {d.axis(0, n), d.axis(1, n)},
               s.select(d.op(Op::eq, i, k), d.num(1), d.num(wrong ? 0.5 : 0))},
              {"c", Scalar::real, {d.axis(0, n)}, d.num(0)}};
  m.combine = {total(d.op(Op::mul, A(Op::rhs, i, l), A(Op::lhs, l, k))),
               d.op(Op::add, total(d.op(Op::mul, A(Op::rhs, i, l), c(Op::lhs, l))), c(Op::rhs, i))};
  m.visible = {0, 1};
  return d.g.add(m);
}

/// c[t, i] of a scan under `linear` over matrices P[t, n, n] and vectors u[t, n].
struct LinearScan {
  Draft d;
  TensorId p, u, a, c;
  LinearScan(int64_t steps, int64_t n, bool wrong = false) {
    p = d.input("P", ElemType::f64, {steps, n, n});
    u = d.input("u", ElemType::f64, {steps, n});
    c = d.output("c", ElemType::f64, {steps, n});
    a = d.output("a", ElemType::f64, {steps, n, n});
    Comprehension node;
    node.points = {d.axis(0, steps)};
    node.reduction =
        Reduction{linear(d, n, wrong),
                  {},
                  {},
                  {d.read(p, {d.at(0), d.at(1), d.at(2)}), d.read(u, {d.at(0), d.at(3)})},
                  {{d.axis(1, n), d.axis(2, n)}, {d.axis(3, n)}}};
    node.scan = Scan{0, false, false};
    ExprId i = d.at(4), ik[] = {d.at(4), d.at(5)};
    node.results = {{a, d.s().state(Op::acc, 0, Scalar::real, ik), {d.axis(4, n), d.axis(5, n)}},
                    {c, d.s().state(Op::acc, 1, Scalar::real, {&i, 1}), {d.axis(4, n)}}};
    d.add(node);
  }
};

} // namespace

TEST_CASE("a user monoid over a reduction") {
  for (int64_t n : {0, 1, 3, 17}) {
    Draft d;
    TensorId x = d.input("x", ElemType::f64, {n});
    TensorId m = d.output("m", ElemType::f64, {}), s = d.output("s", ElemType::f64, {});
    Comprehension node;
    node.reduction = Reduction{lse(d), {d.axis(0, n)}, {}, {d.read(x, {d.at(0)}), d.num(1)}, {}};
    node.results = {{m, d.s().state(Op::acc, 0, Scalar::real), {}},
                    {s, d.s().state(Op::acc, 1, Scalar::real), {}}};
    d.add(node);
    CHECK([&] {
      Sink sink;
      return check_monoids(d.g, sink);
    }());
    Array data = zeros(Scalar::real, {n});
    double total = 0, top = -inf;
    for (size_t i = 0; i < data.reals.size(); ++i) {
      data.reals[i] = std::sin(static_cast<double>(i)) * 3;
      top = std::max(top, data.reals[i]);
    }
    for (double v : data.reals) total += std::exp(v - top);
    Sink sink;
    auto values = d.run({{x, data}}, sink);
    REQUIRE(values);
    CHECK(values->at(m).reals[0] == top);
    CHECK(values->at(s).reals[0] == Approx(total));
  }
}

TEST_CASE("indexed fields: a scan under `linear` is the recurrence x = P x + u") {
  for (int64_t n : {1, 2, 3})
    for (int64_t steps : {0, 1, 5}) {
      LinearScan scan(steps, n);
      Array p = zeros(Scalar::real, {steps, n, n}), u = zeros(Scalar::real, {steps, n});
      for (size_t i = 0; i < p.reals.size(); ++i)
        p.reals[i] = 0.1 * static_cast<double>(i % 7) - 0.2;
      for (size_t i = 0; i < u.reals.size(); ++i) u.reals[i] = static_cast<double>(i % 3) - 1;
      Sink sink;
      auto values = scan.d.run({{scan.p, p}, {scan.u, u}}, sink);
      REQUIRE(values);
      std::vector<double> x(static_cast<size_t>(n), 0);
      for (int64_t t = 0; t < steps; ++t) {
        std::vector<double> next(x.size());
        for (int64_t i = 0; i < n; ++i) {
          next[static_cast<size_t>(i)] = u.reals[static_cast<size_t>(t * n + i)];
          for (int64_t k = 0; k < n; ++k)
            next[static_cast<size_t>(i)] +=
                p.reals[static_cast<size_t>((t * n + i) * n + k)] * x[static_cast<size_t>(k)];
        }
        x = next;
        for (int64_t i = 0; i < n; ++i)
          CHECK(values->at(scan.c).reals[static_cast<size_t>(t * n + i)] ==
                Approx(x[static_cast<size_t>(i)]).margin(1e-12));
      }
      Sink laws;
      CHECK(check_monoids(scan.d.g, laws));
    }
}

TEST_CASE("a wrong identity is found, with the state it changes") {
  LinearScan scan(4, 2, true);
  Sink sink;
  CHECK_FALSE(check_monoids(scan.d.g, sink));
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(sink.diagnostics()[0].kind == Kind::monoid_identity);
  CHECK(sink.diagnostics()[0].notes[0].message.find("A = [1, 0.5, 0.5, 1], c = [0, 0]") !=
        std::string::npos);
}

TEST_CASE("a combine that does not associate is found") {
  Draft d;
  TensorId x = d.input("x", ElemType::f32, {5}), y = d.output("y", ElemType::f32, {});
  Monoid m;
  m.name = "mid";
  ExprId a = d.s().state(Op::lhs, 0, Scalar::real), b = d.s().state(Op::rhs, 0, Scalar::real);
  m.fields = {{"s", Scalar::real, {}, d.num(0)}};
  // a + b + a*b*b: 0 is its identity, but it does not associate.
  m.combine = {d.op(Op::add, d.op(Op::add, a, b), d.op(Op::mul, d.op(Op::mul, a, b), b))};
  Comprehension node;
  node.reduction = Reduction{d.g.add(m), {d.axis(0, 5)}, {}, {d.read(x, {d.at(0)})}, {}};
  node.results = {{y, d.s().state(Op::acc, 0, Scalar::real), {}}};
  d.add(node);
  Sink sink;
  CHECK_FALSE(check_monoids(d.g, sink));
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(sink.diagnostics()[0].kind == Kind::monoid_not_associative);
  CHECK(sink.diagnostics()[0].notes.size() == 2);
}

TEST_CASE("laws are tested on reached states only") {
  // Associative where s >= 0 only: max(a, b) written as (a + b + |a - b|) / 2 with identity 0.
  for (bool square : {true, false}) {
    Draft d;
    TensorId x = d.input("x", ElemType::f32, {5}), y = d.output("y", ElemType::f32, {});
    ExprId a = d.s().state(Op::lhs, 0, Scalar::real), b = d.s().state(Op::rhs, 0, Scalar::real);
    Monoid m;
    m.name = "top";
    m.fields = {{"s", Scalar::real, {}, d.num(0)}};
    m.combine = {d.op(Op::max, a, b)};
    ExprId v = d.read(x, {d.at(0)});
    Comprehension node;
    node.reduction =
        Reduction{d.g.add(m), {d.axis(0, 5)}, {}, {square ? d.op(Op::mul, v, v) : v}, {}};
    node.results = {{y, d.s().state(Op::acc, 0, Scalar::real), {}}};
    d.add(node);
    Sink sink;
    CHECK(check_monoids(d.g, sink) == square);
  }
}

TEST_CASE("nested folds inside a map, filtered, over shared bound indices") {
  // y[i] = sum[l where l <= i] x[l] + max[l] x[l], both folds binding the same index.
  Draft d;
  TensorId x = d.input("x", ElemType::f64, {4}), y = d.output("y", ElemType::f64, {4});
  IndexId l(1);
  ExprId extent = d.lit(4), xl = d.read(x, {d.at(1)});
  auto fold = [&](std::string_view name, ExprId filter) {
    return d.s().fold(*d.g.builtin(name, Scalar::real), Scalar::real, {&l, 1}, {&extent, 1}, filter,
                      xl);
  };
  d.map(y, {d.axis(0, 4)},
        d.op(Op::add, fold("sum", d.op(Op::le, d.at(1), d.at(0))), fold("max", {})));
  CHECK(d.run({{x, real_array({4}, {1, 2, 3, 4})}}).reals == std::vector<double>{5, 7, 10, 14});
}
