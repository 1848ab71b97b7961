#pragma once
// A term as a product of factors under conditions: what the laws of sums look at.
#include "graph/graph.h"
#include <functional>

namespace tang::rewrite {

/// value = Π over / Π under where every condition holds, 0 elsewhere.
struct Factors {
  std::vector<graph::ExprId> over, under;
  std::vector<graph::ExprId> conditions;
};

/// What stands for a read, or the read itself.
using Expand = std::function<graph::ExprId(graph::ExprId read)>;

/// Products, quotients, small powers, negation and `where(c, x, 0)` are taken apart; `expand` may
/// put the body of a map in the place of a read, which is then taken apart as well. Every other
/// term is a factor.
Factors factors_of(graph::ExprStore& store, graph::ExprId term, const Expand& expand = {});

/// The term with bodies put in the place of reads, also of those that the bodies read, until
/// nothing more is put in; at most 16 deep.
graph::ExprId unfolded(graph::ExprStore& store, graph::ExprId term, const Expand& expand);

/// Π over / Π under, without the conditions; 1 for none.
graph::ExprId build(graph::ExprStore& store, const std::vector<graph::ExprId>& over,
                    const std::vector<graph::ExprId>& under);

/// The conjuncts of a condition, from left to right; none for an empty id.
std::vector<graph::ExprId> conjuncts(const graph::ExprStore& store, graph::ExprId condition);

} // namespace tang::rewrite
