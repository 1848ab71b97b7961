#pragma once
// Which points of a body read a given element: the places of a read, solved for the indices.
#include "graph/graph.h"

namespace tang::rewrite {

/// The point that a reduction chose (arg max, top-k), as data.
struct Choice {
  std::vector<graph::Axis> axes; ///< the indices that it chose
  graph::ExprId position;        ///< row-major over `axes`; -1 stands for none
};

/// The number of a point of `axes`, row-major.
graph::ExprId position_of(graph::ExprStore& store, const std::vector<graph::Axis>& axes);

/// The points over which a body is evaluated.
struct Space {
  std::vector<graph::Axis> axes;
  graph::ExprId condition; ///< what holds where a point takes part; empty: every point does
  std::optional<Choice> choice;
};

/// The points of a space at which the places of a read equal `at`.
struct Solution {
  /// Every index of the space as a term over `at` and `rest`.
  std::unordered_map<graph::IndexId, graph::ExprId> values;
  std::vector<graph::Axis> rest;         ///< what the places leave open: a sum runs over it
  std::vector<graph::ExprId> conditions; ///< over `at` and `rest`
};

/// A place that is an index renames it; one that is affine gives the index of largest extent, with
/// a condition where its coefficient does not divide; floordiv and mod of one term by one constant
/// give the term. Whatever else a place is, its equation becomes a condition. Indices of `at` and
/// `rest` are 0, 1, 2, ...: `at` first.
Solution solve(graph::Graph& graph, const Space& space, std::span<const graph::ExprId> places,
               const std::vector<graph::ExprId>& shape);

} // namespace tang::rewrite
