#pragma once
// Reverse mode over one expression: from values to the leaves that they depend on.
#include "graph/activity.h"
#include "rewrite/differentiate/path.h"

namespace tang::rewrite {

/// What a leaf receives.
struct Leaf {
  graph::ExprId term; ///< a read, acc, lhs or rhs
  graph::ExprId adjoint;
  PathId path; ///< where it receives this; elsewhere it receives nothing
};

/// Takes each term once, users before operands, so its time is linear in the terms that depend on a
/// wanted leaf. Values that flow out of an untaken branch are absent, not multiplied by 0: a NaN or
/// infinity there does not leak.
class Sweep {
public:
  /// `leaf` says which leaves are wanted. `fresh` is the first index that nothing uses.
  Sweep(graph::Graph& graph, Paths& paths, std::function<bool(graph::ExprId)> leaf,
        graph::IndexId& fresh)
      : graph_(graph), s_(graph.exprs), paths_(paths), leaf_(std::move(leaf)),
        active_(graph.exprs, leaf_), fresh_(fresh) {}

  /// The value of `term` on `path` has this adjoint.
  void seed(graph::ExprId term, PathId path, graph::ExprId adjoint);
  /// What the leaves receive, latest term first.
  std::vector<Leaf> run();

private:
  void visit(graph::ExprId id, PathId path, graph::ExprId adjoint);
  void extremum(const graph::Expr& e, PathId path, graph::ExprId adjoint);
  void guarded_read(const graph::Expr& e, PathId path, graph::ExprId adjoint);
  void fold(const graph::Expr& e, PathId path, graph::ExprId adjoint);
  void branch(graph::ExprId operand, PathId path, graph::ExprId condition, bool taken,
              graph::ExprId adjoint);

  graph::Graph& graph_;
  graph::ExprStore& s_;
  Paths& paths_;
  std::function<bool(graph::ExprId)> leaf_;
  graph::Activity active_;
  graph::IndexId& fresh_;
  /// Users have larger ids than their operands.
  std::map<graph::ExprId, std::vector<std::pair<PathId, graph::ExprId>>, std::greater<>> pending_;
  std::vector<Leaf> found_;
};

} // namespace tang::rewrite
