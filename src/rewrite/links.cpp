#include "rewrite/links.h"
#include "base/check.h"
#include <queue>

namespace tang::rewrite {
using namespace graph;

Links::Links(const Graph& graph, const std::vector<Node>& nodes) {
  for (size_t n = 0; n < nodes.size(); ++n) {
    reads_.push_back(reads_of(graph, nodes[n]));
    for (TensorId id : reads_[n]) readers_[id].push_back(n);
    for (TensorId id : defines_of(nodes[n])) producer_[id] = n;
  }
}

std::optional<size_t> Links::producer(TensorId id) const {
  auto at = producer_.find(id);
  return at == producer_.end() ? std::nullopt : std::optional(at->second);
}

const std::vector<size_t>& Links::readers(TensorId id) const {
  static const std::vector<size_t> none;
  auto at = readers_.find(id);
  return at == readers_.end() ? none : at->second;
}

bool Links::depends(const std::vector<TensorId>& tensors, const std::set<size_t>& nodes) const {
  if (nodes.empty()) return false;
  std::vector<size_t> open;
  std::set<size_t> seen;
  auto follow = [&](TensorId id) {
    auto at = producer(id);
    // Nodes read earlier ones only.
    if (at && *at >= *nodes.begin() && seen.insert(*at).second) open.push_back(*at);
  };
  for (TensorId id : tensors) follow(id);
  while (!open.empty()) {
    size_t n = open.back();
    open.pop_back();
    if (nodes.contains(n)) return true;
    for (TensorId id : reads_[n]) follow(id);
  }
  return false;
}

const Comprehension* plain_map(const Graph& graph, const Node& node) {
  const auto* c = std::get_if<Comprehension>(&node.definition);
  if (!c || c->reduction || c->scan || c->results.size() != 1 || !c->results[0].extra.empty())
    return nullptr;
  const Tensor& tensor = graph[c->results[0].tensor];
  bool plain = tensor.kind == TensorKind::intermediate && !tensor.store_given && !tensor.over;
  return plain ? c : nullptr;
}

ExprId body_at(ExprStore& store, const Comprehension& map, ExprId read) {
  std::unordered_map<IndexId, ExprId> places;
  for (size_t k = 0; k < map.points.size(); ++k)
    places[map.points[k].index] = store[read].operands[k];
  return substitute(store, map.results[0].value, places);
}

void sort_nodes(const Graph& graph, std::vector<Node>& nodes) {
  Links links(graph, nodes);
  std::vector<std::vector<size_t>> after(nodes.size());
  std::vector<size_t> open(nodes.size(), 0);
  auto edge = [&](size_t first, size_t then) {
    if (first != then) after[first].push_back(then), ++open[then];
  };
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (TensorId id : links.reads(n))
      if (auto producer = links.producer(id)) edge(*producer, n);
    for (TensorId id : defines_of(nodes[n]))
      if (TensorId input = graph[id].over)
        for (size_t reader : links.readers(input)) edge(reader, n);
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (open[n] == 0) ready.push(n);
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  while (!ready.empty()) {
    size_t n = ready.top();
    ready.pop();
    for (size_t then : after[n])
      if (--open[then] == 0) ready.push(then);
    sorted.push_back(std::move(nodes[n]));
  }
  TANG_CHECK(sorted.size() == nodes.size(), "nodes that read each other");
  nodes = std::move(sorted);
}

} // namespace tang::rewrite
