#pragma once
// One comprehension as register code (program.h).
#include "graph/pieces.h"
#include "interpret/program.h"
#include <map>
#include <span>

namespace tang::interpret {

struct CompileOptions {
  std::span<const int64_t> dims;                             ///< one value per dim of the graph
  const std::vector<std::vector<int64_t>>* shapes = nullptr; ///< of every tensor, by id
  bool emulate = false;
  bool operand_rule = true;      ///< with `emulate`
  bool round_operations = false; ///< with `emulate`
  /// With `emulate`; null: none.
  const std::map<graph::TensorId, const graph::Pieces*>* split_products = nullptr;
  graph::ElemType compute = graph::ElemType::f32; ///< emulated format of bodies and accumulators
  /// Outputs also keep their value before rounding, as tensor `id + graph.tensors.size()`.
  bool keep_unrounded = false;
};

/// Each term becomes code once: at the loop level of the innermost index that it uses when it
/// cannot fail, and otherwise in the innermost place that all its uses share, so that what a
/// filter, a guard or an untaken branch excludes is not evaluated.
Program compile(const graph::Graph& graph, const graph::Comprehension& node, Span span,
                const CompileOptions& options);

} // namespace tang::interpret
