#pragma once
// Strides of tensors as numbers.
#include <cstdint>
#include <span>

namespace tang::graph {

/// Whether no two elements share an address for sure: each stride leaves room for what the smaller
/// ones span. Strides are elements, not negative.
bool has_room(std::span<const int64_t> shape, std::span<const int64_t> strides);

} // namespace tang::graph
