#include "interpret/value.h"
#include "base/check.h"
#include "base/checked.h"
#include "interpret/formats.h"
#include <algorithm>
#include <cmath>

namespace tang::interpret {

std::optional<int64_t> element_count(const std::vector<int64_t>& shape) {
  // A zero extent makes the tensor empty even where the other extents multiply beyond 64 bits.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::optional<int64_t> count = 1;
  for (int64_t extent : shape) {
    count = checked_mul(*count, extent);
    if (!count) return std::nullopt;
  }
  return count;
}

Array zeros(Scalar scalar, std::vector<int64_t> shape) {
  auto count = element_count(shape);
  TANG_CHECK(count && *count >= 0, "an array of rank {} has too many elements", shape.size());
  Array a;
  a.scalar = scalar, a.shape = std::move(shape);
  if (scalar == Scalar::real)
    a.reals.resize(static_cast<size_t>(*count));
  else
    a.integers.resize(static_cast<size_t>(*count));
  return a;
}

Array real_array(std::vector<int64_t> shape, std::vector<double> elements) {
  TANG_CHECK(element_count(shape) == static_cast<int64_t>(elements.size()),
             "{} elements do not fill the shape", elements.size());
  return {Scalar::real, std::move(shape), std::move(elements), {}};
}

Array integer_array(std::vector<int64_t> shape, std::vector<int64_t> elements) {
  TANG_CHECK(element_count(shape) == static_cast<int64_t>(elements.size()),
             "{} elements do not fill the shape", elements.size());
  return {Scalar::integer, std::move(shape), {}, std::move(elements)};
}

std::optional<Array> stored_as(ElemType type, Array array) {
  Scalar to = graph::scalar_of(type);
  if (to == Scalar::real) {
    if (array.scalar != Scalar::real) {
      array.reals.reserve(array.integers.size());
      for (int64_t x : array.integers) array.reals.push_back(round_integer_to(type, x));
      array.integers.clear();
    } else {
      for (double& x : array.reals) x = round_to(type, x);
    }
  } else {
    if (array.scalar == Scalar::real) {
      array.integers.reserve(array.reals.size());
      for (double x : array.reals) {
        if (!(std::abs(x) < 0x1p63 && std::trunc(x) == x)) return std::nullopt;
        array.integers.push_back(to_integer(type, x));
      }
      array.reals.clear();
    } else {
      for (int64_t& x : array.integers) x = to_integer(type, x);
    }
  }
  array.scalar = to;
  return array;
}

namespace {

std::string element_text(const Array& a, int64_t at) {
  size_t i = static_cast<size_t>(at);
  if (a.scalar == Scalar::real) return fmt::format("{}", a.reals[i]);
  if (a.scalar == Scalar::boolean) return a.integers[i] ? "true" : "false";
  return fmt::format("{}", a.integers[i]);
}

} // namespace

std::string summary(std::string_view name, ElemType type, const Array& a) {
  std::string text = fmt::format("{} : {}", name, graph::info(type).name);
  if (!a.shape.empty()) text += fmt::format("[{}]", fmt::join(a.shape, ", "));
  int64_t n = a.size(), nan = 0, infinite = 0, least = -1, greatest = -1;
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    double x = a.as_real(i);
    if (std::isnan(x)) {
      ++nan;
      continue;
    }
    infinite += std::isinf(x);
    total += x;
    if (least < 0 || x < a.as_real(least)) least = i;
    if (greatest < 0 || x > a.as_real(greatest)) greatest = i;
  }
  if (least >= 0)
    text += fmt::format("  min {}  max {}  mean {}", element_text(a, least),
                        element_text(a, greatest), total / static_cast<double>(n - nan));
  if (a.scalar == Scalar::real) text += fmt::format("  nan {}", nan);
  if (infinite > 0) text += fmt::format("  inf {}", infinite);
  constexpr int64_t shown = 6;
  text += "  [";
  for (int64_t i = 0; i < std::min(n, shown); ++i)
    text += fmt::format("{}{}", i ? ", " : "", element_text(a, i));
  return text + (n > shown ? ", ...]" : "]");
}

} // namespace tang::interpret
