#pragma once
// Small graphs built by hand, and their values.
#include "base/check.h"
#include "interpret/eval.h"
#include <catch2/catch.hpp>
#include <cmath>

namespace tang::interpret::test {

using namespace tang::graph;

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline const double quiet_nan = std::numeric_limits<double>::quiet_NaN();

inline bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

/// A graph with a few words for building nodes.
struct Draft {
  Graph g;

  ExprStore& s() { return g.exprs; }
  ExprId lit(int64_t v) { return s().integer(v); }
  ExprId num(double v) { return s().real(v); }
  ExprId at(uint32_t i) { return s().index(IndexId(i)); }
  ExprId op(Op o, ExprId a) { return s().unary(o, a); }
  ExprId op(Op o, ExprId a, ExprId b) { return s().binary(o, a, b); }

  TensorId tensor(std::string name, TensorKind kind, ElemType type, std::vector<ExprId> shape) {
    Tensor t;
    t.name = std::move(name), t.kind = kind, t.type = type, t.shape = std::move(shape);
    TensorId id = g.add(std::move(t));
    if (kind == TensorKind::input || kind == TensorKind::param) g.inputs.push_back(id);
    if (kind == TensorKind::output) g.outputs.push_back(id);
    return id;
  }
  TensorId input(std::string name, ElemType type, std::vector<int64_t> shape) {
    return tensor(std::move(name), TensorKind::input, type, extents(shape));
  }
  TensorId output(std::string name, ElemType type, std::vector<int64_t> shape) {
    return tensor(std::move(name), TensorKind::output, type, extents(shape));
  }
  std::vector<ExprId> extents(const std::vector<int64_t>& shape) {
    std::vector<ExprId> e;
    for (int64_t x : shape) e.push_back(lit(x));
    return e;
  }
  ExprId read(TensorId t, std::vector<ExprId> places, ExprId otherwise = {}) {
    return s().read(t, scalar_of(g[t].type), places, otherwise);
  }
  Axis axis(uint32_t i, int64_t extent) {
    return {IndexId(i), lit(extent), "i" + std::to_string(i), {}, {}};
  }
  void map(TensorId result, std::vector<Axis> points, ExprId value) {
    Comprehension c;
    c.points = std::move(points);
    c.results.push_back({result, value, {}});
    g.nodes.push_back({std::move(c), {}, {}});
  }
  /// result = value(acc) over the built-in `name`, whose single field `field` is asked for.
  Comprehension reduction(TensorId result, std::string_view name, Scalar scalar,
                          std::vector<Axis> points, std::vector<Axis> axes,
                          std::vector<ExprId> body, ExprId filter = {}, int64_t k = 0) {
    Comprehension c;
    c.points = std::move(points);
    MonoidId monoid = *g.builtin(name, scalar, k);
    c.reduction = Reduction{monoid, std::move(axes), filter, std::move(body), {}};
    uint32_t field = g[monoid].visible[0];
    if (k == 0)
      c.results.push_back({result, s().state(Op::acc, field, g[monoid].fields[field].scalar), {}});
    return c;
  }
  void add(Comprehension c) { g.nodes.push_back({std::move(c), {}, {}}); }

  std::optional<Values> run(const Values& inputs, Sink& sink, EvalOptions options = {},
                            std::vector<int64_t> dims = {}) {
    return evaluate(g, inputs, dims, options, sink);
  }
  /// The only output; the run must succeed.
  Array run(const Values& inputs, EvalOptions options = {}, std::vector<int64_t> dims = {}) {
    Sink sink;
    auto values = run(inputs, sink, options, dims);
    for (const Diagnostic& d : sink.diagnostics()) UNSCOPED_INFO(d.message);
    REQUIRE(values);
    return values->at(g.outputs.at(0));
  }
};

} // namespace tang::interpret::test
