#include "lower/row_frame.h"
#include "base/check.h"
#include <algorithm>

namespace tang::lower {

using graph::Comprehension;

RowFrame::RowFrame(const Emission& emission)
    : e(emission), g(e.graph), f(e.fields), b(g, e.name), terms(b, compute_type(g, e.nodes)),
      serial(!e.machine.hardware_grid), group{g, {}, {}, {}} {
  for (const auto& [step, last] : e.steps) b.declare_step(step, last);
  for (const graph::Node* node : e.nodes)
    group.nodes.push_back(&std::get<Comprehension>(node->definition));
  for (const Comprehension* c : group.nodes)
    mirrored |= c->scan && c->scan->descending,
        ordered |= c->scan || (c->reduction && !g[c->reduction->monoid].commutative);
  const Comprehension* reduction =
      *std::find_if(group.nodes.begin(), group.nodes.end(),
                    [](const auto* c) { return c->reduction.has_value(); });
  group.rows = reduction->points;
  if (reduction->scan) group.rows.pop_back();
  group.inner = axis_along(*reduction);
  group.inner.lo = group.inner.hi = {}; // each reduction has bounds of its own
  // Reductions, scans and element maps number the inner axis alike: it follows the rows.
  TANG_CHECK(group.inner.index.value == group.rows.size(),
             "inner axis of `{}` is not numbered after its rows", e.name);
}

} // namespace tang::lower
