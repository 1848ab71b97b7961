#pragma once
// Graph -> Plan: which nodes share a kernel, which emitter builds it, and its fields. A choice is
// made by legality and a model of traffic and waves, in integer arithmetic, never by measurement.
#include "atomics/table.h"
#include "plan/plan.h"
#include <set>

namespace tang::schedule {

/// What the selector must know of a target.
struct Machine {
  atomics::Target target; ///< whose instructions there are
  bool hardware_grid = true;
  int max_threads = 1024; ///< per block
  int warp = 32;
  bool warp_shuffle = true; ///< false: threads exchange values through shared memory alone
  int vector_bytes = 16;
  int64_t shared_bytes = 49152;         ///< per block, without opt-in
  int64_t dynamic_shared_bytes = 49152; ///< per block, where the launcher asks for it
  int registers = 65536;                ///< 32-bit, per multiprocessor
  int units = 1;                        ///< multiprocessors or cores
  /// Rates of the whole device, 0 = not known: bytes between the last cache and all
  /// multiprocessors, and operations of 16-bit products in matrix units and of f32 outside them.
  int64_t cache_bytes_per_us = 0, product_flop_per_us = 0, flop_per_us = 0;
  /// All legal tiles are candidates, not a few (-O3). These differ in what their warps read from
  /// shared memory, so its rate is counted; the few are told apart without.
  bool search = false;
  int64_t shared_bytes_per_us = 0;
  int64_t load_ns = 0;     ///< of a load that misses every cache, 0 = not known
  bool allow_tf32 = false; ///< factors of f32 may lose 13 bits
  /// A computed factor of a product may be rounded to the format of the other, as matrix units need
  /// (language.md 5, operand rule).
  bool rounds_operands = true;
  /// Results whose products of f32 may run as sums over pieces of this form: a budget holds so.
  std::set<graph::TensorId> may_split;
  bool split_pays = false; ///< these products take less time than one of f32
  plan::Precision split = plan::Precision::tf32x3;
};

/// level 0: one naive point kernel per comprehension. From 1: rows and tiles. What tells 2 and 3
/// apart is `machine.search`.
plan::Plan schedule(const graph::Graph& graph, int level, const Machine& machine);

} // namespace tang::schedule
