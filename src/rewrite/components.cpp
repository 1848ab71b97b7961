#include "rewrite/components.h"
#include <algorithm>

namespace tang::rewrite {

std::vector<size_t> components(const std::vector<std::vector<size_t>>& next) {
  struct Visit {
    size_t vertex, edge;
  };
  constexpr size_t none = static_cast<size_t>(-1);
  std::vector<size_t> part(next.size(), none), number(next.size(), none), low(next.size());
  std::vector<size_t> open;
  std::vector<Visit> path;
  size_t numbers = 0, parts = 0;
  auto enter = [&](size_t v) {
    number[v] = low[v] = numbers++;
    open.push_back(v), path.push_back({v, 0});
  };
  for (size_t root = 0; root < next.size(); ++root) {
    if (number[root] == none) enter(root);
    while (!path.empty()) {
      size_t v = path.back().vertex;
      if (path.back().edge < next[v].size()) {
        size_t w = next[v][path.back().edge++];
        if (number[w] == none)
          enter(w);
        else if (part[w] == none)
          low[v] = std::min(low[v], number[w]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().vertex] = std::min(low[path.back().vertex], low[v]);
      if (low[v] != number[v]) continue;
      while (part[v] == none) part[open.back()] = parts, open.pop_back();
      ++parts;
    }
  }
  return part;
}

} // namespace tang::rewrite
