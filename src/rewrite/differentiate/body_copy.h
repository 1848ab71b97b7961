#pragma once
// The body of a recurrence for another one that goes through its steps again.
#include "rewrite/blocks.h"
#include "rewrite/differentiate/maker.h"

namespace tang::rewrite {

/// A tensor from outside that each step reads at one place along an axis: sign * step + offset.
struct Slice {
  graph::TensorId of;
  uint32_t axis = 0;
  int64_t sign = 1;
  graph::ExprId offset;
  graph::TensorId tensor; ///< what the copy reads instead: the slice of the step
};

class BodyCopy {
public:
  /// `now` is the term for the original's step in the copy. Reads of the tensors in `sliced` go
  /// through slices where they can.
  BodyCopy(graph::Graph& graph, Maker& maker, const graph::Recur& original, graph::ExprId now,
           const TensorSet& sliced)
      : graph_(graph), s_(graph.exprs), maker_(maker), step_(original.step),
        steps_(original.time.extent), now_(now), sliced_(sliced) {}

  /// From now on reads of one are reads of the other.
  void rename(graph::TensorId from, graph::TensorId to) { names_[from] = to; }
  graph::TensorId name(graph::TensorId id) const;
  graph::Node copy(const graph::Node& node);

  const std::vector<Slice>& slices() const { return slices_; }
  /// Nodes that cut the slices, to stand before the copies.
  std::vector<graph::Node>& cuts() { return cuts_; }

private:
  graph::Comprehension copy(graph::Comprehension c);
  graph::Recur copy(graph::Recur r);
  graph::TensorId renamed(graph::TensorId id);
  graph::ExprId term(graph::ExprId root, const graph::Prover& prover);
  std::optional<graph::ExprId> sliced_read(const graph::Expr& read, const graph::Prover& prover);
  graph::TensorId slice(graph::TensorId of, uint32_t axis, int64_t sign, graph::ExprId offset);

  graph::Graph& graph_;
  graph::ExprStore& s_;
  Maker& maker_;
  graph::TensorId step_;
  graph::ExprId steps_; ///< how many there are
  graph::ExprId now_;
  const TensorSet& sliced_;
  std::unordered_map<graph::TensorId, graph::TensorId> names_;
  std::vector<Slice> slices_;
  std::vector<graph::Node> cuts_;
};

} // namespace tang::rewrite
