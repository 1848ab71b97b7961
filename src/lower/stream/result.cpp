#include "lower/stream/result.h"
#include "lower/vectors.h"
#include <algorithm>

namespace tang::lower {

using kernel::LoopKind;

StreamResult::StreamResult(const Emission& e, Terms& terms, const MatrixUnit& unit,
                           const graph::Result& result)
    : e_(e), terms_(terms), b_(terms.builder()), unit_(unit), result_(result),
      t_(e.graph[result.tensor]),
      extent_(static_cast<int>(*e.graph.exprs.as_integer(result.extra[0].extent))) {}

int StreamResult::together() const {
  MatrixUnit::Digit columns = unit_.columns();
  bool neighbours = columns.place == 1 && columns.value == 1 && extent_ % columns.count == 0;
  return neighbours && t_.strides.empty() && b_.store_prefix.empty() ? columns.count : 1;
}

void StreamResult::over_columns(
    ValueId first, int part, ValueId row_digit,
    const std::function<void(ValueId tile, ValueId value, ValueId column)>& select,
    const std::vector<ValueId>& points) {
  auto& v = b_.values();
  MatrixUnit::Digit columns = unit_.columns();
  int unit = together(), reach = part ? std::min(extent_, part) : extent_;
  bool whole = extent_ % unit_.atom_n == 0 && (!part || extent_ % part == 0);
  int tiles = (reach + unit_.atom_n - 1) / unit_.atom_n;
  ValueId of_row = v.mul(row_digit, v.integer(unit_.rows().value));
  b_.loop("j", tiles, LoopKind::unrolled, [&](ValueId j) {
    b_.loop("w", columns.count / unit, LoopKind::unrolled, [&](ValueId w) {
      ValueId within = v.add(v.add(v.mul(j, v.integer(unit_.atom_n)), unit_.lane_n),
                             v.mul(w, v.integer(columns.place)));
      ValueId column = b_.let("column", v.add(first, within));
      ValueId value = v.add(of_row, v.mul(w, v.integer(columns.value)));
      kernel::TensorId out = b_.registers(t_.name + "_o", register_type(t_.type), {unit});
      b_.loop("e", unit, LoopKind::unrolled, [&](ValueId e) {
        terms_.scope([&] {
          select(j, v.add(value, e), v.add(column, e));
          terms_.bind(result_.extra[0], v.add(column, e));
          b_.store({out, {e}}, b_.narrowed(t_.type, terms_.lower(result_.value)));
        });
      });
      std::vector<ValueId> places = b_.store_prefix;
      places.insert(places.end(), points.begin(), points.end());
      places.push_back(column);
      copy_vector(b_, {b_.param(result_.tensor, true), places}, {out, {v.integer(0)}}, t_.type,
                  unit, e_.machine.vector_bytes,
                  whole ? ValueId() : v.less(column, v.integer(extent_)));
    });
  });
}

} // namespace tang::lower
