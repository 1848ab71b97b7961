// Reductions under any monoid: an element stands between what comes before it and what comes
// behind.
//
//   y = b1 + b2 + ... + bn,  P exclusive scan,  S exclusive scan from the end
//   dy/db = d ((P + b) + S) / db, through the expressions of the combine
#include "rewrite/differentiate/block.h"
#include "rewrite/differentiate/monoid.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

/// The element's value of a field at places of the field's axes.
ExprId Block::body_at(const Reduction& reduction, uint32_t field, std::span<const ExprId> places,
                      IndexId& fresh) {
  if (places.empty()) return reduction.body[field];
  std::unordered_map<IndexId, ExprId> map;
  for (size_t k = 0; k < places.size(); ++k) map[reduction.field_axes[field][k].index] = places[k];
  return Renaming(s_, std::move(map), fresh)(reduction.body[field]);
}

namespace {

/// The states of `fields` as results over the node's points.
std::vector<Result> state_results(Graph& graph, const Comprehension& c, MonoidId monoid) {
  std::vector<Result> results;
  IndexId fresh = fresh_index(graph.exprs, c);
  const Monoid m = graph[monoid];
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    Result result;
    for (Axis axis : m.fields[f].axes) {
      axis.index = fresh;
      fresh = IndexId(fresh.value + 1);
      result.extra.push_back(std::move(axis));
    }
    result.value =
        graph.exprs.state(Op::acc, f, m.fields[f].scalar, indices_of(graph.exprs, result.extra));
    results.push_back(std::move(result));
  }
  return results;
}

/// The parts of a reduction that belong to `fields`, for the monoid restricted to them.
Reduction with_fields(const Reduction& r, MonoidId monoid, const std::vector<uint32_t>& fields) {
  Reduction part = r;
  part.monoid = monoid;
  part.body.clear(), part.field_axes.clear();
  for (uint32_t f : fields) {
    part.body.push_back(r.body[f]);
    part.field_axes.push_back(f < r.field_axes.size() ? r.field_axes[f] : std::vector<Axis>());
  }
  return part;
}

} // namespace

/// The combination of all elements before (or behind) each point of the reduce axis.
std::vector<TensorId> Block::parts_beside(const Comprehension& c, MonoidId monoid,
                                          const std::vector<uint32_t>& fields, bool before) {
  Comprehension scan;
  scan.points = c.points;
  scan.points.push_back(c.reduction->axes[0]);
  MonoidId order = before ? monoid : reversed(graph_, monoid);
  scan.reduction = with_fields(*c.reduction, order, fields);
  scan.reduction->axes.clear(), scan.reduction->filter = {};
  scan.scan = Scan{static_cast<uint32_t>(c.points.size()), true, !before};
  for (size_t f = 0; f < fields.size(); ++f) {
    auto places = indices_of(s_, scan.reduction->field_axes[f]);
    ExprId identity = identity_of(graph_, monoid, static_cast<uint32_t>(f), places);
    scan.reduction->body[f] = where(s_, c.reduction->filter, scan.reduction->body[f], identity);
  }
  scan.results = state_results(graph_, scan, order);
  std::string name = graph_[c.results[0].tensor].name;
  maker_.add(made_, std::move(scan), name + (before ? "_before" : "_behind"),
             fmt::format("differentiate: what `{}` joins {} each element", name,
                         before ? "before" : "behind"));
  std::vector<TensorId> tensors;
  for (const Result& result : std::get<Comprehension>(made_.back().definition).results)
    tensors.push_back(result.tensor);
  return tensors;
}

void Block::general(Comprehension c, const FieldAdjoint& field) {
  if (c.reduction->axes.empty()) return additive(c, field);
  if (c.reduction->axes.size() > 1) return nested(c, field);
  std::vector<uint32_t> fields = fields_behind(graph_, c.reduction->monoid, field.field);
  MonoidId monoid = restricted(graph_, c.reduction->monoid, fields);
  auto before = parts_beside(c, monoid, fields, true);
  auto behind = parts_beside(c, monoid, fields, false);
  Reduction r = with_fields(*c.reduction, monoid, fields);
  auto own =
      static_cast<uint32_t>(std::find(fields.begin(), fields.end(), field.field) - fields.begin());

  std::vector<ExprId> points = indices_of(s_, c.points);
  points.push_back(s_.index(c.reduction->axes[0].index));
  IndexId fresh = fresh_index(s_, c);
  auto state = [&](const std::vector<TensorId>& tensors) {
    return [&](uint32_t f, std::span<const ExprId> places) {
      std::vector<ExprId> all = points;
      all.insert(all.end(), places.begin(), places.end());
      return read_at(graph_, tensors[f], all);
    };
  };
  auto element = [&](uint32_t f, std::span<const ExprId> places) {
    return body_at(r, f, places, fresh);
  };
  auto first = [&](uint32_t f, std::span<const ExprId> places) {
    return combined(graph_, monoid, f, places, state(before), element, fresh);
  };
  ExprId whole =
      combined(graph_, monoid, own, indices_of(s_, field.axes), first, state(behind), fresh);
  propagate(space_of(c, field.axes), {{whole, field.where, field.value}}, c.results[0].tensor,
            fresh);
}

/// Several reduce axes: the last one first, then the others over its results.
void Block::nested(const Comprehension& c, const FieldAdjoint& field) {
  std::vector<uint32_t> fields = fields_behind(graph_, c.reduction->monoid, field.field);
  MonoidId monoid = restricted(graph_, c.reduction->monoid, fields);
  Comprehension inner;
  inner.points = c.points;
  inner.points.insert(inner.points.end(), c.reduction->axes.begin(), c.reduction->axes.end() - 1);
  inner.reduction = with_fields(*c.reduction, monoid, fields);
  inner.reduction->axes = {c.reduction->axes.back()};
  inner.results = state_results(graph_, inner, monoid);
  std::string name = graph_[c.results[0].tensor].name;
  maker_.add(made_, std::move(inner), name + "_inner",
             fmt::format("differentiate: `{}` along its last index", name));
  // A copy: what follows appends to the list.
  Comprehension made = std::get<Comprehension>(made_.back().definition);

  Comprehension outer = c;
  outer.reduction = with_fields(*c.reduction, monoid, fields);
  outer.reduction->axes.pop_back();
  outer.reduction->filter = {};
  std::vector<ExprId> points = indices_of(s_, c.points);
  for (const Axis& axis : outer.reduction->axes) points.push_back(s_.index(axis.index));
  for (size_t f = 0; f < fields.size(); ++f) {
    std::vector<ExprId> places = points;
    for (const Axis& axis : outer.reduction->field_axes[f]) places.push_back(s_.index(axis.index));
    TensorId tensor = made.results[f].tensor;
    outer.reduction->body[f] = read_at(graph_, tensor, places);
    if (scalar_of(graph_[tensor].type) == Scalar::real) active_.insert(tensor);
  }
  FieldAdjoint own = field;
  own.field =
      static_cast<uint32_t>(std::find(fields.begin(), fields.end(), field.field) - fields.begin());
  general(std::move(outer), own);
  visit_reduction(made);
}

} // namespace tang::rewrite
