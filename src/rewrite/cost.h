#pragma once
// What it costs to evaluate a body once more, in units of one addition.
#include "graph/graph.h"
#include "graph/prover.h"

namespace tang::rewrite {

struct Cost {
  uint32_t terms = 0;   ///< distinct terms, index arithmetic included
  uint32_t work = 0;    ///< operations on data
  uint32_t reads = 0;   ///< distinct reads of data, without the indices of gathers
  uint32_t streams = 0; ///< those that give another element at every point: what memory feels
  bool folds = false;   ///< a nested reduction: never cheap
};

/// Of the term under `root`; shared terms count once, as a kernel computes them once.
Cost cost_of(const graph::ExprStore& store, graph::ExprId root);

/// A body larger than this is stored: kernels stay readable and compile in linear time.
inline constexpr uint32_t max_body_terms = 512;

/// So cheap that any number of evaluations is better than a round trip through memory: a view, a
/// copy, a scaling, a rectifier.
inline bool is_cheap(const Cost& cost) {
  constexpr uint32_t few = 5;
  return !cost.folds && cost.reads <= 1 && cost.work <= few;
}

/// True when evaluating a body `evaluations` times, its reads included, costs no more than
/// evaluating it `points` times, writing the values, and reading them `evaluations` times. A sum of
/// two stored tensors with many readers is stored, else a chain of residuals would read all of its
/// past. Proved from the ranges of dims where possible; otherwise compared at typical extents.
bool pays_off(const graph::Graph& graph, const Cost& cost, const graph::Polynomial& points,
              const graph::Polynomial& evaluations);

/// A plain sum over at most `most` terms, that is no fold of folds.
bool is_short_contraction(const graph::Graph& graph, const graph::Node& node, int64_t most);

/// A contraction of so many terms is computed again by whoever needs its elements, where they are
/// many (nest_contractions).
inline constexpr int64_t max_repeated = 256;

} // namespace tang::rewrite
