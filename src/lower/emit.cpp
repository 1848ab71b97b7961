#include "lower/emit.h"
#include "base/check.h"

namespace tang::lower {

using graph::Axis;
using graph::Op;
using kernel::LoopKind;

Type compute_type(const graph::Graph& graph, const std::vector<const graph::Node*>& nodes) {
  for (const graph::Node* node : nodes) {
    for (graph::TensorId id : graph::reads_of(graph, *node))
      if (graph[id].type == graph::ElemType::f64) return Type::f64;
    for (graph::TensorId id : graph::defines_of(*node))
      if (graph[id].type == graph::ElemType::f64) return Type::f64;
  }
  return Type::f32;
}

const atomics::Row* ask(Builder& b, const Machine& machine, atomics::Leaf leaf) {
  const atomics::Row* row = atomics::find(machine.target, leaf);
  b.kernel().asked.push_back({std::move(leaf), row});
  return row;
}

namespace {

/// `select(c, v, same point of the input)` writes only where c holds; the sign says which branch
/// keeps.
struct Kept {
  ExprId condition;
  bool writes_when;
  ExprId value;
};
std::optional<Kept> kept_points(const graph::Graph& graph, const graph::Result& result,
                                std::span<const ExprId> identity) {
  graph::TensorId over = graph[result.tensor].over;
  const graph::Expr& e = graph.exprs[result.value];
  if (!over || e.op != Op::select) return std::nullopt;
  auto unchanged = [&](ExprId id) {
    const graph::Expr& r = graph.exprs[id];
    return r.op == Op::read && graph::TensorId(r.ref) == over && !r.guarded &&
           std::equal(r.operands.begin(), r.operands.end(), identity.begin(), identity.end());
  };
  if (unchanged(e.operands[2])) return Kept{e.operands[0], true, e.operands[1]};
  if (unchanged(e.operands[1])) return Kept{e.operands[0], false, e.operands[2]};
  return std::nullopt;
}

} // namespace

void store_result(Terms& terms, const graph::Result& result, std::span<const ValueId> points,
                  ValueId predicate) {
  auto& b = terms.builder();
  auto& v = b.values();
  const graph::Graph& g = b.graph();
  graph::TensorId storage = g[result.tensor].over ? g[result.tensor].over : result.tensor;
  std::vector<ValueId> places = b.store_prefix;
  places.insert(places.end(), points.begin(), points.end());
  auto write = [&] {
    ValueId when = predicate;
    ExprId value = result.value, path;
    // Points are the node's first indices (graph::canonicalize numbers them so).
    const graph::ExprStore& store = g.exprs;
    std::vector<ExprId> identity;
    if (g[result.tensor].over)
      for (ExprId id : graph::reachable(store, {&result.value, 1}))
        if (store[id].op == Op::read && graph::TensorId(store[id].ref) == g[result.tensor].over) {
          bool same = store[id].operands.size() == points.size();
          for (size_t i = 0; same && i < points.size(); ++i) {
            const graph::Expr& place = store[store[id].operands[i]];
            same = place.op == Op::index && place.ref == i;
          }
          const auto& places = store[id].operands;
          if (same) identity.assign(places.begin(), places.end());
        }
    if (auto kept = kept_points(g, result, identity)) {
      ValueId c = terms.lower(kept->condition);
      when = v.both(when, kept->writes_when ? c : v.unary(Op::logical_not, c));
      b.kernel().tensors[b.param(storage, true).value].in_part = true;
      value = kept->value;
      path = kept->writes_when ? kept->condition : ExprId{};
      if (!path) value = result.value;
    }
    ValueId lowered = terms.lower(value, path);
    b.store({b.param(storage, true), places}, b.narrowed(g[result.tensor].type, lowered), when);
  };
  auto nest = [&](auto&& self, size_t level) -> void {
    if (level == result.extra.size()) return write();
    const Axis& axis = result.extra[level];
    // State that is indexed stays in registers only where the index is known to the target.
    LoopKind kind = g.exprs.as_integer(axis.extent) ? LoopKind::unrolled : LoopKind::serial;
    b.loop(axis.name, v.integer(0), b.extent(axis.extent), v.integer(1), kind, [&](ValueId index) {
      terms.scope([&] {
        terms.bind(axis, index);
        places.push_back(index);
        self(self, level + 1);
        places.pop_back();
      });
    });
  };
  if (result.extra.empty()) return nest(nest, 0);
  terms.scope([&] {
    if (!g[result.tensor].over) terms.hoist({&result.value, 1}, {}, true);
    nest(nest, 0);
  });
}

ValueId clamped(Terms& terms, Op op, ValueId limit, ExprId bound, ValueId extent) {
  auto& v = terms.values();
  ValueId value = terms.lower(bound);
  if (v[value].type == Type::index) return v.binary(op, limit, value);
  // Data is compared before it is narrowed to an index.
  value = v.binary(Op::max, v.integer(0, Type::i64), v.convert(Type::i64, value));
  value = v.binary(Op::min, value, v.convert(Type::i64, extent));
  return v.binary(op, limit, v.convert(Type::index, value));
}

void reduce_loops(Terms& terms, std::span<const Axis> axes, const std::function<void()>& inside) {
  auto& b = terms.builder();
  auto& v = b.values();
  auto nest = [&](auto&& self, size_t level) -> void {
    if (level == axes.size()) return inside();
    const Axis& axis = axes[level];
    ValueId begin = v.integer(0), end = b.extent(axis.extent);
    if (axis.lo) begin = b.let("lo", clamped(terms, Op::max, begin, axis.lo, end));
    if (axis.hi) end = b.let("hi", clamped(terms, Op::min, end, axis.hi, end));
    b.loop(axis.name, begin, end, v.integer(1), LoopKind::serial, [&](ValueId index) {
      terms.scope([&] {
        terms.bind(axis, index);
        self(self, level + 1);
      });
    });
  };
  nest(nest, 0);
}

} // namespace tang::lower
