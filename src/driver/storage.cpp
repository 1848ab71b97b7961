#include "driver/storage.h"
#include "base/check.h"
#include "base/checked.h"
#include "graph/strides.h"
#include "interpret/extents.h"
#include "interpret/formats.h"
#include <algorithm>
#include <unordered_map>

namespace tang::driver {

namespace {

struct Layout {
  std::vector<int64_t> shape, strides;
  int64_t elements = 1; ///< of the storage
};

std::vector<int64_t> shape_at(const graph::Graph& graph, graph::TensorId id,
                              std::span<const int64_t> dims) {
  auto shape = interpret::shape_of(graph, id, dims);
  TANG_CHECK(shape, "`{}` has no shape", graph[id].name);
  return *shape;
}

/// Empty where the storage leaves 64 bits.
std::optional<Layout> layout_of(const graph::Graph& graph, graph::TensorId id,
                                std::span<const int64_t> dims) {
  const graph::Tensor& tensor = graph[id];
  Layout layout{shape_at(graph, id, dims), {}, 1};
  auto grow = [&](std::optional<int64_t> to) {
    layout.elements = to.value_or(0);
    return to.has_value();
  };
  bool is_empty = std::count(layout.shape.begin(), layout.shape.end(), 0) > 0;
  if (tensor.strides.empty()) {
    layout.strides.resize(layout.shape.size());
    for (size_t i = layout.shape.size(); i-- > 0;) {
      layout.strides[i] = layout.elements;
      if (!is_empty && !grow(checked_mul(layout.elements, layout.shape[i]))) return std::nullopt;
    }
  }
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    auto stride = interpret::extent_value(graph.exprs, tensor.strides[i], dims);
    if (!stride) return std::nullopt;
    layout.strides.push_back(*stride);
    auto reach = is_empty ? 0 : checked_mul(layout.shape[i] - 1, *stride);
    if (!reach || !grow(checked_add(layout.elements, *reach))) return std::nullopt;
  }
  if (is_empty) layout.elements = 0;
  // Bytes fit as well, whatever the format.
  if (!checked_mul(layout.elements, 8)) return std::nullopt;
  return layout;
}

Layout known_layout(const graph::Graph& graph, graph::TensorId id, std::span<const int64_t> dims) {
  auto layout = layout_of(graph, id, dims);
  TANG_CHECK(layout, "the storage of `{}` leaves 64 bits", graph[id].name);
  return *layout;
}

uint64_t bits_of(const graph::Tensor& tensor, const interpret::Array& array, size_t at) {
  if (array.scalar == graph::Scalar::real)
    return interpret::encode_real(tensor.type, array.reals[at]);
  return static_cast<uint64_t>(array.integers[at]);
}

} // namespace

std::optional<int64_t> storage_elements(const graph::Graph& graph, graph::TensorId tensor,
                                        std::span<const int64_t> dims) {
  auto layout = layout_of(graph, tensor, dims);
  return layout ? std::optional(layout->elements) : std::nullopt;
}

int64_t storage_bytes(const graph::Graph& graph, graph::TensorId tensor,
                      std::span<const int64_t> dims) {
  return graph::bytes_of(graph[tensor].type, known_layout(graph, tensor, dims).elements);
}

std::vector<int64_t> element_offsets(const graph::Graph& graph, graph::TensorId id,
                                     std::span<const int64_t> dims) {
  Layout layout = known_layout(graph, id, dims);
  std::vector<int64_t> offsets;
  if (layout.elements == 0) return offsets;
  std::vector<int64_t> at(layout.shape.size());
  for (int64_t offset = 0;;) {
    offsets.push_back(offset);
    size_t i = at.size();
    for (; i > 0; --i) {
      offset += layout.strides[i - 1];
      if (++at[i - 1] < layout.shape[i - 1]) break;
      offset -= layout.strides[i - 1] * layout.shape[i - 1];
      at[i - 1] = 0;
    }
    if (i == 0) return offsets;
  }
}

bool outputs_have_room(const graph::Graph& graph, std::span<const int64_t> dims) {
  return std::all_of(graph.outputs.begin(), graph.outputs.end(), [&](graph::TensorId id) {
    std::vector<int64_t> strides;
    for (graph::ExprId term : graph[id].strides)
      if (auto stride = interpret::extent_value(graph.exprs, term, dims))
        strides.push_back(*stride);
    return strides.empty() || graph::has_room(shape_at(graph, id, dims), strides);
  });
}

void share_values(const graph::Graph& graph, graph::TensorId id, std::span<const int64_t> dims,
                  interpret::Array& array) {
  if (graph[id].strides.empty()) return;
  std::vector<int64_t> offsets = element_offsets(graph, id, dims);
  std::unordered_map<int64_t, size_t> first;
  for (size_t n = 0; n < offsets.size(); ++n) {
    size_t same = first.try_emplace(offsets[n], n).first->second;
    if (array.scalar == graph::Scalar::real)
      array.reals[n] = array.reals[same];
    else
      array.integers[n] = array.integers[same];
  }
}

std::vector<uint8_t> stored_bytes(const graph::Graph& graph, graph::TensorId id,
                                  const interpret::Array& array, std::span<const int64_t> dims) {
  const graph::Tensor& tensor = graph[id];
  int bits = graph::info(tensor.type).bits;
  std::vector<uint8_t> bytes(static_cast<size_t>(storage_bytes(graph, id, dims)));
  std::vector<int64_t> offsets = element_offsets(graph, id, dims);
  for (size_t n = 0; n < offsets.size(); ++n) {
    int64_t offset = offsets[n];
    uint64_t value = bits_of(tensor, array, n);
    if (bits < 8) {
      int shift = offset % 2 ? 4 : 0;
      auto& byte = bytes[static_cast<size_t>(offset / 2)];
      byte = static_cast<uint8_t>((byte & ~(15 << shift)) | (value & 15) << shift);
    } else {
      for (int b = 0; b < bits / 8; ++b)
        bytes[static_cast<size_t>(offset * (bits / 8) + b)] = static_cast<uint8_t>(value >> 8 * b);
    }
  }
  return bytes;
}

} // namespace tang::driver
