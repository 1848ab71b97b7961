#pragma once
// How terms are spelled in `.tg`; used by text.cpp, and by what spells terms of many nodes.
#include "graph/graph.h"
#include <map>
#include <set>
#include <string>

namespace tang::graph {

/// The spelling of everything a term can name: unique and legal in one scope.
struct Names {
  explicit Names(const Graph& graph);
  /// `wish`, or `wish_1`, `wish_2`, ...: the first that is legal and free. It is taken from now on.
  std::string unique(std::string_view wish);
  /// The same without taking it: for names that live in one equation.
  std::string unused(std::string_view wish, const std::set<std::string>& also) const;

  /// Where `rewind` comes back to: it frees what was taken since.
  size_t mark() const { return order_.size(); }
  void rewind(size_t mark);

  std::vector<std::string> dims, tensors, monoids;
  std::set<std::string> taken;

private:
  struct Taken {
    std::string name, base;
    int next; ///< of its base before it was taken
  };
  /// `base`, or the first `base_n` from `n` on that is free; `n` is left behind it.
  std::string unused(const std::string& base, int& n, const std::set<std::string>& also) const;
  std::map<std::string, int> next_; ///< by base: those before it are taken
  std::vector<Taken> order_;
};

/// Precedence, loosest first (language.md 4). A prefix reduction takes the whole product behind it,
/// so it stands between sums and products.
enum class Level : uint8_t {
  any,
  conjunction,
  negation,
  comparison,
  sum,
  fold,
  product,
  unary,
  primary
};

/// Writes terms as text. Recursion is bounded: below `max_depth` levels a term prints as `...`, so
/// a caller that must print everything names deep terms first (`replaced`).
class TermPrinter {
public:
  static constexpr int max_depth = 100;

  TermPrinter(const Graph& graph, const Names& names) : graph_(graph), names_(names) {}

  std::unordered_map<IndexId, std::string> indices;
  std::unordered_map<ExprId, std::string> replaced; ///< terms that have a name; read like a tensor
  std::vector<std::string> states;                  ///< what `acc` of each field is called
  std::string state_points;                         ///< places in front of an `acc`'s own
  std::set<ExprId> guarded;       ///< reads that get `else 0` though the graph knows better
  const Monoid* monoid = nullptr; ///< whose fields `lhs` and `rhs` name

  std::string print(ExprId id, Level level = Level::any) { return print(id, level, 0); }
  std::string real(double value, Level level) const;

private:
  std::string print(ExprId id, Level level, int depth);
  std::string list(std::span<const ExprId> ids, int depth);
  std::string operand(ExprId id, ExprId sibling, Level level, int depth);
  std::string infix(const Expr& e, Level own, Level level, int depth);
  std::string read(ExprId id, Level level, int depth);
  std::string state(const Expr& e, int depth);
  std::string fold(const Expr& e, Level level, int depth);
  const std::string& index(IndexId id);

  const Graph& graph_;
  const Names& names_;
};

/// `sum[k: K where c]` up to its operand; binders are complete texts such as `k: K`.
std::string reduction_head(std::string_view name, const std::vector<std::string>& binders,
                           const std::string& filter);
/// The built-in reductions take the product behind them; others a list in parentheses.
bool is_prefix_reduction(const Monoid& monoid);

} // namespace tang::graph
