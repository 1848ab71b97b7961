#pragma once
// Nodes and the tensors that they define.
#include "parse/elaborate/context.h"

namespace tang::parse {

/// 0, 0.0 or false.
Term zero(graph::ExprStore& store, Scalar scalar);

/// `filter` and all of `more`, each once; none when there is nothing.
Term conjunction(graph::ExprStore& store, Term filter, const std::vector<Term>& more);

/// Adds an intermediate for a result of `node`: its shape, the format in which it is stored between
/// nodes (reals f32, or f64 where the node reads an f64; integers i64 unless their values provably
/// fit i32) and its range.
graph::TensorId add_intermediate(Context& context, const graph::Comprehension& node,
                                 const graph::Result& result, std::string name, Span span);

} // namespace tang::parse
