#pragma once
// Reductions that multiply matrices on the way: attention and its gradients, chains of products.
//
//   y[b, i, d] = fold[j] ( refs(i, j), weight(i, j) * factor[b, j, d] ),
//   where terms of (i, j) hold scores  s[i, j] = sum[r] row[b, i, r] * column[b, j, r].
//
// With rows i and stretches of the streamed axis j as the sides of a tile, scores are one product
// of matrices and amounts another, and nothing over (i, j) is stored.
#include "graph/scaled_monoid.h"

namespace tang::graph {

struct Streaming {
  /// A product inside the terms, computed for a whole tile at once.
  struct Score {
    ExprId fold;
    ExprId row, column; ///< reads: free of the streamed axis; free of the rows
    Axis depth;         ///< the bound index, of constant extent
  };
  /// What a field adds up: a quotient of products over rows and the streamed axis, times for an
  /// indexed field a read along its axis.
  struct Amount {
    ScaledMonoid::Amount scaled;
    std::vector<ExprId> factors, divisors; ///< of the weight, ascending; none of both = 1
    ExprId read;                           ///< free of the rows; empty for a scalar field
    Axis axis; ///< of an indexed field, as `read` names it; of constant extent
  };
  ScaledMonoid monoid;
  std::vector<size_t> batch, rows; ///< positions in `points`
  std::vector<Score> scores;
  std::vector<Amount> amounts;
  ElemType format = ElemType::f16; ///< of scores' factors and of the amounts' reads
  std::vector<ExprId> columns;     ///< reads along the streamed axis that terms hold besides
};

/// Empty where the node has another shape: one reduce axis, a scaled monoid, at least one score,
/// and rows. Factors are reads in one format of 16 bits, or of f32 where it may lose bits (`tf32`),
/// each contiguous along its depth or its field's axis in runs of 16 bytes. Besides, terms read
/// tensors along rows only or along the streamed axis only.
std::optional<Streaming> streaming(const Graph& graph, const Comprehension& node, bool tf32);

} // namespace tang::graph
