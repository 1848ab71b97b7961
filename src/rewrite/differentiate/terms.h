#pragma once
// Small terms that gradients are made of.
#include "graph/graph.h"

namespace tang::rewrite {

/// a + b and -a; as a difference, or with a common factor, where that is shorter.
graph::ExprId plus(graph::ExprStore& store, graph::ExprId a, graph::ExprId b);
graph::ExprId minus(graph::ExprStore& store, graph::ExprId a);

/// The parts of a condition that hold where `condition` has the value `truth`, from left to right.
/// Negated comparisons of integers are turned round.
std::vector<std::pair<graph::ExprId, bool>> conjuncts(graph::ExprStore& store,
                                                      graph::ExprId condition, bool truth);
/// `condition`, or its negation.
graph::ExprId as_term(graph::ExprStore& store, graph::ExprId condition, bool truth);
/// Both; an empty one says nothing.
graph::ExprId both(graph::ExprStore& store, graph::ExprId a, graph::ExprId b);
/// `otherwise` where the condition, if any, does not hold.
graph::ExprId where(graph::ExprStore& store, graph::ExprId condition, graph::ExprId value,
                    graph::ExprId otherwise);

/// Whether a floordiv or mod stands in the term.
bool has_division(const graph::ExprStore& store, graph::ExprId term);

/// Replaces indices, with one memory for all terms: shared parts are visited once. Indices that
/// folds bind get new names.
class Renaming {
public:
  /// `fresh`: the first index that is free for folds.
  Renaming(graph::ExprStore& store, std::unordered_map<graph::IndexId, graph::ExprId> map,
           graph::IndexId& fresh)
      : s_(store), map_(std::move(map)), fresh_(fresh) {}
  graph::ExprId operator()(graph::ExprId root);

private:
  graph::ExprStore& s_;
  std::unordered_map<graph::IndexId, graph::ExprId> map_;
  graph::IndexId& fresh_;
  std::unordered_map<graph::ExprId, graph::ExprId> done_;
};

} // namespace tang::rewrite
