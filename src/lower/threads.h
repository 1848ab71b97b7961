#pragma once
// Reductions across the threads of a block.
#include "lower/accumulate.h"

namespace tang::lower {

/// Every one of `threads` threads, a multiple of 32 with the number `thread`, gets the combination
/// of all their states, in the order of the threads: neighbours meet first inside each group of 32,
/// then the groups meet in shared memory. Scalar fields only.
void across_threads(Accumulator& acc, ValueId thread, int threads);

} // namespace tang::lower
