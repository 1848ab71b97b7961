#pragma once
// One graph at some of its sizes.
#include "graph/graph.h"

namespace tang::rewrite {

/// `graph` with `dims`, which are its own in narrower ranges, in place of its dims. The interface
/// stays; a dim that has one value only is that number in every term.
graph::Graph specialize(graph::Graph graph, std::vector<graph::Dim> dims);

} // namespace tang::rewrite
