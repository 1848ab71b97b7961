#pragma once
// Integer formulas over the dims of one graph: how bounds are counted before dims have values.
#include "graph/prover.h"
#include <map>
#include <memory>

namespace tang::graph {
struct Names;
}

namespace tang::bound {

using graph::ExprId;

/// The value of an integer term over dims, exact; empty where it leaves 64 bits or is no such term.
std::optional<int64_t> value_of(const graph::ExprStore& store, ExprId id,
                                std::span<const int64_t> dims);

/// Builds formulas in a copy of a graph's terms, in canonical form: equal polynomials are equal
/// ids.
class Formulas {
public:
  explicit Formulas(const graph::Graph& graph);
  ~Formulas();
  Formulas(const Formulas&) = delete;
  Formulas& operator=(const Formulas&) = delete;

  const graph::Graph& graph() const { return graph_; }
  graph::ExprStore& store() { return graph_.exprs; }
  const graph::ExprStore& store() const { return graph_.exprs; }

  ExprId number(int64_t value) { return store().integer(value); }
  ExprId sum(ExprId a, ExprId b);
  ExprId difference(ExprId a, ExprId b);
  ExprId product(ExprId a, ExprId b);
  ExprId quotient(ExprId a, int64_t divisor);      ///< rounded down
  ExprId ceil_quotient(ExprId a, int64_t divisor); ///< rounded up
  ExprId least(ExprId a, ExprId b);
  ExprId most(ExprId a, ExprId b);
  ExprId positive(ExprId a) { return most(a, number(0)); }
  /// 1 where a >= 1, else 0.
  ExprId at_least_one(ExprId a) { return least(positive(a), number(1)); }
  /// Proved for all values of the dims.
  bool proves_less_equal(ExprId a, ExprId b);
  /// The product of extents, each counted as 0 where it is negative.
  ExprId volume(std::span<const ExprId> extents);
  /// Bytes of `elements` elements; packed ones share a byte.
  ExprId bytes(graph::ElemType type, ExprId elements);

  /// `2*M*K + 4*N`
  std::string text(ExprId id) const;
  std::optional<int64_t> value(ExprId id, std::span<const int64_t> dims) const {
    return value_of(store(), id, dims);
  }

private:
  ExprId canonical_binary(graph::Op op, ExprId a, ExprId b);

  struct Key {
    graph::Op op;
    ExprId a, b;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  graph::Graph graph_;
  graph::Prover dims_;
  std::map<Key, ExprId> known_; ///< canonical forms
  std::map<Key, bool> proved_;
  std::unique_ptr<const graph::Names> names_; ///< what dims are called
};

} // namespace tang::bound
