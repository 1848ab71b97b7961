#pragma once
// What a derivative flows through: terms and tensors that depend on certain tensors by real
// operations. Integers, truth values and steps (floor, round, sign) end the flow.
#include "graph/graph.h"
#include <unordered_set>

namespace tang::graph {

/// Whether a derivative reaches a leaf (read, acc, lhs, rhs) that `leaf` names from a term.
class Activity {
public:
  Activity(const ExprStore& store, std::function<bool(ExprId)> leaf)
      : store_(store), leaf_(std::move(leaf)) {}

  bool operator()(ExprId id);
  /// From now on a constant, and with it what only depends on it.
  void freeze(ExprId id) { known_[id] = false; }
  /// False for the operands through which none flows, whatever they hold: conditions, places.
  static bool flows(const ExprStore& store, const Expr& e, size_t operand);

private:
  const ExprStore& store_;
  std::function<bool(ExprId)> leaf_;
  std::unordered_map<ExprId, bool> known_;
};

/// The state fields of a reduction or scan that depend on what `in_bodies` names: by their bodies,
/// or by the states that they join.
std::vector<char> active_fields(const Graph& graph, const Reduction& reduction,
                                Activity& in_bodies);

/// Adds the tensors of `node` that depend on `active`.
void add_active(const Graph& graph, const Node& node, std::unordered_set<TensorId>& active);

} // namespace tang::graph
