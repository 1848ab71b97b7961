#pragma once
// Which reads of a node may leave their tensor, as far as axes, filters and branches tell.
#include "graph/graph.h"

namespace tang::graph {

struct UnprovedRead {
  ExprId read;
  uint32_t place = 0; ///< position in the read's places
};

/// True when a place depends on tensor data: such a read is checked where it runs and gives its
/// `else` value, or 0, outside.
bool is_gathered(const ExprStore& store, ExprId place);
/// The places of a read, without its `else` value.
std::span<const ExprId> places_of(const Expr& read);

/// The unguarded places of `node` that are not proved in range from what holds where they stand:
/// axis extents and bounds, the filter of the reduction around them, the branch of a `where`; of
/// data nothing but what these say. Places over steps of recurrences are proved in the kernel,
/// where their extent is known. In the order of the terms, each place once.
/// `around`: the time axes of the recurrences that hold the node; in a step they have a point.
std::vector<UnprovedRead> unproved_reads(const Graph& graph, const Comprehension& node,
                                         std::span<const Axis> around = {});

/// Whether a read moves as vectors along the axis `inner`: unguarded, contiguous, the axis alone in
/// its last place and in no other, and rows that keep vectors aligned because the innermost extent
/// is the axis's own or a multiple of `width`.
bool moves_as_vector(const Graph& graph, const Expr& read, const Axis& inner, int width);

} // namespace tang::graph
