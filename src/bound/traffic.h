#pragma once
// Compulsory traffic of a group of comprehensions that run as one: what comes from outside is read
// once at least, what leaves it is written once.
#include "bound/image.h"
#include <map>

namespace tang::bound {

/// A part of a graph that runs as one kernel (or all of it, for the floor of the whole graph).
struct Group {
  std::vector<const graph::Comprehension*> nodes; ///< in order
  std::vector<graph::TensorId> leaving;           ///< defined here and read elsewhere, or outputs
  std::vector<const graph::Recur*> around; ///< recurrences that it stands in: it runs in one step
};

struct TensorTraffic {
  graph::TensorId tensor;
  bool written = false;
  ExprId elements; ///< at least
  ExprId bytes;
};

/// A result that is needed in full wherever all of `factors` are 1.
struct Needed {
  std::vector<ExprId> factors;
};

struct Traffic {
  std::vector<TensorTraffic> tensors; ///< reads by tensor, then writes by tensor
  ExprId read_bytes, written_bytes;
  std::map<graph::TensorId, Needed> needed; ///< tensors of the group whose every element is needed
  std::vector<std::string> reasons;         ///< why the bound is lower than it might be
};
Traffic compulsory(Formulas& formulas, const Group& group);
/// The same for a whole graph, with its recurrences.
Traffic compulsory(Formulas& formulas);

/// Bytes that move when every comprehension runs alone: each reads its inputs and writes its
/// results whole, once. Recurrences count once per step.
ExprId unfused_bytes(Formulas& formulas);

/// Elements of a tensor.
ExprId elements_of(Formulas& formulas, graph::TensorId tensor);

} // namespace tang::bound
