#pragma once
#include "graph/reads.h"
#include "lower/terms.h"

namespace tang::lower {

using graph::moves_as_vector;

/// Sorts terms by where a walk from `roots` meets them first. Ids depend on what else the graph
/// holds, and equal layers are to become equal kernels.
void order_by_appearance(const graph::ExprStore& store, std::span<const ExprId> roots,
                         std::vector<ExprId>& terms);

/// Reads among `roots` that are needed on every path and move as vectors along `inner`.
std::vector<ExprId> vector_reads(const graph::Graph& graph, std::span<const ExprId> roots,
                                 const graph::Axis& inner, int width);

/// Copies `width` neighbours between a register tensor and a vector in memory, in the widest moves.
void copy_vector(Builder& builder, kernel::Ref dst, kernel::Ref src, graph::ElemType memory_type,
                 int width, int vector_bytes, ValueId predicate = {});

/// A map's results at `width` neighbouring points along axis `axis`, whose value in `points` counts
/// vectors.
void emit_vectors(Terms& terms, const graph::Comprehension& node, std::vector<ValueId> points,
                  size_t axis, int width, int vector_bytes);

} // namespace tang::lower
