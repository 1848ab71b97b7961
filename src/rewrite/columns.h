#pragma once
// Point axes of a reduction as axes of its state: the state of a row is then a small tensor, and
// what does not depend on the columns is computed once per row and reduce index.
#include "graph/graph.h"

namespace tang::rewrite {

/// More columns than this per row do not stay close to the threads.
inline constexpr int64_t max_columns = 512;

/// The axes among `points` that are none of `rows`, in order; empty where they cannot be columns:
/// an extent is not constant, or together they are more than `max_columns`.
std::optional<std::vector<graph::Axis>> columns_of(const graph::ExprStore& store,
                                                   const std::vector<graph::Axis>& points,
                                                   const std::vector<graph::IndexId>& rows);

/// A sum (is_plain) with those point axes carried in an indexed field. When they are not the last
/// axes of the result, the node defines a new tensor and `view` becomes the map that reorders it.
graph::Comprehension with_columns(graph::Graph& graph, const graph::Comprehension& sum,
                                  const std::vector<graph::Axis>& columns,
                                  std::optional<graph::Comprehension>& view);

/// A tensor like `like` over these axes.
graph::TensorId tensor_over(graph::Graph& graph, graph::TensorId like,
                            const std::vector<graph::Axis>& points,
                            const std::vector<graph::Axis>& extra);

/// `columns` under fresh index names from `next` on; `names` takes the new ones.
std::vector<graph::Axis> renamed(graph::ExprStore& store, const std::vector<graph::Axis>& columns,
                                 uint32_t& next,
                                 std::unordered_map<graph::IndexId, graph::ExprId>& names);

} // namespace tang::rewrite
