#pragma once
// Instructions of a printed kernel: calls of functions, one per instruction, with the addresses of
// their operands.
#include "print/kernel_state.h"

namespace tang::print {

/// Writes the call and notes the definition of what it calls.
void print_instruction(KernelState& k, const kernel::Atom& atom);

} // namespace tang::print
