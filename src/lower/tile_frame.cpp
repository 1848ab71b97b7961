#include "lower/tile_frame.h"
#include "base/check.h"
#include "lower/accumulate.h"
#include "lower/vectors.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Op;
using kernel::LoopKind;

TileFrame::TileFrame(const Emission& emission)
    : e(emission), g(e.graph), f(e.fields),
      c(std::get<graph::Comprehension>(e.nodes[0]->definition)), r(*c.reduction),
      b(e.graph, e.name), terms(b, compute_type(e.graph, e.nodes)), axes(terms, c) {
  for (const auto& [step, last] : e.steps) b.declare_step(step, last);
  sides = graph::sides_of(g, c);
  TANG_CHECK(!sides.m.empty() && !sides.n.empty(), "`{}` is no contraction", e.name);
  if (!e.machine.hardware_grid) {
    // Without threads the outer axes are loops, so that no index needs a division.
    auto outer = [&](std::vector<size_t>& side) {
      sides.batch.insert(sides.batch.end(), side.begin(), side.end() - 1);
      side.erase(side.begin(), side.end() - 1);
    };
    outer(sides.m), outer(sides.n);
    std::sort(sides.batch.begin(), sides.batch.end());
  }
  operands = graph::operands_of(g, c, sides);
  order_by_appearance(g.exprs, r.body, operands.a);
  order_by_appearance(g.exprs, r.body, operands.b);
  types = field_types(g, c, prover_with_axes(), terms.real());
  note_product();
}

graph::Prover TileFrame::prover_with_axes() const {
  graph::Prover p(g);
  p.add_axes(c.points), p.add_axes(r.axes);
  return p;
}

/// A product that no instruction carries out is said to `--explain-atoms`.
void TileFrame::note_product() {
  if (operands.a.size() != 1 || operands.b.size() != 1 || types.size() != 1) return;
  const graph::Expr &left = g.exprs[operands.a[0]], &right = g.exprs[operands.b[0]];
  if (g.exprs[r.body[0]].op != Op::mul || left.op != Op::read || right.op != Op::read) return;
  auto format = [&](const graph::Expr& read) { return g[graph::TensorId(read.ref)].type; };
  b.kernel().asked.push_back(
      {atomics::Product{element_type(types[0]), format(left), format(right)}, nullptr});
}

bool TileFrame::along_sum(ExprId operand, const std::vector<size_t>& side) const {
  return graph::contiguous_along(g, operand, r.axes.back().index) &&
         !graph::contiguous_along(g, operand, c.points[side.back()].index);
}

Accumulators TileFrame::accumulators() {
  auto& v = b.values();
  const graph::Monoid& m = g[r.monoid];
  Accumulators acc;
  for (size_t n = 0; n < m.fields.size(); ++n) {
    std::string name = m.fields[n].name.empty() ? "acc" : "acc_" + m.fields[n].name;
    acc.push_back(b.registers(name, types[n], {f.thread_m, f.thread_n}));
    ValueId identity = v.convert(types[n], terms.lower(m.fields[n].identity));
    b.loop("i", f.thread_m, LoopKind::unrolled, [&](ValueId i) {
      b.loop("j", f.thread_n, LoopKind::unrolled, [&](ValueId j) {
        b.store({acc[n], {i, j}}, identity);
      });
    });
  }
  return acc;
}

void TileFrame::update(const Accumulators& acc, ValueId i, ValueId j, const Values& first,
                       const Values& second) {
  auto& v = b.values();
  const graph::Monoid& m = g[r.monoid];
  terms.scope([&] {
    auto outer = terms.exchange_operands([&](ExprId id) -> std::optional<ValueId> {
      auto find = [&](const std::vector<ExprId>& list) {
        return std::find(list.begin(), list.end(), id) - list.begin();
      };
      if (size_t o = find(operands.a); o < operands.a.size()) return first(o);
      if (size_t o = find(operands.b); o < operands.b.size()) return second(o);
      return std::nullopt;
    });
    std::vector<ValueId> elements = terms.lower(r.body), next;
    terms.exchange_operands(std::move(outer));
    for (size_t n = 0; n < acc.size(); ++n) elements[n] = v.convert(types[n], elements[n]);
    auto state = terms.exchange_state([&](Op op, uint32_t n, const std::vector<ValueId>&) {
      return op == Op::lhs ? b.element(acc[n], {i, j}) : elements[n];
    });
    for (size_t n = 0; n < acc.size(); ++n)
      next.push_back(v.convert(types[n], terms.lower(m.combine[n])));
    terms.exchange_state(std::move(state));
    // Every field is computed from the old state before any is replaced.
    bool alone = acc.size() == 1;
    for (ValueId& value : next)
      if (!alone) value = b.let("n", value);
    for (size_t n = 0; n < acc.size(); ++n) b.store({acc[n], {i, j}}, next[n]);
  });
}

void TileFrame::results(const Accumulators& acc, ValueId i, ValueId j) {
  auto outer = terms.exchange_state([&](Op, uint32_t n, const std::vector<ValueId>&) {
    return b.element(acc[n], {i, j});
  });
  for (const graph::Result& result : c.results) store_result(terms, result, axes.points(), {});
  terms.exchange_state(std::move(outer));
}

} // namespace tang::lower
