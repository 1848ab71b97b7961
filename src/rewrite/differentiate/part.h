#pragma once
// What one read adds to the adjoint of its tensor: a term at each element, or a sum.
#include "graph/prover.h"
#include "rewrite/differentiate/path.h"
#include "rewrite/differentiate/solve.h"
#include "rewrite/differentiate/sweep.h"
#include "rewrite/differentiate/terms.h"

namespace tang::rewrite {

/// Over the tensor's places 0, 1, ..., and the indices of `sum` behind them.
struct Part {
  std::vector<std::string> names; ///< of the places, for people; may be empty
  std::vector<graph::Axis> sum;   ///< empty: a term at each element
  graph::ExprId where;            ///< conditions of indices; empty: everywhere
  graph::ExprId gate;             ///< places that are data: looked at where `where` holds
  graph::ExprId branch;           ///< choices by data: the value counts where they hold
  graph::ExprId value;
};

/// Makes parts of leaves. One for a sweep: what its leaves share is worked out once.
class PartMaker {
public:
  PartMaker(graph::Graph& graph, Paths& paths, Space space)
      : graph_(graph), s_(graph.exprs), paths_(paths), space_(std::move(space)) {}

  /// Empty when no point reads an element.
  std::optional<Part> part(const Leaf& leaf);

private:
  /// One way of reading, solved: places, shape, and the folds around.
  struct View {
    Solution solution;
    graph::IndexId fresh;
    std::unique_ptr<Renaming> rename;
    std::vector<graph::Axis> at;
    bool divides = false; ///< new places may be divisions to carry out
  };
  View& view_of(const Leaf& leaf, const Space& space);
  Space space_on(PathId path, std::vector<graph::ExprId>& conditions);
  graph::ExprId settled(View& view, graph::ExprId term);

  graph::Graph& graph_;
  graph::ExprStore& s_;
  Paths& paths_;
  Space space_;
  std::map<std::vector<uint32_t>, View> views_;
};

} // namespace tang::rewrite
