#pragma once
#include "graph/prover.h"

namespace tang::rewrite {

/// The canonical form of an integer term with the divisions that the axes decide carried out:
///   floordiv(c*q + r, c) = q  and  mod(c*q + r, c) = r   where 0 <= r < c,
///   c*floordiv(p, c) + mod(p, c) = p.
/// So a reshape that splits what another merges leaves nothing behind.
graph::ExprId simplify_index(graph::ExprStore& store, const graph::Prover& prover,
                             graph::ExprId id);

} // namespace tang::rewrite
