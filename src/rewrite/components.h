#pragma once
// Strongly connected parts of a directed graph.
#include <cstddef>
#include <vector>

namespace tang::rewrite {

/// The number of each vertex's part, `next[v]` being where the edges of vertex v lead. Edges
/// between parts lead to lower numbers. Linear; Tarjan, "Depth-first search and linear graph
/// algorithms", 1972.
std::vector<size_t> components(const std::vector<std::vector<size_t>>& next);

} // namespace tang::rewrite
