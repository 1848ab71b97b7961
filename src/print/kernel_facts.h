#pragma once
// What the printer asks about a kernel before it writes.
#include "kernel/kernel.h"

namespace tang::print {

/// Every value that a statement itself holds (not those of nested bodies).
void for_each_value(const kernel::Stmt& stmt, const std::function<void(kernel::ValueId)>& visit);

/// The values that statements with an effect need, and those of the definitions they need in turn.
std::vector<kernel::ValueId> live_roots(const kernel::Kernel& kernel);

/// Whether a value that the kernel needs is of a type.
bool computes_in(const kernel::Kernel& kernel, kernel::Type type);

} // namespace tang::print
