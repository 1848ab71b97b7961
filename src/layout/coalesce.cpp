#include "layout/algebra.h"

namespace tang::layout {

Result<Layout> coalesce(const Layout& layout) {
  std::vector<Mode> modes;
  for (const Mode& mode : layout.leaves) {
    if (mode.size.is(1)) continue;
    if (!modes.empty()) {
      // (s:d, t:s*d) counts on where s:d ends.
      auto next = times(modes.back().size, modes.back().stride);
      if (!next) return next.refusal();
      if (*next == mode.stride) {
        auto merged = times(modes.back().size, mode.size);
        if (!merged) return merged.refusal();
        modes.back().size = std::move(*merged);
        continue;
      }
    }
    modes.push_back(mode);
  }
  if (modes.empty()) return single_element();
  return Layout::flat(std::move(modes));
}

Result<Layout> coalesce_modes(const Layout& layout) {
  if (layout.is_leaf()) return coalesce(layout);
  std::vector<Layout> parts;
  for (const Layout& part : layout.parts()) {
    auto done = coalesce(part);
    if (!done) return done.refusal();
    parts.push_back(std::move(*done));
  }
  return Layout::tuple(parts);
}

} // namespace tang::layout
