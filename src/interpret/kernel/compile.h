#pragma once
// Kernel -> flat code.
#include "interpret/kernel/code.h"

namespace tang::interpret::simulator {

/// The kernel and the rows of its atoms outlive what is made of it.
CompiledKernel compile(const kernel::Kernel& kernel);

/// `Move<8> to `x_v``: a statement in a few words.
std::string describe(const kernel::Kernel& kernel, const kernel::Stmt& stmt);

} // namespace tang::interpret::simulator
