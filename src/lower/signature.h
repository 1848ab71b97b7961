#pragma once
// What an emitter sees of its nodes, apart from which tensors they are: layers of a model that
// differ only in their tensors have one signature, are emitted once and share the kernel.
#include "lower/builder.h"

namespace tang::lower {

struct Signature {
  std::string text;
  std::vector<TensorSource> tensors; ///< what the text numbers, in order of first appearance
};

/// Of nodes that one kernel computes. `internal` are the tensors that need no memory.
Signature signature_of(const graph::Graph& graph, const std::vector<const graph::Node*>& nodes,
                       const std::vector<graph::TensorId>& internal);

/// The parameter that a read's memory is: constant leading places of an input (a layer of stacked
/// weights) belong to the binding.
TensorSource source_of(const graph::Graph& graph, const graph::Expr& read);

} // namespace tang::lower
