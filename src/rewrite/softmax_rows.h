#pragma once
// Finds the rows that stabilize_softmax makes one pass of: a maximum and the sums of exponentials
// over the same scores, however they are written.
#include "rewrite/linear_form.h"
#include "rewrite/links.h"
#include <set>

namespace tang::rewrite {

struct Factors;
using IndexTerms = std::unordered_map<graph::IndexId, graph::ExprId>;

/// The scores along a row, and their maximum where the program has it.
struct SoftmaxRow {
  std::vector<graph::Axis> points, axes;
  graph::ExprId filter, score;
  std::optional<size_t> max; ///< the node
  graph::TensorId tensor;    ///< the max; empty where there is none
};

/// Σ exp(rate * score + rest) * weight, times what the reduction leaves alone.
struct WeightedSum {
  size_t node;
  graph::Op exponential;                  ///< exp or exp2
  double rate;                            ///< > 0
  LinearForm rest;                        ///< of the exponent, over the sum's points
  graph::ExprId weight;                   ///< over points, reduce axes and columns
  std::vector<graph::ExprId> over, under; ///< factors without a reduce index
  std::vector<graph::Axis> columns;       ///< point axes that the scores do not use
  IndexTerms from_row;                    ///< indices of the row in terms of the sum's
  size_t field = 0;                       ///< of the state that holds it
};

struct SoftmaxGroup {
  SoftmaxRow row;
  std::vector<WeightedSum> sums;

  std::vector<size_t> members() const;
};

class SoftmaxRows {
public:
  SoftmaxRows(graph::Graph& graph, const std::vector<graph::Node>& nodes);

  /// The group of the maximum at a node, or of a sum of exponentials from which none was
  /// subtracted; empty where there is none, or where one pass would not pay.
  std::optional<SoftmaxGroup> of_max(size_t node);
  std::optional<SoftmaxGroup> without_max(size_t node);
  /// True for a read of the maximum, or of a sum of the group without columns, at the row of `sum`.
  bool is_row_value(const SoftmaxGroup& group, const WeightedSum& sum, graph::ExprId read) const;
  /// The node became a view of a merged one.
  void leave(size_t node) { gone_.insert(node); }

private:
  const graph::Comprehension& node(size_t n) const;
  std::optional<SoftmaxGroup> collect(SoftmaxRow row);
  std::optional<SoftmaxRow> row_of(size_t n);
  std::vector<size_t> candidates();
  graph::ExprId expanded(graph::ExprId read);
  graph::ExprId unfolded(graph::ExprId term);
  std::optional<WeightedSum> match(size_t n);
  bool name_indices(WeightedSum& sum, graph::ExprId exponent);
  graph::TensorId lead_read(std::vector<graph::ExprId>& places) const;
  std::string why_no_columns(const graph::Comprehension& c,
                             const std::set<graph::IndexId>& rows) const;
  bool match_exponent(WeightedSum& sum, graph::ExprId exponent);
  bool same_conditions(const WeightedSum& sum, const std::vector<graph::ExprId>& more);
  bool split_weights(WeightedSum& sum, const Factors& factors);
  bool uses(graph::ExprId id, const std::vector<graph::Axis>& axes) const;
  bool depends_on_row(const std::vector<graph::ExprId>& terms);
  bool worthwhile();
  std::set<size_t> element_dependents() const;
  bool scores_are_computed_again() const;
  bool only_summed(size_t n, bool or_reduced);

  graph::Graph& graph_;
  graph::ExprStore& s_;
  const std::vector<graph::Node>& nodes_;
  Links links_;
  std::set<size_t> gone_; ///< members of groups, now views
  // Of the row at hand:
  SoftmaxGroup group_;
  std::set<size_t> maps_;   ///< that depend on the row
  std::set<size_t> others_; ///< what else reads it: neither plain maps nor sums
  std::string why_;         ///< a candidate is no sum of the row
};

} // namespace tang::rewrite
