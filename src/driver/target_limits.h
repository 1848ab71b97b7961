#pragma once
// What a kernel uses that not every target has.
#include "diagnostics/sink.h"
#include "kernel/kernel.h"
#include "targets/target.h"

namespace tang::driver {

/// Reports at `place` why a target cannot run a kernel that is not yet legal for it; false then.
bool check_kernel(const kernel::Kernel& kernel, Span place, const targets::Target& target,
                  Sink& sink);

} // namespace tang::driver
