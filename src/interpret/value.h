#pragma once
// What a tensor holds while it is interpreted.
#include "graph/type.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tang::interpret {

using graph::ElemType;
using graph::Scalar;

/// Elements in logical row-major order, whatever strides the tensor is declared with. Reals are
/// doubles; integers are exact; booleans are 0 or 1 in `integers`. Exactly one of the vectors is
/// used.
struct Array {
  Scalar scalar = Scalar::real;
  std::vector<int64_t> shape;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  int64_t size() const {
    return static_cast<int64_t>(scalar == Scalar::real ? reals.size() : integers.size());
  }
  /// The elements as raw 8-byte words.
  void* data() {
    return scalar == Scalar::real ? static_cast<void*>(reals.data()) : integers.data();
  }
  const void* data() const { return const_cast<Array*>(this)->data(); }
  /// The element at a row-major position as a double, for summaries and comparisons.
  double as_real(int64_t at) const {
    size_t i = static_cast<size_t>(at);
    return scalar == Scalar::real ? reals[i] : static_cast<double>(integers[i]);
  }
};

/// The product of `shape`; empty when it leaves 64 bits. Zero when any extent is zero.
std::optional<int64_t> element_count(const std::vector<int64_t>& shape);

/// An array of zeros (`false`).
Array zeros(Scalar scalar, std::vector<int64_t> shape);
Array real_array(std::vector<int64_t> shape, std::vector<double> elements);
Array integer_array(std::vector<int64_t> shape, std::vector<int64_t> elements);

/// The elements as a tensor of `type` stores them: reals rounded, integers saturated, integers as
/// reals where `type` is real. Empty when `type` is an integer format and a real element is not an
/// integer (a fraction, NaN or infinity).
std::optional<Array> stored_as(ElemType type, Array array);

/// One paragraph for people: shape, type, least and greatest value, mean, counts of NaN and
/// infinities, the first elements.
///
///     y : f16[4, 8]  min -1.5  max 2.25  mean 0.125  nan 0  [0.5, -1.5, 2.25, ...]
std::string summary(std::string_view name, ElemType type, const Array& array);

} // namespace tang::interpret
