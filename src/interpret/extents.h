#pragma once
// Integer terms over dims, once the dims have values.
#include "graph/graph.h"
#include <span>

namespace tang::interpret {

/// The value of an integer term over dims. Empty when it leaves 64 bits, or when it is no such
/// term. `dims` holds one value per dim of the graph.
std::optional<int64_t> extent_value(const graph::ExprStore& store, graph::ExprId id,
                                    std::span<const int64_t> dims);

/// The shape of a tensor; empty as above, or when an extent is negative.
std::optional<std::vector<int64_t>> shape_of(const graph::Graph& graph, graph::TensorId tensor,
                                             std::span<const int64_t> dims);

/// The tensor with the range that its declaration gives at these dims.
graph::Tensor tensor_at(const graph::Graph& graph, graph::TensorId tensor,
                        std::span<const int64_t> dims);

} // namespace tang::interpret
