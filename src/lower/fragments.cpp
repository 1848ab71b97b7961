#include "lower/fragments.h"
#include "atomics/check.h"

namespace tang::lower {

using layout::Layout;

int extent_along(const Layout& layout, const std::string& axis) {
  return static_cast<int>(atomics::extents_by_axis(layout).at(axis));
}

Layout repeated(const Layout& fragment, int count, const std::string& axis) {
  std::vector<Layout> parts = fragment.parts();
  int step = extent_along(fragment, axis);
  Layout more =
      Layout::leaf({layout::Monomial::constant(count), {layout::Monomial::constant(step), axis}});
  return Layout::tuple({parts[0], Layout::tuple({parts[1], more})});
}

} // namespace tang::lower
