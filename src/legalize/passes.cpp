#include "legalize/passes.h"

namespace tang::legalize {
namespace {

bool always(const Capabilities&) {
  return true;
}

constexpr Pass rows[] = {
    {"serialize_grid", "blocks are loops, because nothing starts them",
     [](const Capabilities& c) { return !c.hardware_grid; }, serialize_grid},
    {"index_width", "every launch is in 32-bit or in 64-bit addresses, and the launcher knows when",
     always, index_width},
    {"bind_grid", "coordinates come from the flat numbers of block and thread",
     [](const Capabilities& c) { return c.hardware_grid; }, bind_grid},
    {"drop_decided", "no condition is a constant", always, drop_decided},
    {"linearize", "memory is addressed by one offset", always, linearize},
    {"offset_bindings", "constant offsets of whole tensors are added by the launcher", always,
     offset_bindings},
    {"type_indices", "addresses have a machine type, and each width a kernel", always,
     type_indices},
    {"launch_limits", "the launcher refuses grids that the target cannot start",
     [](const Capabilities& c) { return c.hardware_grid; }, launch_limits},
    {"dedupe_kernels", "equal kernels are one", always, dedupe_kernels},
};

} // namespace

std::span<const Pass> passes() {
  return rows;
}

void legalize(kernel::Program& program, const Capabilities& capabilities, const Options& options,
              const std::function<void(std::string_view)>& after) {
  for (const Pass& pass : rows) {
    if (!pass.needed(capabilities)) continue;
    pass.run(program, capabilities, options);
    if (after) after(pass.name);
  }
}

void launch_limits(kernel::Program& program, const Capabilities& capabilities, const Options&) {
  program.max_blocks = capabilities.max_blocks;
}

} // namespace tang::legalize
