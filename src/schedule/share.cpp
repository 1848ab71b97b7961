#include "schedule/share.h"
#include "schedule/shapes.h"

namespace tang::schedule {

using graph::Comprehension;
using graph::Graph;

bool runs_as_one(const Graph& graph, const Comprehension& first, const Comprehension& second,
                 const Comprehension& both, const Machine& machine) {
  // A thread that has a core for itself adds up in the core's cache.
  if (!machine.hardware_grid) return true;
  // Blocks that share columns each compute all scores: as often as if nothing were shared.
  auto streams = [&](const Comprehension& c) {
    auto kernel = plan_stream(graph, c, machine);
    return !kernel.variants.empty() && !kernel.variants.back().fields.warp_n;
  };
  return streams(both) && streams(first) && streams(second);
}

} // namespace tang::schedule
