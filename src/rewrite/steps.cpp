#include "rewrite/steps.h"
#include "rewrite/components.h"

namespace tang::rewrite {
using namespace graph;

std::vector<size_t> step_parts(const Graph& graph, const Recur& recur) {
  const size_t nodes = recur.body.size();
  std::unordered_map<TensorId, size_t> vertex; // what a read depends on
  for (size_t n = 0; n < nodes; ++n)
    for (TensorId id : defines_of(recur.body[n])) vertex[id] = n;
  for (size_t k = 0; k < recur.carries.size(); ++k) vertex[recur.carries[k].current] = nodes + k;
  std::vector<std::vector<size_t>> needs(nodes + recur.carries.size());
  auto edge = [&](size_t from, TensorId to) {
    if (auto at = vertex.find(to); at != vertex.end()) needs[from].push_back(at->second);
  };
  for (size_t n = 0; n < nodes; ++n)
    for (TensorId id : reads_of(graph, recur.body[n])) edge(n, id);
  for (size_t k = 0; k < recur.carries.size(); ++k) edge(nodes + k, recur.carries[k].next);
  return components(needs);
}

} // namespace tang::rewrite
