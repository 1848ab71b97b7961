#pragma once
// Loads, stores and copies of a printed kernel: single elements with what they are converted to,
// vectors in the widest moves of the dialect, values packed into fragments.
#include "print/kernel_state.h"

namespace tang::print {

void print_load(KernelState& k, const kernel::Load& load);
/// Reports a store that shares its byte with another thread's.
void print_store(KernelState& k, const kernel::Store& store);
/// One side is registers; where both are, neighbouring values are rounded into a fragment.
void print_copy(KernelState& k, const kernel::Copy& copy);

} // namespace tang::print
