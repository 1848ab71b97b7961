#pragma once
// The online-softmax monoid, recognised by what its combine does.
#include "graph/graph.h"

namespace tang::rewrite {

/// The field of the running maximum m, where `field` is a sum of terms held relative to it:
///
///     f = a.f * exp(a.m - m) + b.f * exp(b.m - m),   m = max(a.m, b.m)
///
/// written so, or with choices that leave the larger side as it is. Empty for anything else.
std::optional<uint32_t> scaled_by_maximum(graph::Graph& graph, graph::MonoidId monoid,
                                          uint32_t field);

} // namespace tang::rewrite
