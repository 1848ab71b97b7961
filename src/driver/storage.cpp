#include "driver/storage.h"
#include "base/check.h"
#include "interpret/extents.h"
#include "interpret/formats.h"

namespace tang::driver {

namespace {

struct Layout {
  std::vector<int64_t> shape, strides;
  int64_t elements = 1; ///< of the storage
};

Layout layout_of(const graph::Graph& graph, graph::TensorId id, std::span<const int64_t> dims) {
  const graph::Tensor& tensor = graph[id];
  auto shape = interpret::shape_of(graph, id, dims);
  TANG_CHECK(shape, "`{}` has no shape", tensor.name);
  Layout layout{*shape, {}, 1};
  if (tensor.strides.empty()) {
    layout.strides.resize(shape->size());
    for (size_t i = shape->size(); i-- > 0;) {
      layout.strides[i] = layout.elements;
      layout.elements *= (*shape)[i];
    }
    return layout;
  }
  for (graph::ExprId stride : tensor.strides) {
    auto value = interpret::extent_value(graph.exprs, stride, dims);
    TANG_CHECK(value, "a stride of `{}` has no value", tensor.name);
    layout.strides.push_back(*value);
  }
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] == 0) {
      layout.elements = 0;
      break;
    }
    layout.elements += (layout.shape[i] - 1) * layout.strides[i];
  }
  return layout;
}

uint64_t bits_of(const graph::Tensor& tensor, const interpret::Array& array, size_t at) {
  if (array.scalar == graph::Scalar::real)
    return interpret::encode_real(tensor.type, array.reals[at]);
  return static_cast<uint64_t>(array.integers[at]);
}

} // namespace

int64_t storage_bytes(const graph::Graph& graph, graph::TensorId tensor,
                      std::span<const int64_t> dims) {
  return graph::bytes_of(graph[tensor].type, layout_of(graph, tensor, dims).elements);
}

std::vector<uint8_t> stored_bytes(const graph::Graph& graph, graph::TensorId id,
                                  const interpret::Array& array, std::span<const int64_t> dims) {
  const graph::Tensor& tensor = graph[id];
  Layout layout = layout_of(graph, id, dims);
  int bits = graph::info(tensor.type).bits;
  std::vector<uint8_t> bytes(static_cast<size_t>(graph::bytes_of(tensor.type, layout.elements)));
  std::vector<int64_t> at(layout.shape.size());
  for (size_t n = 0; n < static_cast<size_t>(array.size()); ++n) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) offset += at[i] * layout.strides[i];
    uint64_t value = bits_of(tensor, array, n);
    if (bits < 8) {
      int shift = offset % 2 ? 4 : 0;
      auto& byte = bytes[static_cast<size_t>(offset / 2)];
      byte = static_cast<uint8_t>((byte & ~(15 << shift)) | (value & 15) << shift);
    } else {
      for (int b = 0; b < bits / 8; ++b)
        bytes[static_cast<size_t>(offset * (bits / 8) + b)] = static_cast<uint8_t>(value >> 8 * b);
    }
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < layout.shape[i]) break;
      at[i] = 0;
    }
  }
  return bytes;
}

} // namespace tang::driver
