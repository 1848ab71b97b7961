// Reductions: a sum hands its adjoint to every point, a maximum to the point that it took.
#include "base/check.h"
#include "graph/interval.h"
#include "rewrite/differentiate/block.h"
#include "rewrite/differentiate/monoid.h"
#include "rewrite/differentiate/online.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

/// The adjoints of the states, from the results that show them. Fields that nothing reads are not
/// among them.
std::vector<Block::FieldAdjoint> Block::field_adjoints(const Comprehension& c) {
  std::vector<FieldAdjoint> found;
  for (const Result& result : c.results) {
    if (!is_plain(result)) continue;
    auto root = root_of(c, result);
    if (!root) continue;
    uint32_t field = s_[result.value].ref;
    FieldAdjoint adjoint{field, result.extra, root->where, root->adjoint};
    if (const auto& own = c.reduction->field_axes; field < own.size() && !own[field].empty()) {
      std::unordered_map<IndexId, ExprId> to_own;
      for (size_t k = 0; k < own[field].size(); ++k)
        to_own[result.extra[k].index] = s_.index(own[field][k].index);
      adjoint.axes = own[field];
      adjoint.where = substitute(s_, adjoint.where, to_own);
      adjoint.value = substitute(s_, adjoint.value, to_own);
    }
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const FieldAdjoint& f) { return f.field == field; });
    if (same == found.end()) {
      found.push_back(std::move(adjoint));
      continue;
    }
    // Two results show one state.
    std::unordered_map<IndexId, ExprId> to_first;
    for (size_t k = 0; k < adjoint.axes.size(); ++k)
      to_first[adjoint.axes[k].index] = s_.index(same->axes[k].index);
    if (substitute(s_, adjoint.where, to_first) != same->where) same->where = {};
    same->value = plus(s_, same->value, substitute(s_, adjoint.value, to_first));
  }
  return found;
}

void Block::visit_reduction(Comprehension& c) {
  const Monoid monoid = graph_[c.reduction->monoid];
  std::vector<FieldAdjoint> fields = field_adjoints(c);
  if (c.scan) return visit_scan(c, fields);
  if (monoid.form == Monoid::Form::topk) {
    for (const FieldAdjoint& field : fields) best_of(c, field);
    return;
  }
  // Sums relative to a maximum first: they add to its adjoint.
  std::vector<FieldAdjoint> rest;
  for (const FieldAdjoint& field : fields)
    if (!scaled_by_maximum(graph_, c.reduction->monoid, field.field)) rest.push_back(field);
  for (const FieldAdjoint& field : fields)
    if (auto maximum = scaled_by_maximum(graph_, c.reduction->monoid, field.field))
      relative_sum(c, field, *maximum, rest);
  for (const FieldAdjoint& field : rest)
    switch (kind_of(graph_, c.reduction->monoid, field.field)) {
    case FieldKind::additive: additive(c, field); break;
    case FieldKind::maximum: extremum(c, field, true); break;
    case FieldKind::minimum: extremum(c, field, false); break;
    case FieldKind::general: general(c, field); break;
    }
}

/// The points at which the body is evaluated; `axes` are those of a field.
Space Block::space_of(const Comprehension& c, const std::vector<Axis>& axes) const {
  Space space{c.points, c.reduction->filter, {}};
  space.axes.insert(space.axes.end(), axes.begin(), axes.end());
  space.axes.insert(space.axes.end(), c.reduction->axes.begin(), c.reduction->axes.end());
  return space;
}

void Block::additive(const Comprehension& c, const FieldAdjoint& field) {
  propagate(space_of(c, field.axes), {{c.reduction->body[field.field], field.where, field.value}},
            c.results[0].tensor, fresh_index(s_, c));
}

/// The values that a position of the node's reduce axes can have, and the format that holds them.
void Block::bound_position(TensorId position, const Comprehension& c) {
  Prover prover(graph_);
  IntRange count = interval::point(1);
  for (const Axis& axis : c.reduction->axes)
    count = interval::multiply(count, prover.range(axis.extent));
  if (count.hi == std::numeric_limits<int64_t>::max()) return;
  bool never_empty = !c.reduction->filter && count.lo >= 1;
  Tensor& tensor = graph_[position];
  tensor.range = IntRange{never_empty ? 0 : -1, std::max<int64_t>(0, count.hi - 1)};
  if (range_of(ElemType::i32).contains(*tensor.range)) tensor.type = ElemType::i32;
}

/// The point of a maximum is found by a reduction of its own; ties go to the lowest.
void Block::extremum(const Comprehension& c, const FieldAdjoint& field, bool maximum) {
  Comprehension choice;
  choice.points = c.points;
  choice.reduction = Reduction{*graph_.builtin(maximum ? "argmax" : "argmin", Scalar::real),
                               c.reduction->axes,
                               c.reduction->filter,
                               {c.reduction->body[field.field], position_of(s_, c.reduction->axes)},
                               {{}, {}}};
  choice.results.push_back({{}, s_.state(Op::acc, 1, Scalar::integer), {}});
  std::string name = graph_[c.results[0].tensor].name;
  TensorId at = maker_.add(made_, std::move(choice), name + "_at",
                           fmt::format("differentiate: where `{}` takes its value", name));
  bound_position(at, c);
  Space space = space_of(c, {});
  space.choice = Choice{c.reduction->axes, read_at(graph_, at, indices_of(s_, c.points))};
  propagate(space, {{c.reduction->body[field.field], field.where, field.value}},
            c.results[0].tensor, fresh_index(s_, c));
}

/// f = sum of b * exp(x - m), with m = max x: b gets df * exp(x - m), x gets b times that, and the
/// point that took the maximum gets back -f * df, since f is relative to it.
void Block::relative_sum(Comprehension& c, const FieldAdjoint& field, uint32_t maximum,
                         std::vector<FieldAdjoint>& others) {
  std::vector<ExprId> points = indices_of(s_, c.points), places = points;
  for (const Axis& axis : field.axes) places.push_back(s_.index(axis.index));
  TensorId max_tensor = state_tensor(c, maximum), own = state_tensor(c, field.field);
  ExprId max = read_at(graph_, max_tensor, points);
  ExprId x = c.reduction->body[maximum], b = c.reduction->body[field.field];
  // Equal infinities are at no distance.
  ExprId weight = s_.select(s_.binary(Op::eq, x, max), s_.real(1),
                            s_.unary(Op::exp, s_.binary(Op::sub, x, max)));
  ExprId share = s_.binary(Op::mul, field.value, weight);
  propagate(space_of(c, field.axes),
            {{b, field.where, share}, {x, field.where, s_.binary(Op::mul, share, b)}},
            c.results[0].tensor, fresh_index(s_, c));
  if (!is_active(max_tensor)) return;
  ExprId back = minus(s_, s_.binary(Op::mul, field.value, read_at(graph_, own, places)));
  if (!field.axes.empty()) {
    std::vector<IndexId> bound;
    std::vector<ExprId> extents;
    for (const Axis& axis : field.axes) bound.push_back(axis.index), extents.push_back(axis.extent);
    back = s_.fold(*graph_.builtin("sum", Scalar::real), Scalar::real, bound, extents, {}, back);
  }
  auto at = std::find_if(others.begin(), others.end(),
                         [&](const FieldAdjoint& f) { return f.field == maximum; });
  if (at == others.end())
    others.push_back({maximum, {}, {}, back});
  else
    at->value = plus(s_, at->value, back), at->where = {};
}

/// Top-k: each of its values goes to the point that it came from.
void Block::best_of(Comprehension& c, const FieldAdjoint& field) {
  TANG_CHECK(canonical(s_, c.reduction->body[1]) == position_of(s_, c.reduction->axes),
             "the points of `{}` are not numbered row-major", graph_[c.results[0].tensor].name);
  std::vector<ExprId> places = indices_of(s_, c.points);
  for (const Axis& axis : field.axes) places.push_back(s_.index(axis.index));
  Space space = space_of(c, field.axes);
  space.choice = Choice{c.reduction->axes, read_at(graph_, state_tensor(c, 1), places)};
  propagate(space, {{c.reduction->body[0], field.where, field.value}}, c.results[0].tensor,
            fresh_index(s_, c));
}

} // namespace tang::rewrite
