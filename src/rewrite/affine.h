#pragma once
// Terms that are affine in one unknown, and the monoid that composes such steps.
#include "graph/graph.h"
#include <functional>
#include <optional>

namespace tang::rewrite {

/// `b` where `resets` holds, a * unknown + b elsewhere. An empty `a` or `b` is 0, an empty `resets`
/// false. The condition is no factor of 0: what the unknown holds does not pass it, not even a NaN.
struct AffineForm {
  graph::ExprId a, b, resets;
};

/// Empty where the term is not affine. Sums, differences, products and quotients with what does not
/// hold the unknown, and choices that do not ask for it, are taken apart. Linear in the size of the
/// term.
std::optional<AffineForm> affine_form(graph::ExprStore& store, graph::ExprId term,
                                      graph::ExprId unknown);

/// A step as the body of a scan; the last field is the value.
struct AffineStep {
  graph::MonoidId monoid;
  std::vector<graph::ExprId> body;
  bool from_zero = true; ///< starts from 0 where nothing came before
};

/// The smallest monoid that composes steps of this form (`a` is not empty): a sum where a is 1, a
/// product where b is 0, else both; after a reset what came before does not matter.
AffineStep affine_step(graph::Graph& graph, const AffineForm& form, graph::Scalar scalar);

/// 1 of a class of numbers.
graph::ExprId one(graph::ExprStore& store, graph::Scalar scalar);

} // namespace tang::rewrite
