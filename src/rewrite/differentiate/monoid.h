#pragma once
// What differentiation asks about a monoid, and monoids made from others.
#include "graph/graph.h"

namespace tang::rewrite {

/// How a state field joins, by the structure of its combine.
enum class FieldKind : uint8_t {
  additive, ///< a.f + b.f
  maximum,  ///< max(a.f, b.f)
  minimum,
  general
};
FieldKind kind_of(const graph::Graph& graph, graph::MonoidId monoid, uint32_t field);

/// The fields on which the combined value of `field` depends, itself included, ascending.
std::vector<uint32_t> fields_behind(const graph::Graph& graph, graph::MonoidId monoid,
                                    uint32_t field);

/// The same combine for these fields only, which depend on no others.
graph::MonoidId restricted(graph::Graph& graph, graph::MonoidId monoid,
                           const std::vector<uint32_t>& fields);
/// The monoid whose earlier part is the later one.
graph::MonoidId reversed(graph::Graph& graph, graph::MonoidId monoid);

/// The value of a state field at places.
using StateTerm = std::function<graph::ExprId(uint32_t, std::span<const graph::ExprId>)>;
/// What `field` of the joined state is at `places`, for two given states.
graph::ExprId combined(graph::Graph& graph, graph::MonoidId monoid, uint32_t field,
                       std::span<const graph::ExprId> places, const StateTerm& lhs,
                       const StateTerm& rhs, graph::IndexId& fresh);
/// The identity of `field` at `places`.
graph::ExprId identity_of(graph::Graph& graph, graph::MonoidId monoid, uint32_t field,
                          std::span<const graph::ExprId> places);

/// A fold whose indices have names of their own.
struct Fold {
  std::vector<graph::IndexId> bound;
  std::vector<graph::ExprId> extents;
  graph::ExprId filter, body;
};
Fold opened(graph::ExprStore& store, const graph::Expr& fold, graph::IndexId& fresh);
/// The fold over the points before, or behind, the one that `fold` binds.
graph::ExprId part_of_fold(graph::ExprStore& store, const Fold& fold, graph::MonoidId monoid,
                           bool before, graph::IndexId& fresh);

} // namespace tang::rewrite
