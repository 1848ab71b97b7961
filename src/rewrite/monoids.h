#pragma once
// What a law needs to know of a monoid: always read off its combine, never its name.
#include "graph/graph.h"

namespace tang::rewrite {

/// One scalar field under `lhs op rhs` with that operation's identity.
bool is_plain(const graph::Graph& graph, graph::MonoidId monoid, graph::Op op);

/// One scalar field that starts at 0 and adds.
inline bool is_sum(const graph::Graph& graph, graph::MonoidId monoid) {
  return is_plain(graph, monoid, graph::Op::add);
}

/// Every field starts at 0 and adds, element by element.
bool adds(const graph::Graph& graph, graph::MonoidId monoid);

/// The reduction of a node that is nothing else: one result, which is the state, in no input's
/// place and rounded by no line. Null where the node is something else.
const graph::Reduction* plain_reduction(const graph::Graph& graph, const graph::Node& node,
                                        graph::Op op);

} // namespace tang::rewrite
