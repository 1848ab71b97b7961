#include "legalize/passes.h"

namespace tang::legalize {
namespace {

bool always(const Capabilities&) {
  return true;
}

constexpr Pass rows[] = {
    {"serialize_grid", "blocks are loops, because nothing starts them", true,
     [](const Capabilities& c) { return !c.hardware_grid; }, serialize_grid},
    {"bind_grid", "coordinates come from the flat numbers of block and thread", true,
     [](const Capabilities& c) { return c.hardware_grid; }, bind_grid},
    {"index_width", "every launch is in 32-bit or in 64-bit addresses, and the launcher knows when",
     false, always, index_width},
    {"delinearize", "coordinates come from flat numbers by division", false, always, delinearize},
    {"drop_decided", "no condition is a constant", false, always, drop_decided},
    {"linearize", "memory is addressed by one offset", false, always, linearize},
    {"place_shared", "no kernel declares more shared memory than it may", false,
     [](const Capabilities& c) { return c.hardware_grid && c.dynamic_shared; }, place_shared},
    {"offset_bindings", "constant offsets of whole tensors are added by the launcher", false,
     always, offset_bindings},
    {"type_indices", "addresses have a machine type, and each width a kernel", false, always,
     type_indices},
    {"join_launches", "launches that run beside each other are one", false,
     [](const Capabilities& c) { return c.hardware_grid; }, join_launches},
    {"order_offsets", "offsets of instructions begin with what stands still in a loop", false,
     [](const Capabilities& c) { return c.hardware_grid; }, order_offsets},
    {"launch_limits", "the launcher refuses grids that the target cannot start", false,
     [](const Capabilities& c) { return c.hardware_grid; }, launch_limits},
    {"dedupe_kernels", "equal kernels are one", false, always, dedupe_kernels},
    {"whole_buffers", "launches bind buffers where the target can, and kernels add the rest", false,
     [](const Capabilities& c) { return c.buffer_alignment != 1; }, whole_buffers},
};

} // namespace

std::span<const Pass> passes() {
  return rows;
}

void legalize(kernel::Program& program, const Capabilities& capabilities, const Options& options,
              const std::function<void(const Pass&)>& after) {
  for (const Pass& pass : rows) {
    if (!pass.needed(capabilities)) continue;
    pass.run(program, capabilities, options);
    if (after) after(pass);
  }
}

void launch_limits(kernel::Program& program, const Capabilities& capabilities, const Options&) {
  program.max_blocks = capabilities.max_blocks;
}

} // namespace tang::legalize
