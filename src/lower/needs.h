#pragma once
// Which terms are evaluated at one place of a kernel, how often each is used, and under which
// conditions it is needed.
#include "lower/builder.h"
#include <unordered_set>

namespace tang::lower {

/// What a path asks for: that a boolean term holds or fails, or that a term is needed, where that
/// took too many words to be said again at each of its operands.
struct Literal {
  enum class Kind : uint8_t { fails, holds, needed };
  ExprId term;
  Kind kind = Kind::holds;
  friend auto operator<=>(const Literal&, const Literal&) = default;
};
/// A path: literals that all hold where a term is needed. Sorted.
using Path = std::vector<Literal>;

/// Operands that are evaluated at the place of the term itself; a fold's body is not.
inline std::span<const ExprId> direct_operands(const graph::Expr& e) {
  std::span<const ExprId> all(e.operands);
  return e.op == graph::Op::fold ? all.subspan(2) : all;
}

/// Terms under `roots` that are evaluated here, operands first.
std::vector<ExprId> reachable_here(const graph::ExprStore& store, std::span<const ExprId> roots);

/// Under which paths each term is needed, as a disjunction of conjunctions, and how often it is
/// used. Grows with the number of uses, however branches nest.
struct Needs {
  /// `condition`, where there is one, is the path of all `roots`.
  Needs(const graph::ExprStore& expr_store, std::span<const ExprId> roots, ExprId condition);

  /// Needed whatever the branches are.
  bool always(ExprId id) const {
    auto at = paths.find(id);
    return at != paths.end() && at->second.size() == 1 && at->second[0].empty();
  }

  const graph::ExprStore& store;
  std::unordered_map<ExprId, std::vector<Path>> paths;
  std::unordered_map<ExprId, int> uses;
  std::unordered_set<ExprId> loosened; ///< reads that no longer wait for all of their conditions

private:
  void add(ExprId id, const Path& path);
  bool waits_for(const Literal& from, ExprId read) const;
  Path free_parts(const Literal& literal, ExprId read) const;
  void break_cycles(const std::vector<ExprId>& order);
};

} // namespace tang::lower
