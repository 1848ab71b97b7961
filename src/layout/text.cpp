#include "layout/text.h"

namespace tang::layout {

std::string to_text(const Shape& shape) {
  return nested_text(shape, [](const Monomial& size) { return to_text(size); });
}

std::string to_text(const Coordinate& coordinate) {
  return nested_text(coordinate, [](const std::optional<int64_t>& index) {
    return index ? std::to_string(*index) : std::string("_");
  });
}

std::string to_text(const Layout& layout) {
  return nested_text(layout, [](const Mode& mode) { return to_text(mode.size); }) + ":" +
         nested_text(layout, [](const Mode& mode) { return to_text(mode.stride); });
}

std::string to_text(const Swizzle& swizzle) {
  return fmt::format("Sw<{},{},{}>", swizzle.bits, swizzle.base, swizzle.shift);
}

std::string to_text(const Swizzled& layout) {
  std::string swizzle = layout.swizzle.is_identity() ? "" : to_text(layout.swizzle) + " o ";
  std::string offset = layout.offset.terms().empty() ? "" : to_text(layout.offset) + " + ";
  return swizzle + offset + to_text(layout.layout);
}

} // namespace tang::layout
