#pragma once
// Proves inequalities between integer terms from axis extents, dim ranges and path conditions.
#include "graph/graph.h"
#include "graph/polynomial.h"

namespace tang::graph {

/// What is known at one place of a node: index ranges and conditions that hold there.
class Prover {
public:
  explicit Prover(const Graph& graph) : graph_(graph) {}

  /// From here on, what tensors are said to hold is no fact, apart from the format in which they
  /// are stored: a range helps analysis, it never removes memory safety.
  void distrust_data() { trusts_data_ = false; }

  /// 0 <= index <= extent-1, and lo/hi where the axis has them. That the axis has a point at all
  /// is a fact too, until `rewind`.
  void add_axis(const Axis& axis);
  void add_axes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) add_axis(axis);
  }
  /// A boolean term known to be true; conjunctions are split, comparisons of integers become facts,
  /// everything else is ignored.
  void assume(ExprId condition) { assume(condition, true); }
  /// The same for a condition known to be false.
  void assume_not(ExprId condition) { assume(condition, false); }
  void assume(ExprId condition, bool value);

  /// Proved for every value that the facts allow; false means "not proved".
  bool nonnegative(const Polynomial& p) const;
  bool less(ExprId a, ExprId b) const;       ///< a < b
  bool less_equal(ExprId a, ExprId b) const; ///< a <= b
  /// 0 <= place < extent
  bool in_range(ExprId place, ExprId extent) const;
  bool holds(ExprId condition) const { return decide(condition) == true; }  ///< proved true
  bool fails(ExprId condition) const { return decide(condition) == false; } ///< proved false
  /// The value of a boolean term where it is the same for every value that the facts allow.
  std::optional<bool> decide(ExprId condition) const;

  /// An interval that contains every value of an integer term (indices, dims, tensor ranges).
  IntRange range(ExprId id) const;

  /// Number of facts, to come back to with `rewind` when a scope ends. Axes stay: their indices are
  /// unique in a node.
  size_t mark() const { return facts_.size(); }
  void rewind(size_t mark) { facts_.resize(mark); }

  /// True when the facts exclude each other, as some other fact's opposite: nothing is here, and
  /// everything holds. A longer search than that of a single goal.
  bool contradictory() const;

private:
  friend class Proof; // prove.cpp: one search
  const Axis* axis_of(IndexId index) const;
  bool is_fact(const Polynomial& p) const;
  IntRange range(ExprId id, std::unordered_map<ExprId, IntRange>& known) const;
  bool holds_comparison(Op op, ExprId a, ExprId b) const;

  const Graph& graph_;
  bool trusts_data_ = true;
  std::vector<Polynomial> facts_; ///< each is >= 0
  std::vector<Axis> axes_;
  int depth_ = 0; ///< proofs around this one, which learn from what it proves
};

} // namespace tang::graph
