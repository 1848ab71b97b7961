#include "parse/elaborate/nodes.h"
#include "graph/interval.h"
#include "graph/prover.h"
#include <algorithm>

namespace tang::parse {

using graph::IntRange;
using graph::Op;

Term zero(graph::ExprStore& store, Scalar scalar) {
  switch (scalar) {
  case Scalar::boolean: return store.boolean(false);
  case Scalar::integer: return store.integer(0);
  case Scalar::real: return store.real(0);
  }
  return {};
}

Term conjunction(graph::ExprStore& store, const std::vector<Term>& around, Term filter) {
  std::vector<Term> parts, stack;
  auto split = [&](Term root) {
    if (root) stack.push_back(root);
    while (!stack.empty()) {
      Term id = stack.back();
      stack.pop_back();
      const graph::Expr& e = store[id];
      if (e.op == Op::logical_and)
        stack.push_back(e.operands[1]), stack.push_back(e.operands[0]);
      else if (std::find(parts.begin(), parts.end(), id) == parts.end())
        parts.push_back(id);
    }
  };
  for (Term term : around) split(term);
  if (parts.empty()) return filter;
  size_t outer = parts.size();
  split(filter);
  Term all = parts[0], reading;
  for (size_t i = 1; i < parts.size(); ++i)
    if (i < outer || !store[parts[i]].has_read)
      all = store.logical_and(all, parts[i]);
    else
      reading = reading ? store.logical_and(reading, parts[i]) : parts[i];
  return reading ? store.logical_and(all, store.select(all, reading, store.boolean(false))) : all;
}

namespace {

bool bounded(IntRange r) {
  return r.lo != std::numeric_limits<int64_t>::min() && r.hi != std::numeric_limits<int64_t>::max();
}

/// Values of a field after a reduction, from what its combine does with the earlier and the later
/// state: adds them, or chooses one of them. Without a bound where it does something else.
IntRange reduced_range(const Context& c, const graph::Reduction& r, uint32_t field,
                       const graph::Prover& prover) {
  const graph::ExprStore& s = c.graph.exprs;
  const graph::Monoid& m = c.graph[r.monoid];
  const graph::MonoidField& f = m.fields[field];
  IntRange body = prover.range(r.body[field]);
  auto identity = s.as_integer(f.identity);
  if (!identity) return {};
  IntRange none = graph::interval::point(*identity);
  if (m.form == graph::Monoid::Form::topk) return graph::interval::hull(none, body);
  const graph::Expr& combine = s[m.combine[field]];
  auto is_state = [&](Term id) {
    const graph::Expr& e = s[id];
    return (e.op == Op::lhs || e.op == Op::rhs) && e.ref == field;
  };
  if (combine.op == Op::select && is_state(combine.operands[1]) && is_state(combine.operands[2]))
    return graph::interval::hull(none, body);
  if (combine.operands.size() != 2 || !is_state(combine.operands[0]) ||
      !is_state(combine.operands[1]))
    return {};
  if (combine.op == Op::max || combine.op == Op::min) {
    bool nonempty = !r.filter && !r.axes.empty();
    for (const graph::Axis& axis : r.axes) nonempty &= prover.range(axis.extent).lo >= 1;
    return nonempty ? body : graph::interval::hull(none, body);
  }
  if (combine.op != Op::add || *identity != 0 || r.axes.empty()) return {};
  IntRange count = graph::interval::point(1);
  for (const graph::Axis& axis : r.axes)
    count = graph::interval::multiply(count, prover.range(axis.extent));
  count.lo = 0; // empty, or filtered
  return graph::interval::multiply(count, body);
}

/// The values of an integer result.
IntRange result_range(const Context& c, const graph::Comprehension& node,
                      const graph::Result& result) {
  graph::Prover prover(c.graph);
  for (const graph::Axis& axis : node.points) prover.add_axis(axis);
  for (const graph::Axis& axis : result.extra) prover.add_axis(axis);
  for (Term axiom : c.axioms) prover.assume(axiom);
  if (!node.reduction) return prover.range(result.value);
  const graph::Expr& value = c.graph.exprs[result.value];
  if (value.op != Op::acc) return {};
  for (const graph::Axis& axis : node.reduction->axes) prover.add_axis(axis);
  for (const auto& axes : node.reduction->field_axes)
    for (const graph::Axis& axis : axes) prover.add_axis(axis);
  // Conditions of the filter would hold for points that take part only; the range of the axes
  // suffices here.
  return reduced_range(c, *node.reduction, value.ref, prover);
}

bool reads_wide(const Context& c, const graph::Comprehension& node) {
  std::vector<Term> roots = graph::roots(node);
  for (Term id : graph::reachable(c.graph.exprs, roots)) {
    const graph::Expr& e = c.graph.exprs[id];
    if (e.op == Op::read && c.graph[graph::TensorId(e.ref)].type == graph::ElemType::f64)
      return true;
    if (e.op == Op::cast && e.to == graph::ElemType::f64) return true;
  }
  return false;
}

} // namespace

graph::TensorId add_intermediate(Context& c, const graph::Comprehension& node,
                                 const graph::Result& result, std::string name, Span span) {
  graph::Tensor tensor;
  tensor.name = std::move(name), tensor.span = span;
  for (const graph::Axis& axis : node.points) tensor.shape.push_back(axis.extent);
  for (const graph::Axis& axis : result.extra) tensor.shape.push_back(axis.extent);
  switch (c.graph.exprs[result.value].scalar) {
  case Scalar::boolean: tensor.type = graph::ElemType::boolean; break;
  case Scalar::real:
    tensor.type = reads_wide(c, node) ? graph::ElemType::f64 : graph::ElemType::f32;
    break;
  case Scalar::integer: {
    IntRange range = result_range(c, node, result);
    tensor.type = graph::range_of(graph::ElemType::i32).contains(range) ? graph::ElemType::i32
                                                                        : graph::ElemType::i64;
    if (bounded(range)) tensor.range = range;
    break;
  }
  }
  return c.graph.add(std::move(tensor));
}

} // namespace tang::parse
