// Programs as a person writes them, against values worked out by hand.
#include "interpret/check_monoids.h"
#include "interpret/eval.h"
#include "parse/elaborate/elaborate.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace tang;
using namespace tang::interpret;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double missing = std::numeric_limits<double>::quiet_NaN();

/// Elaborates a program with `<nn>` and evaluates it; arrays by declared name.
class Run {
public:
  explicit Run(std::string text) {
    std::ifstream nn(TANGC_SOURCE_DIR "/specs/nn.tg");
    std::stringstream library;
    library << nn.rdbuf();
    library_ = library.str();
    FileId root = sources_.add("test.tg", "tg 1\ngraph test\n" + std::move(text));
    parse::ElaborateOptions options;
    options.library_text = library_;
    graph_ = parse::elaborate(sources_, root, options, sink_);
    for (const Diagnostic& d : sink_.diagnostics()) UNSCOPED_INFO(d.message);
    REQUIRE(graph_);
  }
  Run& give(std::string_view name, Array array) {
    for (graph::TensorId id : graph_->inputs)
      if ((*graph_)[id].name == name) inputs_[id] = std::move(array);
    return *this;
  }
  Run& reals(std::string_view name, std::vector<int64_t> shape, std::vector<double> x) {
    return give(name, real_array(std::move(shape), std::move(x)));
  }
  Run& integers(std::string_view name, std::vector<int64_t> shape, std::vector<int64_t> x) {
    return give(name, integer_array(std::move(shape), std::move(x)));
  }
  Array output(std::string_view name, std::vector<int64_t> dims = {}) {
    auto values = evaluate(*graph_, inputs_, dims, {}, sink_);
    for (const Diagnostic& d : sink_.diagnostics()) UNSCOPED_INFO(d.message);
    REQUIRE(values);
    for (graph::TensorId id : graph_->outputs)
      if ((*graph_)[id].name == name) return values->at(id);
    FAIL("no output " << name);
    return {};
  }
  bool laws_hold() { return check_monoids(*graph_, sink_); }
  const Sink& sink() const { return sink_; }

private:
  SourceManager sources_;
  std::string library_;
  Sink sink_;
  std::optional<graph::Graph> graph_;
  Values inputs_;
};

void check(const Array& got, const std::vector<double>& want) {
  REQUIRE(got.size() == static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("element " << i << " is " << got.as_real(static_cast<int64_t>(i)) << ", not " << want[i]);
    if (std::isnan(want[i]))
      CHECK(std::isnan(got.reals.at(i)));
    else if (std::isinf(want[i]))
      CHECK(got.reals.at(i) == want[i]);
    else
      CHECK(got.as_real(static_cast<int64_t>(i)) == Approx(want[i]).margin(1e-12));
  }
}

} // namespace

TEST_CASE("softmax: rows without a point are 0, rows of -inf are NaN") {
  Run run("dim N = 3\n"
          "input x : f64[4, N]\n"
          "input keep : bool[4, N]\n"
          "p[i, j] = softmax[j where keep[i, j]] x[i, j]\n"
          "output p : f64[4, N]\n");
  Array keep = zeros(Scalar::boolean, {4, 3});
  keep.integers = {1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1};
  run.give("keep", keep);
  run.reals("x", {4, 3}, {0, 0, 0, 1, 2, 3, -inf, -inf, 5, 0, missing, std::log(3)});
  check(run.output("p"), {1. / 3, 1. / 3, 1. / 3, 0, 0, 0, missing, missing, 0, 0.25, 0, 0.75});
}

TEST_CASE("mean of nothing is NaN, logsumexp of nothing is -inf") {
  Run run("dim N in 0..8\n"
          "input x : f64[N]\n"
          "m = mean[i] x[i]\n"
          "l = logsumexp[i] x[i]\n"
          "output m : f64\n"
          "output l : f64\n");
  run.reals("x", {0}, {});
  check(run.output("m", {0}), {missing});
  check(run.output("l", {0}), {-inf});
}

TEST_CASE("a branch proves its reads and is not evaluated when not taken") {
  Run run("dim N = 4\n"
          "input x : f64[N]\n"
          "y[i: N] = where(i >= 1, x[i - 1], -1) + (x[i + 1] else 10)\n"
          "output y : f64[N]\n");
  run.reals("x", {4}, {1, 2, 3, 4});
  check(run.output("y"), {1, 4, 6, 13});
}

TEST_CASE("scans: inclusive, exclusive, descending, affine") {
  Run run("dim T = 4\n"
          "input x : f64[T]\n"
          "input d : f64[T]\n"
          "c[t] = scan sum[t] x[t]\n"
          "e[t] = scan sum[t exclusive] x[t]\n"
          "r[t] = scan max[t desc] x[t]\n"
          "(a[t], h[t]) = scan affine[t](d[t], x[t])\n"
          "output c : f64[T]\n"
          "output e : f64[T]\n"
          "output r : f64[T]\n"
          "output h : f64[T]\n"
          "output a : f64[T]\n");
  run.reals("x", {4}, {1, 3, 2, 0}).reals("d", {4}, {5, 0.5, 2, -1});
  check(run.output("c"), {1, 4, 6, 6});
  check(run.output("e"), {0, 1, 4, 6});
  check(run.output("r"), {3, 3, 2, 0});
  check(run.output("h"), {1, 3.5, 9, -9});
  check(run.output("a"), {5, 2.5, 5, -5});
  CHECK(run.laws_hold());
}

TEST_CASE("a monoid of several fields: welford gives mean and variance") {
  Run run("dim N = 5\n"
          "input x : f64[N]\n"
          "(n, m, s) = welford[i](1, x[i], 0)\n"
          "v = s / n\n"
          "output m : f64\n"
          "output v : f64\n");
  run.reals("x", {5}, {1, 2, 3, 4, 10});
  check(run.output("m"), {4});
  check(run.output("v"), {10});
  CHECK(run.laws_hold());
}

TEST_CASE("a monoid that is none is found through the program's own uses") {
  Run run("dim N = 5\n"
          "input x : f64[N]\n"
          "monoid sub(s = 0) (a, b) -> (a.s - b.s)\n"
          "y = sub[i](x[i])\n"
          "output y : f64\n");
  CHECK_FALSE(run.laws_hold());
  REQUIRE(run.sink().diagnostics().size() == 1);
  CHECK(run.sink().diagnostics()[0].kind == Kind::monoid_identity);
  CHECK(run.sink().diagnostics()[0].span);
}

TEST_CASE("topk, gathers, and integers of four bits") {
  Run run("dim E = 4\n"
          "input x : f64[E]\n"
          "param w : i4[E, 2]\n"
          "(v[n], id[n]) = topk[e; 2] x[e]\n"
          "y[n, j] = v[n] * w[id[n], j]\n"
          "output y : f64[2, 2]\n"
          "output id : i32[2]\n");
  run.reals("x", {4}, {1, 9, missing, 3}).integers("w", {4, 2}, {0, 0, 1, -8, 99, 2, 0, 0});
  check(run.output("id"), {2, 1});
  check(run.output("y"), {missing, missing, 9, -72});
}

TEST_CASE("recurrences take the new value from the next equation on") {
  Run run("dim T in 0..8\n"
          "input x : f64[T]\n"
          "input h0 : f64\n"
          "input c0 : f64\n"
          "recur t: T carry h = h0, c = c0 {\n"
          "  c = c + x[t]\n"
          "  h = 2 * h + c\n"
          "} collect hs = h\n"
          "output hs : f64[T]\n"
          "last = h + 0\n"
          "output last : f64\n");
  run.reals("x", {3}, {1, 2, 3}).reals("h0", {}, {1}).reals("c0", {}, {10});
  check(run.output("hs", {3}), {13, 39, 94});
  check(run.output("last", {3}), {94});
}

TEST_CASE("repeat unrolls with its constant inside") {
  Run run("dim N = 2\n"
          "input x : f64[N]\n"
          "h[i] = x[i] + 0\n"
          "repeat l in 0..<3 carry h { h[i] = h[i] * 2 + l }\n"
          "output h : f64[N]\n");
  run.reals("x", {2}, {1, 0});
  check(run.output("h"), {12, 4});
}

TEST_CASE("conversions and integer rules in a program") {
  Run run("dim N = 4\n"
          "input x : f64[N]\n"
          "input n : i32[N]\n"
          "a[i] = i8(x[i])\n"
          "b[i] = floordiv(n[i], -2)\n"
          "c[i] = mod(n[i], -2)\n"
          "d[i] = f16(x[i]) - x[i]\n"
          "output a : i8[N]\n"
          "output b : i32[N]\n"
          "output c : i32[N]\n"
          "output d : f64[N]\n");
  run.reals("x", {4}, {300, -2.9, missing, 65520}).integers("n", {4}, {3, -3, 4, 0});
  check(run.output("a"), {127, -2, 0, 127});
  check(run.output("b"), {-2, 1, -2, 0});
  check(run.output("c"), {-1, -1, 0, 0});
  check(run.output("d"), {0, std::ldexp(std::round(std::ldexp(-2.9, 9)), -9) + 2.9, missing, inf});
}
