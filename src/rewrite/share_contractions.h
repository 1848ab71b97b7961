#pragma once
#include "graph/graph.h"
#include <functional>

namespace tang::rewrite {

/// Whether a machine gains when two reductions run as `both`.
using RunsAsOne =
    std::function<bool(const graph::Graph& graph, const graph::Comprehension& first,
                       const graph::Comprehension& second, const graph::Comprehension& both)>;

/// share_contractions: reductions over one space that compute the same contraction are one
/// (share_contractions.cpp). The schedule says where: what is shared is not computed twice, and the
/// sums of both have to stay close to the threads.
graph::Graph share_contractions(graph::Graph graph, const RunsAsOne& runs_as_one);

} // namespace tang::rewrite
