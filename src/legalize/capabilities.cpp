#include "legalize/capabilities.h"

namespace tang::legalize {

Capabilities capabilities_of(const targets::Target& target) {
  using targets::Feature;
  Capabilities c;
  c.hardware_grid = target.has(Feature::hardware_grid);
  c.int64 = target.has(Feature::int64);
  // A machine that starts its own blocks has 32-bit registers; other hosts are 64-bit throughout.
  c.narrow_index = c.hardware_grid;
  c.max_blocks = c.hardware_grid ? target.limit(targets::LimitKey::max_grid_x) : 0;
  c.static_shared_bytes = target.limit(targets::LimitKey::static_shared_bytes);
  c.dynamic_shared = target.has(Feature::dynamic_shared_memory);
  c.buffer_alignment = target.limit(targets::LimitKey::buffer_alignment);
  c.max_buffers = target.limit(targets::LimitKey::max_buffers);
  return c;
}

} // namespace tang::legalize
