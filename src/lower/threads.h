#pragma once
// Reductions and scans across the threads of a block.
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

/// Shared memory through which threads see each other's states where none reads the registers of
/// another. One reduction after the other may use it.
class Meeting {
public:
  /// `threads` is a power of two, and all threads of the block.
  Meeting(Builder& b, int threads) : b_(b), threads_(threads) {}

  /// Makes room for states of these formats here, where all who use it can reach it.
  void reserve(std::span<const Type> types);

  /// As `across_threads`, or as `scan_threads` where something goes `before`; every thread of the
  /// block takes part.
  void across(Accumulator& acc, ValueId thread, Accumulator* before = nullptr);

private:
  /// The fields' rooms for two turns: who writes the next turn does not wait for who reads this.
  std::vector<kernel::TensorId> rooms_of(std::span<const Type> types) const;

  Builder& b_;
  int threads_;
  std::vector<std::pair<Type, kernel::TensorId>> rooms_;
};

} // namespace tang::lower
