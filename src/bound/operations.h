#pragma once
// Operations: what the mathematics as written costs, and what no implementation can avoid.
#include "bound/traffic.h"

namespace tang::bound {

/// Counts of the operations of some comprehensions as they are written, each term once for every
/// combination of the indices that it depends on. A product and a sum are two.
struct Operations {
  ExprId flops;   ///< real arithmetic and comparisons of reals that choose a value
  ExprId special; ///< exp, log, sqrt, sin, ...
  ExprId integer; ///< integer arithmetic on data, not on indices
  std::vector<std::string> reasons;
};
Operations operations_of(Formulas& formulas, std::span<const graph::Comprehension* const> nodes);

/// Products of a contraction that classical evaluation needs: `points` multiplications of operands
/// that hold at least `bits` bits of significand (of integers: bits).
struct Contraction {
  graph::TensorId result;
  ExprId points;
  graph::Scalar scalar = graph::Scalar::real;
  int bits = 24;            ///< of the operand that has fewer
  bool both_narrow = false; ///< integers: no operand has more than 16 bits
};

/// The contractions of a group whose result is needed in full. With `whole_graph` only those that
/// no other order of the surrounding products avoids: operands are inputs of the graph, and the
/// result is an output or goes through something that is not linear.
std::vector<Contraction> contractions_of(Formulas& formulas, const Group& group,
                                         const Traffic& traffic, bool whole_graph, bool allow_tf32);

/// Points of a box where all conditions hold, as a closed form; empty where there is none.
std::optional<ExprId> count_points(Formulas& formulas, std::span<const graph::Axis> axes,
                                   std::span<const ExprId> conditions);

} // namespace tang::bound
