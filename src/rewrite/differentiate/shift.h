#pragma once
// What becomes of a value when another tensor is shifted: m -> m + t, with a t for each element.
#include "graph/graph.h"

namespace tang::rewrite {

/// An exact identity of the value in t. `row` says which element's t it is: terms over the indices
/// where the value stands (of a tensor: its places 0, 1, ...).
struct Shift {
  enum class Kind : uint8_t {
    none,           ///< does not change
    zero,           ///< is 0, which any factor leaves as it is
    additive,       ///< value + degree * t
    multiplicative, ///< value * exp(degree * t)
    unknown
  };
  Kind kind = Kind::none;
  double degree = 0;
  std::vector<graph::ExprId> row;
  std::optional<bool> truth; ///< of a condition that is known for every finite m

  friend bool operator==(const Shift&, const Shift&) = default;
};

/// Shifts of tensors; those that do not change are not among them.
using Shifts = std::unordered_map<graph::TensorId, Shift>;

/// The shifts of everything that `node` defines, in the order of `defines_of`. `source` is the
/// tensor that is shifted.
std::vector<Shift> shifts_of(graph::Graph& graph, const graph::Node& node, const Shifts& shifts,
                             graph::TensorId source);

} // namespace tang::rewrite
