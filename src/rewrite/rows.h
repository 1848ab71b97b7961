#pragma once
// Whether another pass over a row costs anything.
#include "rewrite/links.h"
#include <set>

namespace tang::rewrite {

/// Rows up to this length stay in registers, so that a second pass costs no traffic.
inline constexpr int64_t max_held_row = 16384;

/// True when a map over the elements of the rows that `sums` reduce remains beside them, and a
/// kernel can hold a row in registers (one reduce axis, neighbours in memory): that kernel reads
/// the row once whatever the sums are, so that joining them saves nothing.
bool held_for_elements(const graph::Graph& graph, const std::vector<graph::Node>& nodes,
                       const Links& links, const std::set<size_t>& sums);

} // namespace tang::rewrite
