#pragma once
// One call of a function of `tangc layout`: its arguments, and what they can be taken for.
#include "driver/layout/expression.h"
#include <span>

namespace tang::driver {

class LayoutCall {
public:
  explicit LayoutCall(std::span<const LayoutValue> arguments) : arguments_(arguments) {}

  size_t count() const { return arguments_.size(); }
  const LayoutValue& operator[](size_t i) const { return arguments_[i]; }
  template <class T>
  const T* as(size_t i) const {
    return std::get_if<T>(&arguments_[i]);
  }

  // Each refuses, and blames the argument, where it cannot be taken so.
  /// Numbers and shapes are compact layouts.
  layout::Result<layout::Swizzled> swizzled(size_t i);
  /// Without swizzle and offset.
  layout::Result<layout::Layout> strided(size_t i);
  layout::Result<layout::Monomial> monomial(size_t i);
  layout::Result<int64_t> number(size_t i);
  layout::Result<layout::Shape> shape(size_t i);
  layout::Result<layout::Coordinate> coordinate(size_t i);
  /// A layout is a tiler of one mode.
  layout::Result<layout::Tiler> tiler(size_t i);
  /// Arguments from `first` on as names of axes.
  layout::Result<std::vector<std::string>> axes(size_t first);

  /// The argument that is at fault, where one is.
  std::optional<size_t> blamed() const { return blamed_; }

private:
  layout::Refusal blame(size_t i, std::string_view wanted);

  std::span<const LayoutValue> arguments_;
  std::optional<size_t> blamed_;
};

/// A function of the language.
struct LayoutFunction {
  std::string_view name;
  std::string_view arguments; ///< as in a call, for messages
  std::string_view help;
  size_t least, most; ///< arguments
  layout::Result<LayoutValue> (*run)(LayoutCall& call);
};
std::span<const LayoutFunction> layout_functions();
const LayoutFunction* layout_function_named(std::string_view name);
/// `A o B`, which is `compose(A, B)`.
layout::Result<LayoutValue> compose_values(LayoutCall& call);

/// The layout that a value can be taken for; empty where it cannot.
std::optional<layout::Result<layout::Swizzled>> as_layout(const LayoutValue& value);

} // namespace tang::driver
