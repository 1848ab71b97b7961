#include "graph/strides.h"
#include "base/checked.h"
#include <algorithm>

namespace tang::graph {

bool has_room(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (std::count(shape.begin(), shape.end(), 0) > 0) return true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    // Of two equal strides each is in the way of the other.
    std::optional<int64_t> span = 1;
    for (size_t j = 0; j < shape.size() && span; ++j) {
      if (j == i || strides[j] > strides[i]) continue;
      auto reach = checked_mul(shape[j] - 1, strides[j]);
      span = reach ? checked_add(*span, *reach) : std::nullopt;
    }
    if (!span || strides[i] < *span) return false;
  }
  return true;
}

} // namespace tang::graph
