#pragma once
// What rows alone decide in the terms of a streamed reduction: computed once, before the first
// step.
#include "graph/streaming.h"
#include "lower/stream/lanes.h"
#include "lower/tile_axes.h"

namespace tang::lower {

class RowTerms {
public:
  /// `stream`: the streamed axis's index; `rows`: the row axes, `count` rows in all.
  RowTerms(Terms& terms, TileAxes& axes, const StreamLanes& lanes, graph::IndexId stream,
           const std::vector<size_t>& rows, ValueId count);

  bool is_of_row(ExprId id) const;
  /// Finds the largest subterms of a term that rows alone decide, and the divisors that they are.
  void find(ExprId root);
  /// The quotient of these factors and divisors of which rows alone decide, in one register a row;
  /// empty where there is none. The others stay in the lists.
  kernel::TensorId product(std::vector<ExprId>& factors, std::vector<ExprId>& divisors);
  /// Computes all of them.
  void load();

  /// The value of a term that was found.
  std::optional<ValueId> value(ExprId id, const StreamLanes::Row& row) const;
  /// Makes quotients by the divisors of this row products with their reciprocals, to the end of
  /// the scope of terms.
  void use_reciprocals(const StreamLanes::Row& row) const;

private:
  struct Term {
    ExprId term;
    kernel::TensorId value, scale, reciprocal; ///< of a divisor: term * scale * reciprocal = 1
  };
  struct Product {
    std::vector<ExprId> factors, divisors;
    kernel::TensorId value;
  };
  void add(ExprId id, bool divides);
  void compute(const Term& term, const StreamLanes::Row& row);
  ValueId compute(const Product& product);

  Terms& terms_;
  Builder& b_;
  TileAxes& axes_;
  const StreamLanes& lanes_;
  graph::IndexId stream_;
  const std::vector<size_t>& rows_;
  ValueId count_;
  std::vector<Term> found_;
  std::vector<Product> products_;
  std::vector<ExprId> seen_;
};

} // namespace tang::lower
