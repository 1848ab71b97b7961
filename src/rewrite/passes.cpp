#include "rewrite/passes.h"
#include <algorithm>

namespace tang::rewrite {
namespace {

// In running order. Gradients become nodes before any law that knows none. Dead nodes go next,
// because the later laws count readers; bounds come last, because substitution may bring new
// conditions into a filter.
constexpr Pass rows[] = {
    {"differentiate", "The gradient of a comprehension is a comprehension.", 0, differentiate},
    {"drop_dead_nodes", "What no output needs is not computed.", 1, drop_dead_nodes},
    {"solve_feedback",
     "A recurrence that corrects its state by a contraction of it solves for a chunk at once.", 1,
     solve_feedback},
    {"scan_recurrences", "A recurrence whose steps are affine in what they carry is a scan.", 1,
     scan_recurrences},
    {"merge_common_nodes", "Nodes with equal definitions are one node.", 1, merge_common_nodes},
    {"prove_commutative",
     "A monoid that commutes on every state that a reduction reaches leaves its order free.", 1,
     prove_commutative},
    {"count_points", "A sum of a constant is the constant times the number of points.", 1,
     count_points},
    {"substitute_maps",
     "A map's body replaces its reads, and views compose, where no expensive work is repeated.", 1,
     substitute_maps},
    {"reduce_scans", "A scan of which only the end is read is a reduction.", 1, reduce_scans},
    {"separate_rounding",
     "A reduction that is rounded where it is stored is the reduction, then a rounding.", 1,
     separate_rounding},
    {"hoist_invariant_factors", "Factors that no index of a sum moves leave the sum.", 1,
     hoist_invariant_factors},
    {"chunk_scans",
     "A linear scan whose states are only contracted runs in chunks of matrix products.", 1,
     chunk_scans},
    {"stabilize_softmax",
     "A row max and the sums of exponentials over the same scores are one pass.", 1,
     stabilize_softmax},
    {"single_pass_moments",
     "The mean of a row and what is summed around it are one pass over counts, means and moments.",
     1, single_pass_moments},
    {"recentre_means",
     "What the mean of a row lost to rounding is taken off the elements around it.", 1,
     recentre_means},
    {"share_states", "A reduction that is a part of another's state is read off that state.", 1,
     share_states},
    {"nest_contractions",
     "A short contraction that one reduction reads once per point is computed inside it.", 1,
     nest_contractions},
    {"merge_siblings",
     "Reductions over one space with the same readers are one under the product monoid.", 1,
     merge_siblings},
    {"attach_epilogues",
     "A map that reads a node's results point for point becomes a result of that node.", 1,
     attach_epilogues},
    {"store_reciprocals", "A tensor that is only divided by holds reciprocals.", 1,
     store_reciprocals},
    {"segment_sums", "A condition on sorted keys is a range of indices, found by searching.", 1,
     segment_sums},
    {"tighten_bounds", "Affine conditions of a filter become bounds of its indices.", 1,
     tighten_bounds},
};

} // namespace

std::span<const Pass> passes() {
  return rows;
}

const Pass* find_pass(std::string_view name) {
  auto at = std::find_if(std::begin(rows), std::end(rows),
                         [&](const Pass& pass) { return pass.name == name; });
  return at == std::end(rows) ? nullptr : at;
}

graph::Graph run_passes(graph::Graph graph, int level,
                        const std::function<void(const Pass&, const graph::Graph&)>& after) {
  for (const Pass& pass : passes()) {
    if (pass.level > level) continue;
    graph = pass.run(std::move(graph));
    if (after) after(pass, graph);
  }
  return graph;
}

} // namespace tang::rewrite
