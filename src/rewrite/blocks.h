#pragma once
// What the passes share: lists of nodes, and what a rewritten node needs to be sound again.
#include "graph/graph.h"
#include "graph/prover.h"
#include <functional>
#include <unordered_set>

namespace tang::rewrite {

using TensorSet = std::unordered_set<graph::TensorId>;

/// Calls `f` for every list of nodes, the bodies of recurrences before the list around them, with
/// the tensors that are needed outside the list: outputs, or what a step hands on.
void for_each_block(graph::Graph& graph,
                    const std::function<void(std::vector<graph::Node>&, const TensorSet&)>& f);

/// Puts nodes in an order in which each reads only earlier ones, otherwise as they stand. A node
/// that is stored over an input stands behind all that reads the input, wherever that was put.
/// O(n log n).
void sort_nodes(const graph::Graph& graph, std::vector<graph::Node>& nodes);

/// Applies `f` to every term of the node but extents.
void for_each_root(graph::Comprehension& node,
                   const std::function<graph::ExprId(graph::ExprId)>& f);

/// `rewrite` with the original beside the rebuilt term: f(original, rebuilt).
graph::ExprId rewrite_from(graph::ExprStore& store, graph::ExprId root,
                           const std::function<graph::ExprId(graph::ExprId, graph::ExprId)>& f);

/// The graph without tensors and monoids that no node, input or output mentions.
graph::Graph compact(graph::Graph graph);

/// A prover that knows the axes of a node. Fold indices have their ranges; that a fold has a point
/// is not assumed.
graph::Prover prover_of(const graph::Graph& graph, const graph::Comprehension& node);

/// What a state of a node's reduction is stored in: no narrower than it is computed in.
graph::ElemType state_type(const graph::Graph& graph, const graph::Comprehension& node,
                           graph::Scalar scalar);

/// What a read of `tensor` gives where `value` was stored: rounded, if the storage format cannot
/// hold what a body computes.
graph::ExprId stored_value(graph::Graph& graph, graph::TensorId tensor, graph::ExprId value,
                           const graph::Prover& prover);

/// 0, 0.0 or false.
graph::ExprId zero(graph::ExprStore& store, graph::Scalar scalar);

/// After terms moved into `node`: choices that its axes decide are taken, reads that are in range
/// for a reason the prover cannot see are guarded, indices are renumbered.
graph::Comprehension settle(graph::Graph& graph, graph::Comprehension node);

/// The node with the affine part of its filter as bounds (tighten_bounds.cpp). Reads are not
/// checked.
graph::Comprehension tightened(graph::Graph& graph, graph::Comprehension node);

/// How many points take part in a reduction (count_points.cpp): an integer term over dims and the
/// node's points. Empty where data decides, or a bound depends on another reduce index.
std::optional<graph::ExprId> point_count(graph::Graph& graph, const graph::Comprehension& node);

/// The product of the extents; empty on overflow.
std::optional<graph::Polynomial> points_of(const graph::ExprStore& store,
                                           const std::vector<graph::Axis>& axes);
/// True when both extents are the same number.
bool same_extent(const graph::ExprStore& store, graph::ExprId a, graph::ExprId b);

} // namespace tang::rewrite
