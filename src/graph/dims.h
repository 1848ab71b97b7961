#pragma once
// Ranges of dims: what two of them have in common, and how a caller tells one from the other.
#include "graph/graph.h"

namespace tang::graph {

/// The values that both allow, under the name of `a`, with ends that are values themselves. Empty
/// where there are none.
std::optional<Dim> meet(const Dim& a, const Dim& b);

/// Every value of `inner` is one of `outer`.
bool covers(const Dim& outer, const Dim& inner);

/// Comparisons in C that tell a value of `wide` which is one of `narrow` from the others, joined by
/// `&&`; empty where all are. `name` stands for the value.
std::string condition_text(const Dim& narrow, const Dim& wide, std::string_view name);
/// The same for all dims of two graphs with one interface, by their names.
std::string condition_text(const Graph& narrow, const Graph& wide);

} // namespace tang::graph
