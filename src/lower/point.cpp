// One thread per point. Maps may take several neighbouring points per thread and move them as
// vectors; reductions and scans run inside the thread, in index order.
#include "base/check.h"
#include "lower/emit.h"
#include "lower/vectors.h"

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Op;
using kernel::LoopKind;

namespace {

/// The part of a node that one thread computes, its point indices bound.
void emit_thread(Terms& terms, const Comprehension& node, std::span<const ValueId> points) {
  if (!node.reduction) {
    for (const graph::Result& result : node.results) store_result(terms, result, points, {});
    return;
  }
  const graph::Reduction& r = *node.reduction;
  auto types = field_types(terms.builder().graph(), node, terms.prover(), terms.real());
  Accumulator acc(terms, r.monoid, "acc", types);
  acc.init();
  std::vector<ExprId> body(r.body.begin(), r.body.end());
  terms.hoist(body, r.filter);
  reduce_loops(terms, r.axes, [&] { acc.combine(r.body, r.field_axes, r.filter); });
  auto outer = terms.exchange_state(acc.state());
  for (const graph::Result& result : node.results) store_result(terms, result, points, {});
  terms.exchange_state(std::move(outer));
}

/// A scan walks its axis inside the thread; `points` lacks that axis's value.
void emit_scan(Terms& terms, const Comprehension& node, std::vector<ValueId> points) {
  const graph::Reduction& r = *node.reduction;
  const graph::Scan& scan = *node.scan;
  auto& b = terms.builder();
  auto& v = b.values();
  const Axis& axis = node.points[scan.axis];
  auto types = field_types(b.graph(), node, terms.prover(), terms.real());
  Accumulator acc(terms, r.monoid, "acc", types);
  acc.init();
  ValueId extent = b.extent(axis.extent);
  b.loop(axis.name, v.integer(0), extent, v.integer(1), LoopKind::serial, [&](ValueId step) {
    terms.scope([&] {
      ValueId t = scan.descending
                      ? b.coordinate(axis.name, v.sub(v.sub(extent, v.integer(1)), step), extent)
                      : step;
      terms.bind(axis, t);
      points[scan.axis] = t;
      auto store = [&] {
        auto outer = terms.exchange_state(acc.state());
        for (const graph::Result& result : node.results) store_result(terms, result, points, {});
        terms.exchange_state(std::move(outer));
      };
      if (scan.exclusive) store();
      acc.combine(r.body, r.field_axes, r.filter);
      if (!scan.exclusive) store();
    });
  });
}

/// No hardware grid: blocks are the outer axes, the thread walks the innermost one.
void emit_serial(Terms& terms, const Comprehension& node) {
  auto& b = terms.builder();
  auto& v = b.values();
  std::vector<size_t> walked;
  for (size_t i = 0; i < node.points.size(); ++i)
    if (!node.scan || node.scan->axis != i) walked.push_back(i);
  std::vector<ValueId> points(node.points.size());
  bool vector = !walked.empty() && !node.scan;
  size_t outer = walked.size() - (vector ? 1 : 0);
  // Colexicographic: the first mode varies fastest.
  for (size_t n = outer; n-- > 0;) {
    const Axis& axis = node.points[walked[n]];
    ValueId extent = b.extent(axis.extent);
    kernel::Var var{axis.name, Type::index, 0, {}};
    graph::IntRange range = v.range(extent);
    if (range.hi != graph::IntRange{}.hi) var.hi = std::max<int64_t>(range.hi - 1, 0);
    VarId id = v.add_var(std::move(var));
    b.kernel().blocks.push_back({id, extent});
    points[walked[n]] = v.variable(id);
  }
  for (size_t n = 0; n < outer; ++n) terms.bind(node.points[walked[n]], points[walked[n]]);
  if (node.scan) return emit_scan(terms, node, points);
  if (!vector) return emit_thread(terms, node, points);
  const Axis& inner = node.points[walked.back()];
  std::vector<ExprId> values;
  for (const graph::Result& result : node.results) values.push_back(result.value);
  if (!node.reduction) terms.hoist(values);
  LoopKind kind = node.reduction ? LoopKind::serial : LoopKind::vector;
  b.loop(inner.name, v.integer(0), b.extent(inner.extent), v.integer(1), kind, [&](ValueId index) {
    terms.scope([&] {
      terms.bind(inner, index);
      points[walked.back()] = index;
      emit_thread(terms, node, points);
    });
  });
}

/// Flat thread number -> point, the innermost axis (in vectors) fastest.
void emit_grid(Terms& terms, const Comprehension& node, const Emission& e) {
  auto& b = terms.builder();
  auto& v = b.values();
  int width = node.reduction ? 1 : e.fields.vector;
  std::vector<size_t> walked;
  for (size_t i = 0; i < node.points.size(); ++i)
    if (!node.scan || node.scan->axis != i) walked.push_back(i);
  ValueId total = v.integer(1);
  std::vector<ValueId> extents;
  for (size_t i : walked) {
    ValueId extent = b.extent(node.points[i].extent);
    if (width > 1 && i == walked.back()) extent = v.binary(Op::floordiv, extent, v.integer(width));
    extents.push_back(extent);
    total = v.mul(total, extent);
  }
  int threads = e.fields.threads;
  VarId block = v.add_var({"block", Type::index, 0, {}}),
        thread = v.add_var({"thread", Type::index, 0, threads - 1});
  b.kernel().blocks.push_back({block, v.ceildiv(total, threads)});
  b.kernel().threads.push_back({thread, threads});
  ValueId flat =
      b.let("n", v.add(v.mul(v.variable(block), v.integer(threads)), v.variable(thread)));
  b.when(v.less(flat, total), [&] {
    std::vector<std::string> names;
    for (size_t i : walked) names.push_back(node.points[i].name);
    auto places = b.delinearize(names, flat, extents);
    std::vector<ValueId> points(node.points.size());
    for (size_t n = 0; n < walked.size(); ++n) points[walked[n]] = places[n];
    for (size_t i : walked)
      if (width == 1 || i != walked.back()) terms.bind(node.points[i], points[i]);
    if (node.scan) return emit_scan(terms, node, points);
    if (width == 1) return emit_thread(terms, node, points);
    emit_vectors(terms, node, points, walked.back(), width, e.machine.vector_bytes);
  });
}

} // namespace

Built emit_point(const Emission& e) {
  TANG_CHECK(e.nodes.size() == 1, "point kernel `{}` has {} nodes", e.name, e.nodes.size());
  const auto* node = std::get_if<Comprehension>(&e.nodes[0]->definition);
  TANG_CHECK(node, "point kernel `{}` of a recurrence", e.name);
  Builder builder(e.graph, e.name);
  for (const auto& [step, last] : e.steps) builder.declare_step(step, last);
  if (e.prefix_step) builder.store_prefix.push_back(builder.step(e.prefix_step));
  Terms terms(builder, compute_type(e.graph, e.nodes));
  if (e.fields.serial_inner || !e.machine.hardware_grid)
    emit_serial(terms, *node);
  else
    emit_grid(terms, *node, e);
  return builder.finish();
}

} // namespace tang::lower
