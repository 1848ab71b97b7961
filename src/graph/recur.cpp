#include "graph/recur.h"
#include "graph/prover.h"
#include <algorithm>
#include <limits>

namespace tang::graph {

Tensor step_tensor(const Graph& graph, std::string name, ExprId extent) {
  Tensor step;
  step.name = std::move(name), step.type = ElemType::i64, step.is_step = true;
  int64_t steps = Prover(graph).range(extent).hi;
  if (steps != std::numeric_limits<int64_t>::max())
    step.range = IntRange{0, std::max<int64_t>(0, steps - 1)};
  return step;
}

} // namespace tang::graph
