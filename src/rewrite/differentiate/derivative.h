#pragma once
// The derivatives of scalar operations.
#include "graph/graph.h"

namespace tang::rewrite {

/// `adjoint` times the derivative of the term `id` by its operand `k`. For operations whose
/// operands all count at every point; choices (where, min, max, guarded reads) and folds are not
/// among them.
graph::ExprId times_derivative(graph::ExprStore& store, graph::ExprId id, size_t k,
                               graph::ExprId adjoint);

} // namespace tang::rewrite
