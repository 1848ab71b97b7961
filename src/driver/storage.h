#pragma once
// Tensors as the bytes that generated code reads.
#include "graph/graph.h"
#include "interpret/value.h"
#include <span>

namespace tang::driver {

/// The elements of a tensor's storage at these dims: row-major, or 1 + the largest offset of its
/// strides. Empty where they leave 64 bits.
std::optional<int64_t> storage_elements(const graph::Graph& graph, graph::TensorId tensor,
                                        std::span<const int64_t> dims);
/// The bytes of such a storage, which must fit.
int64_t storage_bytes(const graph::Graph& graph, graph::TensorId tensor,
                      std::span<const int64_t> dims);

/// Where each element lies, in elements, in row-major order of the elements.
std::vector<int64_t> element_offsets(const graph::Graph& graph, graph::TensorId tensor,
                                     std::span<const int64_t> dims);

/// Whether every output has an address of its own for each element at these dims.
bool outputs_have_room(const graph::Graph& graph, std::span<const int64_t> dims);

/// Gives elements that share an address the value of the first of them.
void share_values(const graph::Graph& graph, graph::TensorId tensor, std::span<const int64_t> dims,
                  interpret::Array& array);

/// The elements of `array` in the tensor's format and layout; what no element covers is 0.
std::vector<uint8_t> stored_bytes(const graph::Graph& graph, graph::TensorId tensor,
                                  const interpret::Array& array, std::span<const int64_t> dims);

} // namespace tang::driver
