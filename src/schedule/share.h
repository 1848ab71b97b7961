#pragma once
// Which reductions run as one because they need the same products: the law share_contractions.
#include "schedule/schedule.h"

namespace tang::schedule {

/// Whether two reductions that share contractions run sooner as `both`, their product: where the
/// sums of both stay in the registers of a block's threads, or in a core's nearest cache.
bool runs_as_one(const graph::Graph& graph, const graph::Comprehension& first,
                 const graph::Comprehension& second, const graph::Comprehension& both,
                 const Machine& machine);

} // namespace tang::schedule
