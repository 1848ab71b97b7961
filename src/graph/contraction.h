#pragma once
// How the body of a reduction splits into operands: what selectors and emitters ask to see a matrix
// product, a convolution or an attention score as the same thing.
#include "graph/prover.h"

namespace tang::graph {

/// Point axes (positions in `points`) by what the body's reads need: columns `n` are the innermost
/// axis that some read lacks and all axes of the same reads; rows `m` are the axes that none of
/// those reads need; the rest is batch.
struct Sides {
  std::vector<size_t> batch, m, n;
};
Sides sides_of(const Graph& graph, const Comprehension& node);

/// The largest subterms of the body that hold a read and do not need the other side's axes.
struct Operands {
  std::vector<ExprId> a; ///< free of the columns
  std::vector<ExprId> b; ///< free of the rows
  bool complete = true;  ///< outside the operands the body uses no read and no index
};
Operands operands_of(const Graph& graph, const Comprehension& node, const Sides& sides);

/// The factors of each field's body, the rows' first, where every body is a product of one operand
/// of either side; else nothing.
std::vector<std::pair<ExprId, ExprId>> products_of(const Graph& graph, const Comprehension& node,
                                                   const Operands& operands);

/// A reduction under a commutative monoid of scalar fields, without filter or tightened bounds,
/// that has rows, columns and complete operands.
std::optional<Sides> contraction(const Graph& graph, const Comprehension& node);

/// Whether 32 bits hold an integer field of a node's reduction at every step: `accumulate` promises
/// it, or the extents and the ranges of the operands prove it.
bool fits_i32(const Graph& graph, const Comprehension& node, size_t field, const Prover& prover);

/// Whether some read in a term moves along its innermost memory place with this index.
bool contiguous_along(const Graph& graph, ExprId term, IndexId index);

} // namespace tang::graph
