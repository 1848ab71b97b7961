#include "lower/vectors.h"
#include "lower/emit.h"
#include <algorithm>
#include <unordered_set>

namespace tang::lower {

using graph::Axis;
using graph::Expr;
using graph::Op;
using kernel::LoopKind;

void order_by_appearance(const graph::ExprStore& store, std::span<const ExprId> roots,
                         std::vector<ExprId>& terms) {
  if (terms.size() < 2) return;
  std::unordered_map<ExprId, size_t> place;
  std::vector<ExprId> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    if (!place.emplace(id, place.size()).second) continue;
    const auto& operands = store[id].operands;
    for (size_t i = operands.size(); i-- > 0;)
      if (operands[i]) stack.push_back(operands[i]);
  }
  std::sort(terms.begin(), terms.end(),
            [&](ExprId a, ExprId b) { return place.at(a) < place.at(b); });
}

std::vector<ExprId> vector_reads(const graph::Graph& graph, std::span<const ExprId> roots,
                                 const Axis& inner, int width) {
  const graph::ExprStore& store = graph.exprs;
  std::vector<ExprId> found, stack(roots.begin(), roots.end());
  std::unordered_set<ExprId> seen(roots.begin(), roots.end());
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    const Expr& e = store[id];
    if (e.op == Op::fold) continue;
    if (e.op == Op::read && moves_as_vector(graph, e, inner, width)) {
      found.push_back(id);
      continue;
    }
    bool branches = e.op == Op::select || e.op == Op::logical_and || e.op == Op::logical_or;
    size_t always = branches ? 1 : e.operands.size();
    for (size_t i = 0; i < always; ++i)
      if (seen.insert(e.operands[i]).second) stack.push_back(e.operands[i]);
  }
  order_by_appearance(store, roots, found);
  return found;
}

void copy_vector(Builder& b, kernel::Ref dst, kernel::Ref src, graph::ElemType memory_type,
                 int width, int vector_bytes, ValueId predicate) {
  auto& v = b.values();
  int piece = std::min(width, static_cast<int>(vector_bytes * 8 / graph::info(memory_type).bits));
  for (int at = 0; at < width; at += piece) {
    kernel::Ref d = dst, s = src;
    if (at > 0) {
      d.coordinates.back() = v.add(d.coordinates.back(), v.integer(at));
      s.coordinates.back() = v.add(s.coordinates.back(), v.integer(at));
    }
    b.emit({kernel::Copy{std::move(d), std::move(s), piece, predicate}});
  }
}

void emit_vectors(Terms& terms, const graph::Comprehension& node, std::vector<ValueId> points,
                  size_t axis, int width, int vector_bytes) {
  auto& b = terms.builder();
  auto& v = b.values();
  const graph::Graph& g = b.graph();
  const Axis& inner = node.points[axis];
  ValueId first = b.let(inner.name + "0", v.mul(points[axis], v.integer(width)));
  std::vector<ExprId> roots;
  for (const graph::Result& result : node.results) roots.push_back(result.value);
  terms.hoist(roots);
  std::unordered_map<ExprId, kernel::TensorId> loaded;
  for (ExprId id : vector_reads(g, roots, inner, width)) {
    const Expr& read = g.exprs[id];
    const graph::Tensor& t = g[graph::TensorId(read.ref)];
    kernel::TensorId r = b.registers(t.name + "_v", register_type(t.type), {width});
    auto [memory, dropped] = terms.memory_of(read);
    kernel::Ref src{memory, {}};
    for (size_t i = dropped; i + 1 < read.operands.size(); ++i)
      src.coordinates.push_back(v.convert(Type::index, terms.lower(read.operands[i])));
    src.coordinates.push_back(first);
    copy_vector(b, {r, {v.integer(0)}}, src, t.type, width, vector_bytes);
    loaded[id] = r;
  }
  // Outputs that are written in part, or are packed, go element by element.
  auto whole = [&](const graph::Result& result) {
    const graph::Tensor& t = g[result.tensor];
    return b.store_prefix.empty() && !t.over && t.strides.empty() && !graph::is_packed(t.type) &&
           axis + 1 == node.points.size();
  };
  std::vector<kernel::TensorId> out(node.results.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (whole(node.results[i]))
      out[i] = b.registers(g[node.results[i].tensor].name + "_v",
                           register_type(g[node.results[i].tensor].type), {width});
  b.loop("e", width, LoopKind::unrolled, [&](ValueId e) {
    terms.scope([&] {
      auto outer = terms.exchange_override([&](ExprId id) -> std::optional<ValueId> {
        auto at = loaded.find(id);
        if (at == loaded.end()) return std::nullopt;
        ValueId value = b.element(at->second, {e});
        bool real = g.exprs[id].scalar == graph::Scalar::real;
        return real ? v.convert(terms.real(), value) : value;
      });
      ValueId index = b.coordinate(inner.name, v.add(first, e), b.extent(inner.extent));
      terms.bind(inner, index);
      points[axis] = index;
      for (size_t i = 0; i < out.size(); ++i) {
        const graph::Result& result = node.results[i];
        if (!out[i])
          store_result(terms, result, points, {});
        else
          b.store({out[i], {e}}, b.narrowed(g[result.tensor].type, terms.lower(result.value)));
      }
      terms.exchange_override(std::move(outer));
    });
  });
  points[axis] = first;
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i])
      copy_vector(b, {b.param(node.results[i].tensor, true), points}, {out[i], {v.integer(0)}},
                  g[node.results[i].tensor].type, width, vector_bytes);
}

} // namespace tang::lower
