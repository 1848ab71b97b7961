#pragma once
// Which reads a comprehension cannot do without, whatever the data: a walk from its results that
// keeps the affine conditions on its way and stops where only data decides.
#include "bound/formulas.h"

namespace tang::bound {

/// One read that happens for every combination of `axes` where all `conditions` hold.
struct Demand {
  ExprId read;
  std::vector<graph::Axis> axes;
  std::vector<ExprId> conditions; ///< boolean terms over indices and dims; free of data
  std::vector<ExprId> factors;    ///< 0 or 1, over dims: all must be 1 for the read to be needed
};

struct Demands {
  std::vector<Demand> reads;
  std::vector<std::string> reasons; ///< why reads were left out, each once
};

/// What the results at positions `results` of a node need. Reads below data-dependent conditions
/// are left out: a bound may not count them.
Demands demands_of(Formulas& formulas, const graph::Comprehension& node,
                   std::span<const size_t> results);

/// The conditions under which a reduction takes a point: its filter (where free of data) and the
/// bounds of its axes. `exact` is false where data decides as well.
struct Domain {
  std::vector<ExprId> conditions;
  bool exact = true;
};
Domain domain_of(Formulas& formulas, const graph::Reduction& reduction);

/// lo <= index and index < hi as conditions; a maximum or minimum gives several.
void append_bounds(Formulas& formulas, const graph::Axis& axis, std::vector<ExprId>& conditions);

/// Whether all state of a monoid is boolean: such a reduction may stop early.
bool may_stop_early(const graph::Monoid& monoid);

} // namespace tang::bound
