#pragma once
// What is known about the terms of one node before it runs: ranges of integers, affine forms of
// places, and which terms cannot fail, so that they may be computed early.
#include "graph/graph.h"
#include <map>
#include <span>

namespace tang::interpret {

using graph::ExprId;
using graph::IndexId;

/// constant + sum of factor * index + sum of factor * term, in wrapping arithmetic.
struct Affine {
  int64_t constant = 0;
  std::vector<std::pair<IndexId, int64_t>> indices; ///< ascending, no factor 0
  std::vector<std::pair<ExprId, int64_t>> terms;    ///< other integer terms, ascending
};

struct Fact {
  graph::IntRange range;      ///< of an integer or boolean term
  std::optional<Affine> form; ///< of an integer term that stays small as such
  bool safe = false;          ///< evaluating it anywhere can neither stop the run nor leave memory
  bool fits = false;          ///< an integer operation whose result fits 64 bits
  bool uses_acc = false;
};

/// One array a term can read: its extents, and the range of what it holds.
struct Readable {
  std::vector<int64_t> shape;
  graph::IntRange range;
};

/// Facts about every term under `roots`.
class Facts {
public:
  struct Context {
    const graph::Graph& graph;
    std::span<const int64_t> dims;
    /// Ranges of the indices; where one index is bound twice, of both.
    std::map<IndexId, graph::IntRange> indices;
    /// What a `read` or state term reads.
    std::function<const Readable&(const graph::Expr&)> readable;
  };
  Facts(const Context& context, std::span<const ExprId> roots);

  const Fact& operator[](ExprId id) const { return facts_.at(id); }
  /// Whether place `n` of a read is inside its extent whatever the data.
  bool place_in_range(const graph::Expr& read, size_t n, int64_t extent) const;

private:
  Fact derive(const Context& context, const graph::Expr& e, ExprId id) const;
  void derive_integer(const graph::Expr& e, Fact& fact) const;
  void derive_form(const graph::Expr& e, ExprId id, Fact& fact) const;
  bool derive_read(const Context& context, const graph::Expr& e, Fact& fact) const;
  std::unordered_map<ExprId, Fact> facts_;
};

/// a + factor * b, or empty when it has more than a handful of entries.
std::optional<Affine> combine(const Affine& a, const Affine& b, int64_t factor);

} // namespace tang::interpret
