#include "lower/matrix_results.h"
#include "lower/vectors.h"

namespace tang::lower {

using graph::Axis;
using graph::Op;
using kernel::LoopKind;
using layout::Layout;

namespace {

class Results {
public:
  Results(MatrixFrame& frame, std::vector<kernel::TensorId> sums)
      : f_(frame), sums_(std::move(sums)) {}

  void run() {
    auto& v = f_.b.values();
    auto parts = f_.product->operands[0].layout.parts();
    std::map<std::string, ValueId> lane{{"m", v.integer(0)}, {"n", v.integer(0)}};
    for (size_t i = 0; i < f_.lane_digits.size(); ++i) {
      const layout::Stride& stride = parts[0].leaves[i].stride;
      ValueId& sum = lane[stride.basis];
      sum = v.add(sum, v.mul(f_.lane_digits[i], v.integer(stride.amount.factor)));
    }
    lane_m_ = lane["m"], lane_n_ = lane["n"];
    unit_ = neighbours();
    f_.b.loop("i", f_.f.warp_m / f_.atom_m, LoopKind::unrolled,
              [&](ValueId i) { over_values(parts[1], "m", i, v.integer(0), v.integer(0)); });
  }

private:
  /// Neighbours along the columns that a thread stores at once.
  int neighbours() const {
    const layout::Mode first = f_.product->operands[0].layout.parts()[1].leaves[0];
    bool pairs = first.stride.basis == "n" && first.stride.amount.is(1);
    for (const graph::Result& result : f_.c.results) {
      const graph::Tensor& t = f_.g[result.tensor];
      pairs &= result.extra.empty() && !t.over && t.strides.empty() && !graph::is_packed(t.type) &&
               f_.b.store_prefix.empty();
    }
    bool known = f_.f.store % first.size.factor == 0;
    return pairs && known ? static_cast<int>(first.size.factor) : 1;
  }

  /// Visits the values of the accumulators along the rows, and for each those along the columns.
  void over_values(const Layout& values, const std::string& basis, ValueId tile, ValueId number,
                   ValueId place) {
    auto& v = f_.b.values();
    std::vector<std::pair<layout::Mode, int64_t>> digits;
    int64_t below = 1;
    for (const layout::Mode& mode : values.leaves) {
      if (mode.stride.basis == basis && !(basis == "n" && unit_ > 1 && below == 1))
        digits.push_back({mode, below});
      below *= mode.size.factor;
    }
    std::function<void(size_t, ValueId, ValueId)> next = [&](size_t d, ValueId n, ValueId p) {
      if (d == digits.size()) return basis == "m" ? row(values, tile, n, p) : column(tile, n, p);
      f_.b.loop(basis == "m" ? "h" : "w", digits[d].first.size.factor, LoopKind::unrolled,
                [&](ValueId digit) {
                  next(d + 1, v.add(n, v.mul(digit, v.integer(digits[d].second))),
                       v.add(p, v.mul(digit, v.integer(digits[d].first.stride.amount.factor))));
                });
    };
    next(0, number, place);
  }

  void row(const Layout& values, ValueId i, ValueId number, ValueId place) {
    auto& v = f_.b.values();
    ValueId within =
        v.add(v.add(f_.rows.warp_first, v.mul(i, v.integer(f_.atom_m))), v.add(place, lane_m_));
    ValueId m = f_.b.let("m", v.add(f_.rows.first, within));
    f_.b.when(v.less(m, f_.rows.count), [&] {
      f_.terms.scope([&] {
        f_.axes.bind_points(f_.rows.axes, m);
        f_.b.loop("j", f_.f.warp_n / f_.atom_n, LoopKind::unrolled, [&](ValueId j) {
          tile_m_ = i;
          over_values(values, "n", j, number, v.integer(0));
        });
      });
    });
  }

  void column(ValueId j, ValueId number, ValueId place) {
    auto& v = f_.b.values();
    ValueId within =
        v.add(v.add(f_.cols.warp_first, v.mul(j, v.integer(f_.atom_n))), v.add(place, lane_n_));
    ValueId n = f_.b.let("n", f_.divided(v.add(f_.cols.first, within), unit_));
    ValueId count = unit_ == 1 ? f_.cols.count : f_.axes.groups_of_points(f_.cols.axes, unit_);
    f_.b.when(v.less(n, count), [&] {
      f_.terms.scope([&] {
        f_.axes.bind_points(f_.cols.axes, n, unit_);
        results(j, number);
      });
    });
  }

  void results(ValueId j, ValueId number) {
    auto& v = f_.b.values();
    auto state = [&](ValueId value) {
      return [this, j, value](Op, uint32_t field, const std::vector<ValueId>&) {
        return f_.b.element(sums_[field], {tile_m_, j, value});
      };
    };
    if (unit_ == 1) {
      auto outer = f_.terms.exchange_state(state(number));
      for (const graph::Result& result : f_.c.results)
        store_result(f_.terms, result, f_.axes.points(), {});
      f_.terms.exchange_state(std::move(outer));
      return;
    }
    const Axis& last = f_.c.points[f_.cols.axes.back()];
    std::vector<ValueId> points = f_.axes.points();
    ValueId first = points.back();
    std::vector<kernel::TensorId> out;
    for (const graph::Result& result : f_.c.results) {
      const graph::Tensor& t = f_.g[result.tensor];
      out.push_back(f_.b.registers(t.name + "_o", register_type(t.type), {unit_}));
    }
    f_.b.loop("e", unit_, LoopKind::unrolled, [&](ValueId e) {
      f_.terms.scope([&] {
        f_.terms.bind(last, v.add(first, e));
        auto outer = f_.terms.exchange_state(state(v.add(number, e)));
        for (size_t i = 0; i < out.size(); ++i)
          f_.b.store({out[i], {e}}, f_.b.narrowed(f_.g[f_.c.results[i].tensor].type,
                                                  f_.terms.lower(f_.c.results[i].value)));
        f_.terms.exchange_state(std::move(outer));
      });
    });
    for (size_t i = 0; i < out.size(); ++i)
      copy_vector(f_.b, {f_.b.param(f_.c.results[i].tensor, true), points},
                  {out[i], {v.integer(0)}}, f_.g[f_.c.results[i].tensor].type, unit_,
                  f_.e.machine.vector_bytes);
  }

  MatrixFrame& f_;
  std::vector<kernel::TensorId> sums_;
  ValueId lane_m_, lane_n_, tile_m_;
  int unit_ = 1; ///< columns that are stored together
};

} // namespace

void emit_matrix_results(MatrixFrame& frame, std::vector<kernel::TensorId> sums) {
  Results(frame, std::move(sums)).run();
}

} // namespace tang::lower
