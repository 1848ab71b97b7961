#pragma once
// Which row carries out a leaf of a kernel: found by kind, formats, memories and the composition of
// layouts, never by name.
#include "atomics/row.h"

namespace tang::atomics {

/// The MatMul with the most work in one issue for these formats: D is accumulated in registers.
const Row* find_matmul(std::string_view target, graph::ElemType d, graph::ElemType a,
                       graph::ElemType b);

/// A Move of one thread's run of `bytes` bytes between memories, elements of `type`; null where the
/// target has none. `zero_fills`: with a predicate. `token`: asynchronous, or not.
struct MoveShape {
  Memory to, from;
  graph::ElemType type;
  int bytes = 16;
  bool zero_fills = false, asynchronous = false;
};
const Row* find_move(std::string_view target, const MoveShape& shape);

/// The rows that end a group of asynchronous moves, and that wait for groups.
const Row* find_commit(std::string_view target, std::string_view token);
const Row* find_wait(std::string_view target, std::string_view token);

/// How a row loads a fragment, given as (lane, value) -> coordinates: where each lane's run begins.
struct FragmentLoad {
  const Row* row = nullptr;
  layout::Layout lanes; ///< lane -> coordinates
};
/// A Move from shared memory to registers of which the values go where the fragment has them, and
/// whose runs lie along the axis that is contiguous in memory.
std::optional<FragmentLoad> find_fragment_load(std::string_view target, graph::ElemType type,
                                               const layout::Layout& fragment,
                                               const std::string& contiguous);

} // namespace tang::atomics
