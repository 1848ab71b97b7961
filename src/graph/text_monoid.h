#pragma once
// A monoid as a line of a `.tg` file: its fields with their identities, and how it combines two.
#include "graph/text_terms.h"

namespace tang::graph {

/// `monoid NAME(m = -inf, s[d: D] = 0) (a, b) -> (max(a.m, b.m), ...)`.
std::string monoid_text(const Graph& graph, const Names& names, const Monoid& monoid,
                        const std::string& name);

} // namespace tang::graph
