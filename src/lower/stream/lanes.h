#pragma once
// Rows and columns of a warp's tile as one thread sees them: the accumulators that it holds.
#include "lower/matrix_unit.h"
#include "lower/terms.h"

namespace tang::lower {

class StreamLanes {
public:
  /// `first`: the warp's first row; a warp has `row_tiles` times the rows of an instruction.
  StreamLanes(Terms& terms, const MatrixUnit& unit, ValueId first, int row_tiles)
      : terms_(terms), b_(terms.builder()), unit_(unit), first_(first), row_tiles_(row_tiles) {}

  /// A row of a thread: tile of the warp and place within it.
  struct Row {
    ValueId tile, digit;
  };
  int row_tiles() const { return row_tiles_; }
  /// The row's number among all rows.
  ValueId number(const Row& row) const {
    auto& v = b_.values();
    ValueId within = v.add(v.mul(row.tile, v.integer(unit_.atom_m)),
                           v.mul(row.digit, v.integer(unit_.rows().place)));
    return v.add(first_, v.add(within, unit_.lane_m));
  }

  template <class F>
  void over_rows(F&& inside) const {
    b_.loop("i", row_tiles_, kernel::LoopKind::unrolled, [&](ValueId i) {
      b_.loop("h", unit_.rows().count, kernel::LoopKind::unrolled, [&](ValueId h) {
        terms_.scope([&] { inside(Row{i, h}); });
      });
    });
  }
  /// Visits the thread's accumulators of a row: tile along the columns, value within, column.
  template <class F>
  void over_columns(const Row& row, int tiles, F&& inside) const {
    auto& v = b_.values();
    MatrixUnit::Digit rows = unit_.rows(), columns = unit_.columns();
    b_.loop("j", tiles, kernel::LoopKind::unrolled, [&](ValueId j) {
      b_.loop("w", columns.count, kernel::LoopKind::unrolled, [&](ValueId w) {
        ValueId value =
            v.add(v.mul(row.digit, v.integer(rows.value)), v.mul(w, v.integer(columns.value)));
        ValueId column = v.add(v.add(v.mul(j, v.integer(unit_.atom_n)), unit_.lane_n),
                               v.mul(w, v.integer(columns.place)));
        terms_.scope([&] { inside(j, value, column); });
      });
    });
  }
  /// Visits all accumulators of the thread with the columns outermost: row, tile along the columns,
  /// value within, column.
  template <class F>
  void over_elements(int tiles, F&& inside) const {
    auto& v = b_.values();
    MatrixUnit::Digit rows = unit_.rows(), columns = unit_.columns();
    b_.loop("j", tiles, kernel::LoopKind::unrolled, [&](ValueId j) {
      b_.loop("w", columns.count, kernel::LoopKind::unrolled, [&](ValueId w) {
        ValueId column = v.add(v.add(v.mul(j, v.integer(unit_.atom_n)), unit_.lane_n),
                               v.mul(w, v.integer(columns.place)));
        over_rows([&](const Row& row) {
          ValueId value =
              v.add(v.mul(row.digit, v.integer(rows.value)), v.mul(w, v.integer(columns.value)));
          inside(row, j, value, column);
        });
      });
    });
  }
  template <class F>
  void over_tiles(int tiles, F&& inside) const {
    b_.loop("i", row_tiles_, kernel::LoopKind::unrolled, [&](ValueId i) {
      b_.loop("j", tiles, kernel::LoopKind::unrolled, [&](ValueId j) { inside(i, j); });
    });
  }

  // Registers: one value a row, or the accumulators of `tiles` tiles along the columns.
  kernel::TensorId per_row(const std::string& name, Type type = Type::f32) const {
    return b_.registers(name, type, {row_tiles_, unit_.rows().count});
  }
  kernel::TensorId per_element(const std::string& name, int tiles) const {
    return b_.registers(name, Type::f32, {row_tiles_, tiles, unit_.d_values});
  }
  ValueId at(kernel::TensorId tensor, const Row& row) const {
    return b_.element(tensor, {row.tile, row.digit});
  }
  void set(kernel::TensorId tensor, const Row& row, ValueId value) const {
    b_.store({tensor, {row.tile, row.digit}}, value);
  }
  void clear(kernel::TensorId tensor, int tiles) const {
    over_tiles(tiles, [&](ValueId i, ValueId j) {
      b_.loop("e", unit_.d_values, kernel::LoopKind::unrolled, [&](ValueId e) {
        b_.store({tensor, {i, j, e}}, b_.values().real(0, Type::f32));
      });
    });
  }
  /// Combines a row's value with those of the other lanes that share the row.
  template <class F>
  void across(kernel::TensorId tensor, const Row& row, F&& combine) const {
    auto& v = b_.values();
    for (int mask : unit_.column_masks()) {
      VarId other = v.add_var({"other", v[at(tensor, row)].type, {}, {}});
      b_.emit({kernel::Shfl{other, at(tensor, row), mask}});
      set(tensor, row, combine(at(tensor, row), v.variable(other)));
    }
  }

private:
  Terms& terms_;
  Builder& b_;
  const MatrixUnit& unit_;
  ValueId first_;
  int row_tiles_;
};

} // namespace tang::lower
