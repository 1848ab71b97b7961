#pragma once
// What a kernel uses that not every target has.
#include "diagnostics/sink.h"
#include "kernel/program.h"
#include "targets/target.h"

namespace tang::driver {

/// Reports at `place` why a target cannot run a kernel that is not yet legal for it; false then.
bool check_kernel(const kernel::Kernel& kernel, Span place, const targets::Target& target,
                  Sink& sink);
/// The same for all kernels of a graph's program, each at its first equation.
bool check_kernels(const kernel::Program& program, const graph::Graph& graph,
                   const targets::Target& target, Sink& sink);

} // namespace tang::driver
