#pragma once
// The emitters: each builds one kernel from the shape of its nodes and the plan's fields.
#include "lower/accumulate.h"
#include "lower/builder.h"
#include "plan/plan.h"

namespace tang::lower {

/// What emitters must know of a target's hierarchy.
struct Machine {
  bool hardware_grid = true; ///< false: one thread per block, blocks are loops
  bool warp_shuffle = true;
  int vector_bytes = 16;  ///< widest single move
  atomics::Target target; ///< whose instructions there are
};

/// The nodes of one kernel with their variant's fields.
struct Emission {
  const graph::Graph& graph;
  std::string name;
  std::vector<const graph::Node*> nodes;
  const plan::Fields& fields;
  const Machine& machine;
  /// Recurrence steps in scope, with the largest value of each.
  std::vector<std::pair<graph::TensorId, int64_t>> steps;
  /// Tensors that only these nodes read: they need no memory (row).
  std::vector<graph::TensorId> internal;
  /// Results go behind this recurrence step: tensor[step, points...].
  graph::TensorId prefix_step;
};

/// The instruction that carries out a leaf, null where there is none. The kernel remembers the
/// question.
const atomics::Row* ask(Builder& b, const Machine& machine, atomics::Leaf leaf);

/// Any comprehension: one thread per point (or vector of points), reductions inside the thread.
Built emit_point(const Emission& e);
/// Nodes over common rows.
Built emit_row(const Emission& e);
/// A contraction in tiles: one chunk after the other is staged and combined.
Built emit_tile(const Emission& e);
/// The same with chunks under way while others are combined (fields.pipeline).
Built emit_ring_tile(const Emission& e);
/// A sum of products in tiles on matrix units (fields.precision).
Built emit_matrix_tile(const Emission& e);

/// A reduction along one long axis that multiplies matrices on the way, on matrix units.
Built emit_stream(const Emission& e);

/// The format in which the nodes' real numbers compute: f64 where they touch an f64 tensor.
Type compute_type(const graph::Graph& graph, const std::vector<const graph::Node*>& nodes);

/// Writes one result at the points bound in `terms`, in loops over its extra axes. For an output
/// stored over an input, points that keep their value are not written.
void store_result(Terms& terms, const graph::Result& result, std::span<const ValueId> points,
                  ValueId predicate);

/// A bound of an axis, no further than `limit` in the sense of `op` (max for lower bounds, min for
/// upper ones); where data says it, it is in 0 .. `extent`.
ValueId clamped(Terms& terms, graph::Op op, ValueId limit, ExprId bound, ValueId extent);

/// Loops over reduce axes (with their bounds) around `inside`; the axes' indices are bound there.
void reduce_loops(Terms& terms, std::span<const graph::Axis> axes,
                  const std::function<void()>& inside);

} // namespace tang::lower
