#pragma once
#include "schedule/schedule.h"

namespace tang::schedule {

/// A reduction whose parts should run beside each other, and how many there are.
struct Parts {
  size_t node = 0;   ///< position in the graph's nodes
  size_t axis = 0;   ///< of its reduction
  int64_t parts = 0; ///< 0: every index of the axis is a part of its own
};

/// Reductions with too few rows for the machine, ascending: first those whose rows become parts,
/// which are then looked at again; when none is left, those that are cut. With `batch_invariant`
/// the choice depends on extents of reductions alone, so that a row is summed alike in every batch.
std::vector<Parts> choose_parts(const graph::Graph& graph, const Machine& machine,
                                bool batch_invariant);

} // namespace tang::schedule
