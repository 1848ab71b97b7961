#pragma once
// The different ways in which a program launches its kernels.
#include "kernel/program.h"

namespace tang::kernel {

/// A kernel as one variant launches it, inside the recurrences `loops`, outermost first.
struct Launch {
  const Kernel& kernel;
  const Variant& variant;
  std::span<const Loop* const> loops;
};

/// Visits launches in order, but only one of those that give a kernel the same scalars under the
/// same condition, and none that never happens.
void for_each_launch(const Program& program, const std::function<void(const Launch&)>& visit);

} // namespace tang::kernel
