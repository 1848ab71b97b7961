#include "lower/matrix_unit.h"
#include "base/check.h"
#include "lower/fragments.h"
#include <algorithm>

namespace tang::lower {

using graph::Op;
using layout::Layout;
using layout::Mode;

namespace {

/// The coordinate along an axis of a number of a flat list of modes.
int64_t along(const Layout& modes, const std::string& axis, int64_t number) {
  int64_t place = 0;
  for (const Mode& mode : modes.leaves) {
    if (mode.stride.basis == axis) place += number % mode.size.factor * mode.stride.amount.factor;
    number /= mode.size.factor;
  }
  return place;
}

} // namespace

MatrixUnit::MatrixUnit(Builder& builder, const Machine& machine, graph::ElemType format)
    : b_(builder), machine_(machine), format_(format),
      product_(ask(builder, machine, atomics::Product{graph::ElemType::f32, format, format})) {
  TANG_CHECK(product_, "no product of {}", graph::info(format).name);
  const auto& d = product_->operands[0];
  const auto& a = product_->operands[1];
  atom_m = extent_along(d.layout, "m"), atom_n = extent_along(d.layout, "n");
  atom_k = extent_along(a.layout, "k");
  d_values = d.values, a_values = a.values;
}

ValueId MatrixUnit::add_threads(int warps) {
  auto& v = b_.values();
  // The lane's digits are those of the accumulators, which every point has one of.
  const Layout places = product_->operands[0].layout.parts()[0];
  Lanes lanes = add_lanes(b_, places);
  lane_m = lane_n = v.integer(0);
  for (size_t i = 0; i < lanes.digits.size(); ++i) {
    const layout::Stride& stride = places.leaves[i].stride;
    ValueId& place = stride.basis == "m" ? lane_m : lane_n;
    place = v.add(place, v.mul(lanes.digits[i], v.integer(stride.amount.factor)));
    if (stride.basis == "n")
      first_of_row_ = v.both(first_of_row_, v.binary(Op::eq, lanes.digits[i], v.integer(0)));
  }
  warp = thread_mode(b_, "warp", warps);
  lane = b_.let("lane", lanes.number);
  thread = b_.let("thread", v.add(lane, v.mul(warp, v.integer(lanes.count))));
  lane_count = lanes.count, thread_count = lane_count * warps;
  return warp;
}

MatrixUnit::Digit MatrixUnit::digit(const std::string& basis) const {
  const Layout values = product_->operands[0].layout.parts()[1];
  Digit out;
  int64_t below = 1;
  int found = 0;
  for (const Mode& mode : values.leaves) {
    if (mode.stride.basis == basis) {
      out = {static_cast<int>(mode.size.factor), static_cast<int>(below),
             static_cast<int>(mode.stride.amount.factor)};
      ++found;
    }
    below *= mode.size.factor;
  }
  TANG_CHECK(found <= 1, "accumulators of {} lie in {} digits along {}", product_->name, found,
             basis);
  return out;
}

bool MatrixUnit::chains() const {
  const Layout &d = product_->operands[0].layout, &a = product_->operands[1].layout;
  auto dp = d.parts(), ap = a.parts();
  if (a_values % d_values) return false;
  int64_t lanes = product_->operands[0].threads;
  for (int64_t number = 0; number < lanes; ++number)
    for (int value = 0; value < a_values; ++value) {
      int atom = value / d_values, within = value % d_values;
      int64_t m = along(dp[0], "m", number) + along(dp[1], "m", within);
      int64_t n = along(dp[0], "n", number) + along(dp[1], "n", within) + int64_t{atom} * atom_n;
      if (along(ap[0], "m", number) + along(ap[1], "m", value) != m ||
          along(ap[0], "k", number) + along(ap[1], "k", value) != n)
        return false;
    }
  return true;
}

std::vector<int> MatrixUnit::column_masks() const {
  std::vector<int> masks;
  int64_t below = 1;
  const Layout lanes = product_->operands[0].layout.parts()[0];
  for (const Mode& mode : lanes.leaves) {
    if (mode.stride.basis == "n")
      for (int64_t bit = 1; bit < mode.size.factor; bit *= 2)
        masks.push_back(static_cast<int>(below * bit));
    below *= mode.size.factor;
  }
  return masks;
}

MatrixUnit::Source MatrixUnit::source(const std::string& side, const std::string& contiguous,
                                      int most) const {
  const atomics::Operand& operand = product_->operands[side == "m" ? 1 : 2];
  for (int group : {4, 2, 1}) {
    if (most % group) continue;
    atomics::FragmentShape shape{format_, repeated(operand.layout, group, side), contiguous};
    auto load = atomics::find_fragment_load(machine_.target, shape);
    if (!load) continue;
    ask(b_, machine_, std::move(shape));
    return {*load, group, operand.values};
  }
  TANG_CHECK(false, "nothing loads fragments along {} of {}", side, product_->name);
  return {};
}

void MatrixUnit::load(const Source& source, const std::string& side, kernel::Ref into,
                      const std::function<kernel::Ref(ValueId point, ValueId term)>& place) {
  auto at = lane_coordinates(b_, lane, source.load.lanes);
  b_.emit({kernel::Atom{source.load.row, {std::move(into), place(at[side], at["k"])}, {}, {}}});
}

void MatrixUnit::multiply(kernel::Ref d, kernel::Ref a, kernel::Ref b) {
  b_.emit({kernel::Atom{product_, {std::move(d), std::move(a), std::move(b)}, {}, {}}});
}

} // namespace tang::lower
