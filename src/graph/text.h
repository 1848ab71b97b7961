#pragma once
#include "graph/graph.h"
#include <functional>

namespace tang::graph {

struct Names; // text_terms.h

/// The graph as a `.tg` file that reads back in: the same outputs for the same inputs, and the same
/// graph again after the passes that made it. Reductions with an epilogue print as one equation per
/// result over a named reduction; tightened bounds print as the filter they came from.
std::string to_text(const Graph& graph);
/// Tells the equations of comprehensions of the graph, a line each. All names of the graph are
/// spelled once, here; no tensor is added while this is in use.
std::function<std::string(const Comprehension&)> equations_of(const Graph& graph);
/// One term with the axis names of `node`, for messages, comments and reports.
std::string to_text(const Graph& graph, const Comprehension& node, ExprId id);
/// The same for terms of many nodes: `names` are the graph's, chosen once.
std::string to_text(const Graph& graph, const Comprehension& node, ExprId id, const Names& names);
/// A term over dims only, such as an extent: `2*M*K`.
std::string to_text(const Graph& graph, ExprId id);

} // namespace tang::graph
