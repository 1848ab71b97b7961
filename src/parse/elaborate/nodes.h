#pragma once
// Nodes and the tensors that they define.
#include "parse/elaborate/context.h"

namespace tang::parse {

/// 0, 0.0 or false.
Term zero(graph::ExprStore& store, Scalar scalar);

/// All of `around` and `filter`, each once; none when there is nothing. What the filter reads is
/// looked at only where `around` holds, which may be what keeps the read in range.
Term conjunction(graph::ExprStore& store, const std::vector<Term>& around, Term filter);

/// Adds an intermediate for a result of `node`: its shape, the format in which it is stored between
/// nodes (reals f32, or f64 where the node reads an f64; integers i64 unless their values provably
/// fit i32) and its range.
graph::TensorId add_intermediate(Context& context, const graph::Comprehension& node,
                                 const graph::Result& result, std::string name, Span span);

} // namespace tang::parse
