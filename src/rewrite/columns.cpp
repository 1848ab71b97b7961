#include "rewrite/columns.h"
#include "base/check.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

std::optional<std::vector<Axis>> columns_of(const ExprStore& store, const std::vector<Axis>& points,
                                            const std::vector<IndexId>& rows) {
  std::vector<Axis> columns;
  int64_t count = 1;
  for (const Axis& axis : points) {
    if (std::find(rows.begin(), rows.end(), axis.index) != rows.end()) continue;
    auto extent = store.as_integer(axis.extent);
    if (!extent || *extent < 1 || *extent > max_columns) return std::nullopt;
    count *= *extent;
    if (count > max_columns) return std::nullopt;
    columns.push_back(axis);
  }
  return columns;
}

TensorId tensor_over(Graph& graph, TensorId like, const std::vector<Axis>& points,
                     const std::vector<Axis>& extra) {
  Tensor tensor = graph[like];
  tensor.shape.clear(), tensor.strides.clear();
  for (const auto* axes : {&points, &extra})
    for (const Axis& axis : *axes) tensor.shape.push_back(axis.extent);
  return graph.add(std::move(tensor));
}

std::vector<Axis> renamed(ExprStore& store, const std::vector<Axis>& columns, uint32_t& next,
                          std::unordered_map<IndexId, ExprId>& names) {
  std::vector<Axis> fresh = columns;
  for (Axis& axis : fresh) {
    IndexId name(next++);
    names[axis.index] = store.index(name);
    axis.index = name;
  }
  return fresh;
}

namespace {

/// The monoid with a field of one scalar per column.
MonoidId columnwise(Graph& graph, MonoidId scalar, const std::vector<Axis>& columns) {
  ExprStore& s = graph.exprs;
  Monoid monoid = graph[scalar];
  monoid.builtin = false, monoid.name += "_columns";
  MonoidField& field = monoid.fields[0];
  if (field.name.empty()) field.name = "a";
  std::vector<ExprId> places;
  for (const Axis& axis : columns) {
    Axis own = axis;
    own.index = IndexId(static_cast<uint32_t>(places.size()));
    places.push_back(s.index(own.index));
    field.axes.push_back(std::move(own));
  }
  monoid.combine[0] = graph::rewrite(s, monoid.combine[0], [&](ExprId id) {
    const Expr& e = s[id];
    bool state = e.op == Op::lhs || e.op == Op::rhs;
    return state ? s.state(e.op, 0, e.scalar, places) : id;
  });
  return graph.add(std::move(monoid));
}

} // namespace

Comprehension with_columns(Graph& graph, const Comprehension& sum, const std::vector<Axis>& columns,
                           std::optional<Comprehension>& view) {
  ExprStore& s = graph.exprs;
  TANG_CHECK(sum.results.size() == 1 && s[sum.results[0].value].op == Op::acc,
             "columns of a reduction with an epilogue");
  Comprehension made = sum;
  std::erase_if(made.points, [&](const Axis& axis) {
    return std::any_of(columns.begin(), columns.end(),
                       [&](const Axis& column) { return column.index == axis.index; });
  });
  uint32_t next = fresh_index(s, sum).value;
  Reduction& r = *made.reduction;
  Scalar scalar = graph[r.monoid].fields[0].scalar;
  r.monoid = columnwise(graph, r.monoid, columns);
  std::unordered_map<IndexId, ExprId> inside;
  r.field_axes = {renamed(s, columns, next, inside)};
  r.body[0] = substitute(s, r.body[0], inside);
  std::unordered_map<IndexId, ExprId> outside;
  Result& result = made.results[0];
  result.extra = renamed(s, columns, next, outside);
  std::vector<ExprId> places;
  for (const Axis& axis : result.extra) places.push_back(s.index(axis.index));
  result.value = s.state(Op::acc, 0, scalar, places);

  // The result's axes are the rows, then the columns.
  std::vector<Axis> order = made.points;
  order.insert(order.end(), columns.begin(), columns.end());
  bool as_it_was = std::equal(order.begin(), order.end(), sum.points.begin(), sum.points.end(),
                              [](const Axis& a, const Axis& b) { return a.index == b.index; });
  view.reset();
  if (as_it_was) return made;
  result.tensor = tensor_over(graph, sum.results[0].tensor, made.points, columns);
  places.clear();
  for (const Axis& axis : order) places.push_back(s.index(axis.index));
  view.emplace();
  view->points = sum.points;
  view->results.push_back(
      {sum.results[0].tensor, s.read(result.tensor, scalar, places), std::vector<Axis>()});
  return made;
}

} // namespace tang::rewrite
