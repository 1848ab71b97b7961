#pragma once
// Reductions across the threads of a block.
#include "lower/accumulate.h"

namespace tang::lower {

/// Every one of `threads` threads, a multiple of 32 with the number `thread`, gets the combination
/// of all their states, in the order of the threads: neighbours meet first inside each group of 32,
/// then the groups meet in shared memory. Scalar fields only.
void across_threads(Accumulator& acc, ValueId thread, int threads);

/// state = combine(earlier, state), where the condition holds (empty = always).
void put_before(Accumulator& acc, std::vector<ValueId> earlier, ValueId condition = {});

/// The same beside what a scan needs: `before` becomes the combination of the states of all threads
/// with smaller numbers, the identity for the first.
void scan_threads(Accumulator& acc, Accumulator& before, ValueId thread, int threads);

} // namespace tang::lower
