#pragma once
// The laws that turn a graph into a better graph with the same meaning, in running order.
#include "graph/graph.h"
#include <functional>
#include <span>

namespace tang::rewrite {

/// One row of the table. Flags, dumps (`--dump=substitute_maps`), timing and docs come from it.
struct Pass {
  std::string_view name;
  std::string_view law; ///< one sentence
  int level;            ///< runs at -O<level> and above
  graph::Graph (*run)(graph::Graph);
};

std::span<const Pass> passes();
/// Null for an unknown name.
const Pass* find_pass(std::string_view name);

/// Runs every pass of `level`; `after` sees the graph behind each.
graph::Graph run_passes(graph::Graph graph, int level,
                        const std::function<void(const Pass&, const graph::Graph&)>& after = {});

// The passes; each file opens with its law.
graph::Graph differentiate(graph::Graph graph);
graph::Graph drop_dead_nodes(graph::Graph graph);
graph::Graph solve_feedback(graph::Graph graph);
graph::Graph scan_recurrences(graph::Graph graph);
graph::Graph merge_common_nodes(graph::Graph graph);
graph::Graph prove_commutative(graph::Graph graph);
graph::Graph count_points(graph::Graph graph);
graph::Graph substitute_maps(graph::Graph graph);
graph::Graph reduce_scans(graph::Graph graph);
graph::Graph separate_rounding(graph::Graph graph);
graph::Graph hoist_invariant_factors(graph::Graph graph);
graph::Graph chunk_scans(graph::Graph graph);
graph::Graph stabilize_softmax(graph::Graph graph);
graph::Graph single_pass_moments(graph::Graph graph);
graph::Graph recentre_means(graph::Graph graph);
graph::Graph share_states(graph::Graph graph);
graph::Graph nest_contractions(graph::Graph graph);
graph::Graph merge_siblings(graph::Graph graph);
graph::Graph attach_epilogues(graph::Graph graph);
graph::Graph store_reciprocals(graph::Graph graph);
graph::Graph segment_sums(graph::Graph graph);
graph::Graph tighten_bounds(graph::Graph graph);

} // namespace tang::rewrite
