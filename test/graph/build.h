#pragma once
// Short names to build graphs in tests.
#include "graph/graph.h"
#include <initializer_list>

namespace tang::graph {

struct Builder {
  Graph graph;
  ExprStore& s = graph.exprs;
  uint32_t next = 0;

  Builder() { graph.name = "g"; }
  Builder(const Builder&) = delete;

  ExprId n(int64_t value) { return s.integer(value); }
  ExprId r(double value) { return s.real(value); }
  ExprId dim(std::string name, int64_t lo, int64_t hi, int64_t step = 1) {
    graph.dims.push_back({std::move(name), lo, hi, step, {}});
    return s.dim(DimId(static_cast<uint32_t>(graph.dims.size() - 1)));
  }
  /// A new index, numbered per node: call `begin` before the axes of each node.
  void begin() { next = 0; }
  Axis axis(std::string name, ExprId extent) {
    return {IndexId(next++), extent, std::move(name), {}, {}};
  }
  Axis axis(ExprId extent) { return axis("i", extent); }
  ExprId at(const Axis& axis) { return s.index(axis.index); }
  ExprId add(ExprId a, ExprId b) { return s.binary(Op::add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return s.binary(Op::sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return s.binary(Op::mul, a, b); }
  ExprId mul(int64_t a, ExprId b) { return mul(n(a), b); }
  ExprId floordiv(ExprId a, int64_t c) { return s.binary(Op::floordiv, a, n(c)); }
  ExprId mod(ExprId a, int64_t c) { return s.binary(Op::mod, a, n(c)); }
  ExprId lt(ExprId a, ExprId b) { return s.binary(Op::lt, a, b); }
  ExprId le(ExprId a, ExprId b) { return s.binary(Op::le, a, b); }
  ExprId relu(ExprId x) { return s.select(le(x, r(0)), r(0), x); }

  TensorId tensor(std::string name, TensorKind kind, ElemType type, std::vector<ExprId> shape) {
    Tensor t;
    t.name = std::move(name), t.kind = kind, t.type = type, t.shape = std::move(shape);
    TensorId id = graph.add(t);
    if (kind == TensorKind::input || kind == TensorKind::param) graph.inputs.push_back(id);
    if (kind == TensorKind::output) graph.outputs.push_back(id);
    return id;
  }
  TensorId input(std::string name, ElemType type, std::vector<ExprId> shape) {
    return tensor(std::move(name), TensorKind::input, type, std::move(shape));
  }
  ExprId read(TensorId id, std::vector<ExprId> places, ExprId otherwise = {}) {
    return s.read(id, scalar_of(graph[id].type), places, otherwise);
  }

  /// The tensor that a node over `points` defines; f32 and i64 unless it is an output.
  TensorId result(std::string name, const std::vector<Axis>& points, Scalar scalar,
                  TensorKind kind = TensorKind::intermediate) {
    std::vector<ExprId> shape;
    for (const Axis& axis : points) shape.push_back(axis.extent);
    ElemType type = scalar == Scalar::real      ? ElemType::f32
                    : scalar == Scalar::integer ? ElemType::i64
                                                : ElemType::boolean;
    return tensor(std::move(name), kind, type, shape);
  }
  TensorId map(std::string name, std::vector<Axis> points, ExprId value,
               TensorKind kind = TensorKind::intermediate) {
    TensorId id = result(std::move(name), points, s[value].scalar, kind);
    Comprehension c;
    c.points = std::move(points);
    c.results = {{id, value, {}}};
    graph.nodes.push_back({std::move(c), {}, {}});
    return id;
  }
  TensorId reduce(std::string name, std::string_view monoid, std::vector<Axis> points,
                  std::vector<Axis> axes, ExprId filter, std::vector<ExprId> body,
                  TensorKind kind = TensorKind::intermediate) {
    Scalar scalar = s[body[0]].scalar;
    MonoidId m = *graph.builtin(monoid, scalar);
    uint32_t field = graph[m].visible[0];
    Scalar shown = graph[m].fields[field].scalar;
    TensorId id = result(std::move(name), points, shown, kind);
    Comprehension c;
    c.points = std::move(points);
    c.reduction = Reduction{m, std::move(axes), filter, std::move(body), {}};
    c.results = {{id, s.state(Op::acc, field, shown), {}}};
    graph.nodes.push_back({std::move(c), {}, {}});
    return id;
  }
  static constexpr TensorKind output = TensorKind::output;
};

} // namespace tang::graph
