// A scan whose step mixes the elements of a state: its adjoint is a recurrence over the points in
// reverse, which collects the adjoint of the state behind each.
#include "rewrite/differentiate/block.h"
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

std::vector<ExprId> Block::recurrent_adjoints(Comprehension& c,
                                              const std::vector<FieldAdjoint>& fields,
                                              ScanStep& step) {
  const Axis time = c.points[c.scan->axis];
  std::vector<Axis> points = c.points;
  points.erase(points.begin() + c.scan->axis);
  ExprId now;
  Recur back = reversed_steps(time, now);
  if (c.scan->descending) now = read_at(graph_, back.step, {});
  const Monoid m = graph_[c.reduction->monoid];
  // Terms at the step: the scan's index is the step's number.
  Renaming at_step(s_, {{time.index, now}}, step.fresh);
  auto own_axes = [&](uint32_t f) {
    std::vector<Axis> axes = points;
    const auto& own = c.reduction->field_axes[f];
    axes.insert(axes.end(), own.begin(), own.end());
    return axes;
  };
  bool wide = graph_[c.results[0].tensor].type == ElemType::f64;

  // The states before the step, as tensors whose adjoints are asked for.
  std::vector<TensorId> before(m.fields.size());
  TensorSet active;
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    Comprehension state;
    state.points = own_axes(f);
    auto places = indices_of(s_, c.reduction->field_axes[f]);
    state.results.push_back({{}, at_step(state_before(c, f, places)), {}});
    before[f] =
        maker_.add(back.body, std::move(state), graph_[c.results[0].tensor].name + "_before",
                   "differentiate: the state before the step");
    if (step.active[f]) active.insert(before[f]);
  }
  auto read_state = [&](uint32_t f, std::span<const ExprId> places) {
    std::vector<ExprId> all = indices_of(s_, points);
    all.insert(all.end(), places.begin(), places.end());
    return read_at(graph_, before[f], all);
  };

  std::vector<Node> made;
  Block inner(graph_, maker_, made, active);
  Comprehension joined;
  joined.points = points;
  std::vector<TensorId> behind(m.fields.size());
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (!step.active[f]) continue;
    std::string name = "d" + graph_[before[f]].name;
    Carry carry;
    carry.init = zeros(name, before[f]);
    carry.current = maker_.like(name, before[f]), carry.next = maker_.like(name, before[f]);
    carry.last = maker_.like(name, before[f]);
    back.carries.push_back(carry);
    // The adjoint of the state behind the step: what later steps and the step's own result give.
    ExprId given;
    for (const FieldAdjoint& field : fields)
      if (field.field == f) given = at_step(field.value);
    auto places = indices_of(s_, own_axes(f));
    ExprId value = read_at(graph_, carry.current, places);
    Comprehension sum;
    sum.points = own_axes(f);
    sum.results.push_back({{}, given && !c.scan->exclusive ? plus(s_, given, value) : value, {}});
    behind[f] = maker_.add(back.body, std::move(sum), name + "_behind",
                           "differentiate: what the state behind the step receives");
    ExprId next = graph::rewrite(s_, at_step(step.joined[f]), [&](ExprId id) {
      const Expr e = s_[id];
      return e.op == Op::lhs ? read_state(e.ref, e.operands) : id;
    });
    if (c.reduction->filter) {
      auto extra = indices_of(s_, c.reduction->field_axes[f]);
      next = s_.select(at_step(c.reduction->filter), next, read_state(f, extra));
    }
    TensorId result = maker_.tensor(graph_[before[f]].name, own_axes(f), Scalar::real, wide);
    inner.active_.insert(result);
    inner.adjoints().set(
        result, {read_at(graph_, behind[f], indices_of(s_, axes_of(graph_, behind[f]))), {}});
    joined.results.push_back({result, next, c.reduction->field_axes[f]});
  }
  inner.visit_map(joined);
  size_t carry = 0;
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (!step.active[f]) continue;
    ExprId given;
    for (const FieldAdjoint& field : fields)
      if (field.field == f && c.scan->exclusive) given = at_step(field.value);
    if (given) {
      Part part;
      std::unordered_map<IndexId, ExprId> names;
      uint32_t place = 0;
      for (const Axis& axis : own_axes(f)) names[axis.index] = s_.index(IndexId(place++));
      part.value = Renaming(s_, std::move(names), step.fresh)(given);
      inner.adjoints().add(before[f], std::move(part), graph_[c.results[0].tensor].name);
    }
    inner.adjoints().finish_in(before[f], back.carries[carry++].next);
  }
  for (Node& node : made) back.body.push_back(std::move(node));

  // Collected per step, read back at each point.
  std::vector<ExprId> adjoints(m.fields.size());
  ExprId t = s_.index(time.index), last = s_.binary(Op::sub, time.extent, s_.integer(1));
  ExprId number = c.scan->descending ? t : canonical(s_, s_.binary(Op::sub, last, t));
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (!step.active[f]) continue;
    TensorId steps = maker_.like(graph_[behind[f]].name + "_steps", behind[f]);
    graph_[steps].shape.insert(graph_[steps].shape.begin(), time.extent);
    back.collects.push_back({behind[f], steps});
    std::vector<ExprId> places = indices_of(s_, own_axes(f));
    places.insert(places.begin(), number);
    adjoints[f] = read_at(graph_, steps, places);
  }
  made_.push_back({std::move(back),
                   maker_.span,
                   {fmt::format("differentiate: the scan of `{}` in reverse",
                                graph_[c.results[0].tensor].name)}});
  return adjoints;
}

} // namespace tang::rewrite
