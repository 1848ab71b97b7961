// Nodes for what stands below the root of an equation.
#include "parse/elaborate/body.h"
#include "parse/elaborate/nodes.h"
#include <algorithm>

namespace tang::parse {

std::vector<Term> Body::close_level() {
  std::vector<Term> needed = std::move(levels_.back().needed);
  // What a node needs inside is its own affair: its result may be read anywhere.
  log_.resize(levels_.back().log_mark);
  levels_.pop_back();
  return needed;
}

std::optional<std::vector<graph::Axis>> Body::free_points(const graph::Comprehension& node,
                                                          const std::vector<Term>& more) {
  std::vector<graph::IndexId> free;
  auto add = [&](Term id) {
    if (!id) return;
    const auto& own = terms()[id].free;
    free.insert(free.end(), own.begin(), own.end());
  };
  for (Term id : graph::roots(node)) add(id);
  for (Term id : more) add(id);
  for (const graph::Axis& axis : node.points) free.push_back(axis.index);
  std::sort(free.begin(), free.end());
  free.erase(std::unique(free.begin(), free.end()), free.end());
  if (node.reduction)
    for (const graph::Axis& bound : node.reduction->axes) std::erase(free, bound.index);
  std::vector<graph::Axis> points;
  for (graph::IndexId index : free) {
    if (!axis(index).extent) return std::nullopt;
    points.push_back(axis(index));
  }
  return points;
}

Term Body::define_lifted(graph::Comprehension node, const std::vector<Term>& needed,
                         const std::string& name, Span span) {
  graph::ExprStore& s = terms();
  Scalar element = scalar(node.results[0].value);
  if (dead_ > 0) return zero(s, element);
  auto points = free_points(node, needed);
  if (!points) return {};
  if (node.scan) {
    graph::IndexId along = node.points[0].index;
    auto at = std::find_if(points->begin(), points->end(),
                           [&](const auto& a) { return a.index == along; });
    node.scan->axis = static_cast<uint32_t>(at - points->begin());
  }
  node.points = std::move(*points);
  if (node.reduction)
    node.reduction->filter = conjunction(s, needed, node.reduction->filter);
  else if (Term condition = conjunction(s, needed, {}))
    node.results[0].value = s.select(condition, node.results[0].value, zero(s, element));
  graph::TensorId tensor =
      add_intermediate(c_, node, node.results[0], c_.unique_tensor_name(name + c_.suffix), span);
  node.results[0].tensor = tensor;
  std::vector<Term> places;
  for (const graph::Axis& point : node.points) places.push_back(s.index(point.index));
  c_.charge(span, node.points.size());
  c_.add_node(std::move(node), span);
  return s.read(tensor, graph::scalar_of(c_.graph[tensor].type), places);
}

} // namespace tang::parse
