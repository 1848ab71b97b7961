#pragma once
// Where in a body a value is used: the choices taken and the folds entered on the way to it.
#include "graph/graph.h"
#include <map>

namespace tang::rewrite {

struct PathStep;
using PathId = Id<PathStep>;

struct PathStep {
  PathId before; ///< empty for the outermost step
  uint32_t depth = 1;
  graph::ExprId condition; ///< of a choice; of a fold: its filter
  bool taken = true;       ///< which branch
  graph::MonoidId fold;    ///< the sum over `bound` that brings a value out of the fold
  std::vector<graph::IndexId> bound;
  std::vector<graph::ExprId> extents;
};

/// A tree of paths; the empty id is the place where every point is.
class Paths {
public:
  explicit Paths(graph::ExprStore& store) : s_(store) {}

  const PathStep& operator[](PathId id) const { return steps_[id.value]; }
  uint32_t depth(PathId id) const { return id ? steps_[id.value].depth : 0; }

  /// The branch of a choice; no step where the path before has taken it.
  PathId enter(PathId from, graph::ExprId condition, bool taken);
  /// The body of a fold; `sum` is the monoid of real sums.
  PathId enter_fold(PathId from, graph::MonoidId sum, std::vector<graph::IndexId> bound,
                    std::vector<graph::ExprId> extents, graph::ExprId filter);
  /// The other branch of the last step, if that is a choice and was entered.
  PathId sibling(PathId id) const;

private:
  PathId add(PathStep step);

  graph::ExprStore& s_;
  std::vector<PathStep> steps_;
  std::map<std::tuple<PathId, graph::ExprId, bool>, PathId> choices_;
};

/// Values of one quantity, each on the path where it counts, become one value on the path that they
/// share: choices become `where(c, a, b)` with 0 for what is absent, folds become sums.
std::pair<PathId, graph::ExprId> joined(graph::ExprStore& store, Paths& paths,
                                        const std::vector<std::pair<PathId, graph::ExprId>>& parts);

} // namespace tang::rewrite
