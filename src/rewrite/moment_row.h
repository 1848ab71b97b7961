#pragma once
// The sums of one row that are taken around means of the same row.
#include "rewrite/linear_form.h"
#include "rewrite/links.h"

namespace tang::rewrite {

/// x - shift, around the mean that the member `centre` gives.
struct Centred {
  graph::ExprId variable;
  LinearForm shift;
  size_t centre;
};

/// One sum: scale · Π over / Π under · Σ weight · Π (variable - shift). All terms are over the
/// row's indices.
struct MomentSum {
  size_t node = 0;
  std::vector<graph::ExprId> places; ///< at which the row reads its own value
  double scale = 1;
  graph::ExprId weight;
  std::vector<Centred> factors;
  std::vector<graph::ExprId> over, under; ///< the same along the row; may read other members
};

struct MomentRow {
  std::vector<graph::Axis> points, axes;
  graph::ExprId filter;
  std::vector<MomentSum> sums;

  /// The sum that a read at the row's own point reads.
  std::optional<size_t> sum_of(const graph::Graph& graph, const std::vector<graph::Node>& nodes,
                               graph::ExprId read) const;
};

/// At most this many factors around means in one sum.
inline constexpr int max_degree = 4;

/// The row that the sum at `first` reduces, when there are sums around its mean. Nodes in `gone`
/// are left out.
std::optional<MomentRow> moment_row(graph::Graph& graph, const std::vector<graph::Node>& nodes,
                                    const Links& links, const std::set<size_t>& gone, size_t first);

/// A node that is a sum of real terms and nothing else.
bool is_real_sum(const graph::Graph& graph, const graph::Node& node);

} // namespace tang::rewrite
