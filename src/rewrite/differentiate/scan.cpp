// Scans: the adjoint runs in the other direction.
//
//   c_t = c_{t-1} + b_t          =>   db_t = sum of dc_s for s from t to the end
//   c_t = combine(c_{t-1}, b_t)  =>   C_t = dc_t + J_{t+1}^T C_{t+1},  db_t = (d combine / d b_t)^T
//   C_t
//
// with J = d combine / d c_{t-1}. Where J takes each element of a state to itself alone and fields
// depend on each other one way, this is an affine scan for each field; else it is a recurrence.
#include "rewrite/differentiate/scan.h"
#include "base/check.h"
#include "rewrite/differentiate/block.h"
#include "rewrite/differentiate/monoid.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

MonoidId affine_monoid(Graph& graph) {
  ExprStore& s = graph.exprs;
  Monoid m;
  m.name = "affine";
  m.fields = {{"a", Scalar::real, {}, s.real(1)}, {"b", Scalar::real, {}, s.real(0)}};
  auto state = [&](Op side, uint32_t field) { return s.state(side, field, Scalar::real); };
  m.combine = {s.binary(Op::mul, state(Op::rhs, 0), state(Op::lhs, 0)),
               s.binary(Op::add, s.binary(Op::mul, state(Op::rhs, 0), state(Op::lhs, 1)),
                        state(Op::rhs, 1))};
  m.visible = {0, 1};
  return graph.add(std::move(m));
}

void Block::visit_scan(Comprehension& c, const std::vector<FieldAdjoint>& fields) {
  std::vector<FieldAdjoint> rest;
  for (const FieldAdjoint& field : fields)
    if (kind_of(graph_, c.reduction->monoid, field.field) == FieldKind::additive)
      additive_scan(c, field);
    else
      rest.push_back(field);
  if (!rest.empty()) general_scan(c, rest);
}

/// The axes of a field's values at each point.
std::vector<Axis> Block::with_axes(const Comprehension& c, const std::vector<Axis>& axes) const {
  std::vector<Axis> all = c.points;
  all.insert(all.end(), axes.begin(), axes.end());
  return all;
}

/// What comes from the later points: an exclusive scan against the direction of `c`. The elements
/// are (a, b), for x -> a*x + b; an empty a stands for 1.
ExprId Block::later(const Comprehension& c, const std::vector<Axis>& points, ExprId a, ExprId b,
                    bool exclusive) {
  Comprehension scan;
  scan.points = points;
  scan.scan = Scan{c.scan->axis, exclusive, !c.scan->descending};
  Reduction r;
  bool sums = !a || (s_[a].op == Op::literal_real && s_[a].real == 1);
  r.monoid = sums ? *graph_.builtin("sum", Scalar::real) : affine_monoid(graph_);
  r.body = sums ? std::vector{b} : std::vector{a, b};
  r.field_axes.resize(r.body.size());
  scan.reduction = std::move(r);
  scan.results.push_back({{}, s_.state(Op::acc, sums ? 0 : 1, Scalar::real), {}});
  std::string name = graph_[c.results[0].tensor].name;
  TensorId id = maker_.add(made_, std::move(scan), "d" + name + "_later",
                           fmt::format("differentiate: what later values of `{}` give back", name));
  return read_at(graph_, id, indices_of(s_, points));
}

void Block::additive_scan(const Comprehension& c, const FieldAdjoint& field) {
  ExprId adjoint = later(c, with_axes(c, field.axes), {}, field.value, c.scan->exclusive);
  propagate(space_of(c, field.axes), {{c.reduction->body[field.field], {}, adjoint}},
            c.results[0].tensor, fresh_index(s_, c));
}

/// A state before the element at each point is joined; identity at the start.
ExprId Block::state_before(Comprehension& c, uint32_t field, std::span<const ExprId> places) {
  std::vector<ExprId> at = indices_of(s_, c.points);
  at.insert(at.end(), places.begin(), places.end());
  TensorId state = state_tensor(c, field);
  if (c.scan->exclusive) return read_at(graph_, state, at);
  ExprId& t = at[c.scan->axis];
  t = s_.binary(c.scan->descending ? Op::add : Op::sub, t, s_.integer(1));
  return s_.read(state, scalar_of(graph_[state].type), at,
                 identity_of(graph_, c.reduction->monoid, field, places));
}

ScanStep Block::scan_step(const Comprehension& c, const std::vector<FieldAdjoint>& fields) {
  ScanStep step;
  const Monoid m = graph_[c.reduction->monoid];
  Activity in_bodies(
      s_, [&](ExprId id) { return s_[id].op == Op::read && is_active(TensorId(s_[id].ref)); });
  std::vector<char> active = active_fields(graph_, *c.reduction, in_bodies);
  step.active.assign(m.fields.size(), 0);
  for (const FieldAdjoint& field : fields)
    for (uint32_t f : fields_behind(graph_, c.reduction->monoid, field.field))
      step.active[f] = active[f];
  step.fresh = fresh_index(s_, c);
  step.joined.resize(m.fields.size());
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    if (!step.active[f]) continue;
    auto before = [&](uint32_t g, std::span<const ExprId> places) {
      return s_.state(Op::lhs, g, m.fields[g].scalar, places);
    };
    auto element = [&](uint32_t g, std::span<const ExprId> places) {
      return body_at(*c.reduction, g, places, step.fresh);
    };
    step.joined[f] =
        combined(graph_, c.reduction->monoid, f, indices_of(s_, c.reduction->field_axes[f]), before,
                 element, step.fresh);
  }
  return step;
}

/// The states of `term` as reads of what stood before each point.
ExprId Block::with_states(Comprehension& c, ExprId term) {
  return graph::rewrite(s_, term, [&](ExprId id) {
    const Expr e = s_[id];
    return e.op == Op::lhs ? state_before(c, e.ref, e.operands) : id;
  });
}

/// d joined[f] / d state[g] for all pairs; empty where an element of one state reaches another
/// element of the next.
std::optional<Slopes> Block::slopes(Comprehension& c, ScanStep& step) {
  Slopes found;
  for (uint32_t f = 0; f < step.joined.size(); ++f) {
    if (!step.active[f]) continue;
    auto own = indices_of(s_, c.reduction->field_axes[f]);
    Paths paths(s_);
    auto wanted = [&](ExprId id) { return s_[id].op == Op::lhs && step.active[s_[id].ref]; };
    Sweep sweep(graph_, paths, wanted, step.fresh);
    sweep.seed(step.joined[f], {}, s_.real(1));
    for (const Leaf& leaf : sweep.run()) {
      const Expr e = s_[leaf.term];
      if (!e.operands.empty() && !std::ranges::equal(e.operands, own)) return std::nullopt;
      ExprId slope = leaf.adjoint;
      for (PathId at = leaf.path; at; at = paths[at].before) {
        if (paths[at].fold) return std::nullopt;
        slope = s_.select(as_term(s_, paths[at].condition, paths[at].taken), slope, s_.real(0));
      }
      found[{f, e.ref}] = with_states(c, slope);
    }
  }
  return found;
}

namespace {

/// An order in which each field comes behind those that its adjoint takes from; empty when there is
/// none.
std::optional<std::vector<uint32_t>> order_of(const ScanStep& step, const Slopes& slopes) {
  std::vector<uint32_t> order;
  auto is_done = [&](uint32_t f) {
    return std::find(order.begin(), order.end(), f) != order.end();
  };
  auto wanted = static_cast<size_t>(std::count(step.active.begin(), step.active.end(), 1));
  while (order.size() < wanted) {
    size_t before = order.size();
    for (uint32_t g = 0; g < step.active.size(); ++g) {
      if (!step.active[g] || is_done(g)) continue;
      bool ready = std::all_of(slopes.begin(), slopes.end(), [&](const auto& slope) {
        auto [f, to] = slope.first;
        return to != g || f == g || is_done(f);
      });
      if (ready) order.push_back(g);
    }
    if (order.size() == before) return std::nullopt;
  }
  return order;
}

} // namespace

/// The adjoints of the states behind each element, where every field runs by itself.
std::vector<ExprId> Block::affine_adjoints(const Comprehension& c,
                                           const std::vector<FieldAdjoint>& fields,
                                           const Slopes& slopes,
                                           const std::vector<uint32_t>& order) {
  std::vector<ExprId> adjoints(graph_[c.reduction->monoid].fields.size());
  ExprId filter = c.reduction->filter, zero = s_.real(0);
  for (uint32_t g : order) {
    const auto& axes = c.reduction->field_axes[g];
    ExprId given;
    for (const FieldAdjoint& field : fields)
      if (field.field == g) given = field.value;
    ExprId others;
    for (const auto& [pair, slope] : slopes) {
      auto [f, to] = pair;
      if (to != g || f == g || !adjoints[f]) continue;
      ExprId share = s_.binary(Op::mul, slope, adjoints[f]);
      share = onto(share, c.reduction->field_axes[f], axes);
      others = others ? plus(s_, others, share) : share;
    }
    auto at = slopes.find({g, g});
    ExprId own = at == slopes.end() ? zero : at->second;
    own = where(s_, filter, own, s_.real(1));
    if (others) others = where(s_, filter, others, zero);
    ExprId element = given;
    if (given && !c.scan->exclusive) element = s_.binary(Op::mul, own, given);
    if (others) element = element ? plus(s_, element, others) : others;
    if (!element) continue;
    ExprId later_ones = later(c, with_axes(c, axes), own, element, true);
    adjoints[g] = given && !c.scan->exclusive ? plus(s_, given, later_ones) : later_ones;
  }
  return adjoints;
}

/// A value over the axes of one field as one over those of another: the same elements, or summed.
ExprId Block::onto(ExprId value, const std::vector<Axis>& from, const std::vector<Axis>& to) {
  if (from.empty()) return value;
  if (to.empty()) {
    std::vector<IndexId> bound;
    std::vector<ExprId> extents;
    for (const Axis& axis : from) bound.push_back(axis.index), extents.push_back(axis.extent);
    return s_.fold(*graph_.builtin("sum", Scalar::real), Scalar::real, bound, extents, {}, value);
  }
  std::unordered_map<IndexId, ExprId> map;
  for (size_t k = 0; k < from.size(); ++k) map[from[k].index] = s_.index(to[k].index);
  return substitute(s_, value, map);
}

void Block::general_scan(Comprehension& c, const std::vector<FieldAdjoint>& fields) {
  ScanStep step = scan_step(c, fields);
  auto all = slopes(c, step);
  auto order = all ? order_of(step, *all) : std::nullopt;
  std::vector<ExprId> adjoints =
      order ? affine_adjoints(c, fields, *all, *order) : recurrent_adjoints(c, fields, step);
  TensorSet states;
  for (const Result& result : c.results) states.insert(result.tensor);
  for (uint32_t f = 0; f < adjoints.size(); ++f)
    if (adjoints[f])
      propagate(space_of(c, c.reduction->field_axes[f]),
                {{with_states(c, step.joined[f]), {}, adjoints[f]}}, c.results[0].tensor,
                fresh_index(s_, c), states);
}

} // namespace tang::rewrite
