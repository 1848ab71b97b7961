#pragma once
// Tensors as the bytes that generated code reads.
#include "graph/graph.h"
#include "interpret/value.h"
#include <span>

namespace tang::driver {

/// The bytes a tensor takes at these dims: row-major, or 1 + the largest offset of its strides.
int64_t storage_bytes(const graph::Graph& graph, graph::TensorId tensor,
                      std::span<const int64_t> dims);

/// The elements of `array` in the tensor's format and layout; what no element covers is 0.
std::vector<uint8_t> stored_bytes(const graph::Graph& graph, graph::TensorId tensor,
                                  const interpret::Array& array, std::span<const int64_t> dims);

} // namespace tang::driver
