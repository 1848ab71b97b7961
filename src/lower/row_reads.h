#pragma once
// Reads along the inner axis of a row kernel: which may be loaded as vectors before anything is
// computed, and which part of the row they are needed in.
#include "graph/prover.h"

namespace tang::lower {

/// Comprehensions over common rows, in order. Results of theirs are no reads of memory.
struct RowMembers {
  const graph::Graph& graph;
  std::vector<const graph::Comprehension*> nodes;
  std::vector<graph::Axis> rows;
  graph::Axis inner; ///< without bounds: each reduction has its own

  bool defines(graph::TensorId tensor) const;
  /// Positions of the members whose terms hold this one.
  std::vector<size_t> readers(graph::ExprId term) const;
};

/// Reads of `nodes` that are in range at every element of the row, whatever filters say, and move
/// as vectors of `width`, in the order in which they appear. `prover` knows the rows.
std::vector<graph::ExprId> reads_along(const RowMembers& members,
                                       std::span<const graph::Comprehension* const> nodes,
                                       const graph::Prover& prover, int width);

/// Whether a read must be at hand from the start: the first member or several need it. What one
/// later member reads alone (a weight) is loaded there and holds no register before.
bool needed_early(const RowMembers& members, graph::ExprId read);

/// Whether no member needs a term that moves along the inner axis outside these bounds of it.
bool needed_only_in(const RowMembers& members, graph::ExprId term, const graph::Axis& bounds);

/// The inner axis with bounds outside which no member needs a read: those of a reduction that hold
/// wherever it is used. Without bounds where there are none.
graph::Axis needed_in(const RowMembers& members, graph::ExprId read);

} // namespace tang::lower
