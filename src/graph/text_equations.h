#pragma once
// A comprehension as equations of a `.tg` file: one per result, or the states of its reduction by
// name and the results over them. Terms that would print as huge trees get equations of their own.
#include "base/text_writer.h"
#include "graph/text_terms.h"

namespace tang::graph {

/// `names` are the graph's; those that states and terms get here are taken from now on.
void print_equations(const Graph& graph, const Comprehension& node, Names& names, TextWriter& out);

} // namespace tang::graph
