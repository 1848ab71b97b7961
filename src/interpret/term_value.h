#pragma once
// The value of one term, computed directly: slower than register code, for single evaluations.
#include "graph/graph.h"
#include "interpret/program.h"
#include <functional>
#include <map>
#include <span>

namespace tang::interpret {

struct TermContext {
  const graph::Graph& graph;
  std::span<const int64_t> dims;
  std::map<graph::IndexId, int64_t> indices;
  /// The value of a `read`, `acc`, `lhs` or `rhs` term at its places. Empty: outside.
  std::function<std::optional<Word>(const graph::Expr&, std::span<const int64_t> places)> read;
};

/// Empty where an integer overflows or `read` has no value on the way to the result. What a select,
/// `and` or `or` does not ask for may be empty.
std::optional<Word> term_value(const TermContext& context, graph::ExprId root);

} // namespace tang::interpret
