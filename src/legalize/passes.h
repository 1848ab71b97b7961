#pragma once
// Program -> program that a target can say. Each pass removes one thing that a target lacks, or
// meets one need of printing; the table is the running order.
#include "kernel/program.h"
#include "legalize/capabilities.h"

namespace tang::legalize {

struct Pass {
  std::string_view name;
  std::string_view sentence; ///< what is true afterwards
  bool moves_threads;        ///< who writes what is another question behind it
  bool (*needed)(const Capabilities&);
  void (*run)(kernel::Program&, const Capabilities&, const Options&);
};

/// All passes in running order.
std::span<const Pass> passes();

/// Runs every pass that the target needs. `after` is called behind each (dumps, verification,
/// timing); it may be empty.
void legalize(kernel::Program& program, const Capabilities& capabilities, const Options& options,
              const std::function<void(const Pass&)>& after = {});

/// Blocks become loops around the body, the first mode innermost; threads must be alone.
void serialize_grid(kernel::Program& program, const Capabilities& capabilities,
                    const Options& options);
/// Variant::index_bits is decided; where it depends on the dims, a variant becomes two.
void index_width(kernel::Program& program, const Capabilities& capabilities,
                 const Options& options);
/// The coordinates of blocks and threads come from one number each.
void bind_grid(kernel::Program& program, const Capabilities& capabilities, const Options& options);
/// Coordinates come from flat numbers by division.
void delinearize(kernel::Program& program, const Capabilities& capabilities,
                 const Options& options);
/// No condition is a constant.
void drop_decided(kernel::Program& program, const Capabilities& capabilities,
                  const Options& options);
/// Refs and register elements have one flat offset, and tensors one mode of stride 1.
void linearize(kernel::Program& program, const Capabilities& capabilities, const Options& options);
/// Shared memory that a kernel may not declare has offsets in one block, which the launcher asks
/// for.
void place_shared(kernel::Program& program, const Capabilities& capabilities,
                  const Options& options);
/// What all refs to a parameter add to their offsets moves to the launcher.
void offset_bindings(kernel::Program& program, const Capabilities& capabilities,
                     const Options& options);
/// No value or variable of a kernel has type `index`; a kernel that is launched in both widths
/// becomes two.
void type_indices(kernel::Program& program, const Capabilities& capabilities,
                  const Options& options);
/// Program::max_blocks is set.
void launch_limits(kernel::Program& program, const Capabilities& capabilities,
                   const Options& options);
/// Launches that run beside each other are one.
void join_launches(kernel::Program& program, const Capabilities& capabilities,
                   const Options& options);
/// Offsets into global memory begin with what stands still in the innermost loop.
void order_offsets(kernel::Program& program, const Capabilities& capabilities,
                   const Options& options);
/// Kernels that differ in names only are one.
void dedupe_kernels(kernel::Program& program, const Capabilities& capabilities,
                    const Options& options);
/// Offsets of bindings that a launch cannot express are scalars that kernels add.
void whole_buffers(kernel::Program& program, const Capabilities& capabilities,
                   const Options& options);

} // namespace tang::legalize
