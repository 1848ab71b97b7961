#include "rewrite/rows.h"
#include "graph/reads.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

const Comprehension* map_of(const Node& node) {
  const auto* c = std::get_if<Comprehension>(&node.definition);
  return c && !c->reduction && !c->scan ? c : nullptr;
}

/// A row that one kernel holds: short enough, and each read along it moves along memory.
bool is_held(const Graph& graph, const Comprehension& sum) {
  const auto& axes = sum.reduction->axes;
  if (axes.size() != 1) return false;
  auto extent = graph.exprs.as_integer(axes[0].extent);
  if (extent && *extent > max_held_row) return false;
  auto uses = [&](ExprId id) {
    const auto& free = graph.exprs[id].free;
    return std::binary_search(free.begin(), free.end(), axes[0].index);
  };
  for (ExprId id : reachable(graph.exprs, sum.reduction->body)) {
    const Expr& e = graph.exprs[id];
    if (e.op != Op::read) continue;
    auto places = places_of(e);
    for (size_t k = 0; k + 1 < places.size(); ++k)
      if (uses(places[k])) return false;
  }
  return true;
}

/// True when all that reads a map is among `sums`, directly or through maps.
bool only_summed(const std::vector<Node>& nodes, const Links& links, const std::set<size_t>& sums,
                 size_t map) {
  std::vector<size_t> open{map};
  std::set<size_t> seen{map};
  while (!open.empty()) {
    size_t at = open.back();
    open.pop_back();
    for (TensorId id : defines_of(nodes[at])) {
      if (links.readers(id).empty()) return false;
      for (size_t reader : links.readers(id)) {
        if (sums.contains(reader) || !seen.insert(reader).second) continue;
        if (!map_of(nodes[reader])) return false;
        open.push_back(reader);
      }
    }
  }
  return true;
}

} // namespace

bool held_for_elements(const Graph& graph, const std::vector<Node>& nodes, const Links& links,
                       const std::set<size_t>& sums) {
  constexpr size_t max_searched = 256;
  std::vector<size_t> open(sums.begin(), sums.end());
  std::set<size_t> seen = sums;
  size_t rank = 0;
  for (size_t n : sums) {
    const auto& c = std::get<Comprehension>(nodes[n].definition);
    if (!is_held(graph, c)) return false;
    rank = c.points.size();
  }
  while (!open.empty() && seen.size() < max_searched) {
    size_t at = open.back();
    open.pop_back();
    for (TensorId id : defines_of(nodes[at]))
      for (size_t reader : links.readers(id)) {
        if (!seen.insert(reader).second) continue;
        const Comprehension* map = map_of(nodes[reader]);
        if (!map) continue;
        if (map->points.size() > rank && !only_summed(nodes, links, sums, reader)) return true;
        open.push_back(reader);
      }
  }
  return false;
}

} // namespace tang::rewrite
