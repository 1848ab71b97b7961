#pragma once
// A result over the columns of an amount, stored from the accumulators that a thread holds of one
// row.
#include "lower/emit.h"
#include "lower/matrix_unit.h"

namespace tang::lower {

class StreamResult {
public:
  StreamResult(const Emission& e, Terms& terms, const MatrixUnit& unit,
               const graph::Result& result);

  /// Stores the columns of a row at `points`; `select` is told the accumulator that each value is
  /// about: tile along the columns, value within, column. Columns begin at `first`, and are `part`
  /// at most (0 = all).
  void over_columns(ValueId first, int part, ValueId row_digit,
                    const std::function<void(ValueId tile, ValueId value, ValueId column)>& select,
                    const std::vector<ValueId>& points);

private:
  int together() const; ///< neighbours that one store takes

  const Emission& e_;
  Terms& terms_;
  Builder& b_;
  const MatrixUnit& unit_;
  const graph::Result& result_;
  const graph::Tensor& t_;
  int extent_;
};

} // namespace tang::lower
