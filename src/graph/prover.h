#pragma once
// Proves inequalities between integer terms from axis extents, dim ranges and path conditions.
#include "graph/graph.h"
#include "graph/polynomial.h"

namespace tang::graph {

/// What is known at one place of a node: index ranges and conditions that hold there.
class Prover {
public:
  explicit Prover(const Graph& graph) : graph_(graph) {}

  /// 0 <= index <= extent-1, and lo/hi where the axis has them.
  void add_axis(const Axis& axis);
  /// A boolean term known to be true; conjunctions are split, comparisons of integers become facts,
  /// everything else is ignored.
  void assume(ExprId condition);
  /// The same for a condition known to be false.
  void assume_not(ExprId condition);

  /// Proved for every value that the facts allow; false means "not proved".
  bool nonnegative(const Polynomial& p) const;
  bool less(ExprId a, ExprId b) const;       ///< a < b
  bool less_equal(ExprId a, ExprId b) const; ///< a <= b
  bool holds(ExprId condition) const;        ///< the condition is proved true
  bool fails(ExprId condition) const;        ///< the condition is proved false

  /// An interval that contains every value of an integer term (indices, dims, tensor ranges).
  IntRange range(ExprId id) const;

  /// Number of facts, to come back to with `rewind` when a scope ends.
  size_t mark() const { return facts_.size(); }
  void rewind(size_t mark) { facts_.resize(mark); }

private:
  bool nonnegative(const Polynomial& p, int depth) const;
  const Graph& graph_;
  std::vector<Polynomial> facts_; ///< each is >= 0
  std::vector<Axis> axes_;
};

} // namespace tang::graph
