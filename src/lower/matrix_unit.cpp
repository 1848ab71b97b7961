#include "lower/matrix_unit.h"
#include "base/check.h"
#include "lower/fragments.h"
#include <algorithm>

namespace tang::lower {

using graph::ElemType;
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
      product_(ask(builder, machine,
                   atomics::Product{ElemType::f32, format, format, format == ElemType::f32})) {
  TANG_CHECK(product_, "no product of {}", graph::info(format).name);
  const auto& d = product_->operands[0];
  const auto& a = product_->operands[1];
  atom_m = extent_along(d.layout, "m"), atom_n = extent_along(d.layout, "n");
  atom_k = extent_along(a.layout, "k");
  d_values = d.values, a_values = a.values;
  if (format == ElemType::f32) {
    round_ = ask(builder, machine, atomics::Rounding{atomics::Rounds::nearest});
    TANG_CHECK(round_, "nothing rounds factors of {}", product_->name);
  }
  chain_ = find_chain();
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

MatrixUnit::Chain MatrixUnit::find_chain() const {
  auto d = product_->operands[0].layout.parts(), a = product_->operands[1].layout.parts();
  int lanes = static_cast<int>(product_->operands[0].threads);
  Chain chain{{}, std::vector<int>(static_cast<size_t>(atom_k), -1)};
  // Whether an accumulator is in every lane what the value of A is, with the terms known so far.
  auto is_value = [&](int accumulator, int value) {
    std::vector<int> columns = chain.columns;
    int atom = accumulator / d_values, within = accumulator % d_values;
    for (int lane = 0; lane < lanes; ++lane) {
      int64_t column = int64_t{atom} * atom_n + along(d[0], "n", lane) + along(d[1], "n", within);
      int& known = columns[static_cast<size_t>(along(a[0], "k", lane) + along(a[1], "k", value))];
      if (known < 0) known = static_cast<int>(column);
      if (known != column || along(d[0], "m", lane) + along(d[1], "m", within) !=
                                 along(a[0], "m", lane) + along(a[1], "m", value))
        return false;
    }
    chain.columns = columns;
    return true;
  };
  bool packed = graph::info(format_).bits < 32; // converted in pairs: they stay in order
  for (int value = 0; value < a_values; ++value)
    for (int x = packed ? value : 0; x < (packed ? value + 1 : a_values); ++x) {
      auto end = chain.values.end();
      if (std::find(chain.values.begin(), end, x) != end || !is_value(x, value)) continue;
      chain.values.push_back(x);
      break;
    }
  bool whole = a_values % d_values == 0 && static_cast<int>(chain.values.size()) == a_values;
  TANG_CHECK(whole, "accumulators of {} are no factors", product_->name);
  return chain;
}

void MatrixUnit::become_factor(kernel::Ref fragment, kernel::Ref accumulators) {
  if (!round_)
    return b_.emit({kernel::Copy{std::move(fragment), std::move(accumulators), a_values, {}}});
  for (int value = 0; value < a_values; ++value)
    b_.emit({kernel::Atom{
        round_,
        {behind(fragment, value), behind(accumulators, chain_.values[static_cast<size_t>(value)])},
        {},
        {}}});
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
  return source_of(product_->operands[side == "m" ? 1 : 2].layout, side, contiguous, most);
}

MatrixUnit::Source MatrixUnit::chained_source(const std::string& contiguous, int most) const {
  const Layout& terms = product_->operands[2].layout;
  Layout columns = terms;
  for (Mode& mode : columns.leaves)
    if (mode.stride.basis == "k")
      mode.stride.amount.factor = chain_.columns[static_cast<size_t>(mode.stride.amount.factor)];
  auto t = terms.parts(), c = columns.parts();
  for (int lane = 0; lane < static_cast<int>(product_->operands[2].threads); ++lane)
    for (int value = 0; value < product_->operands[2].values; ++value) {
      int64_t term = along(t[0], "k", lane) + along(t[1], "k", value),
              column = along(c[0], "k", lane) + along(c[1], "k", value);
      TANG_CHECK(chain_.columns[static_cast<size_t>(term)] == column,
                 "the order of terms of {} is no layout", product_->name);
    }
  return source_of(columns, "n", contiguous, most);
}

/// As many fragments at once as an instruction loads; else each register by itself.
MatrixUnit::Source MatrixUnit::source_of(const Layout& fragment, const std::string& side,
                                         const std::string& contiguous, int most) const {
  int values = product_->operands[side == "m" ? 1 : 2].values;
  for (int group : {4, 2, 1}) {
    if (most % group) continue;
    atomics::FragmentShape shape{format_, repeated(fragment, group, side), contiguous};
    auto load = atomics::find_fragment_load(machine_.target, shape);
    if (!load) continue;
    ask(b_, machine_, std::move(shape));
    return {load->row, load->lanes, {}, group, values};
  }
  const int bits = graph::info(format_).bits;
  const atomics::Row* one =
      ask(b_, machine_,
          atomics::MoveShape{kernel::Memory::registers, kernel::Memory::shared, format_, bits / 8});
  TANG_CHECK(one && bits == 32, "nothing loads fragments along {} of {}", side, product_->name);
  auto parts = fragment.parts();
  return {one, parts[0], parts[1], 1, values};
}

void MatrixUnit::load(const Source& source, const std::string& side, kernel::Ref into,
                      const std::function<kernel::Ref(ValueId point, ValueId term)>& place) {
  auto& v = b_.values();
  auto at = lane_coordinates(b_, lane, source.lanes);
  if (!source.each) b_.emit({kernel::Atom{source.row, {into, place(at[side], at["k"])}, {}, {}}});
  for (int value = 0; source.each && value < source.values; ++value) {
    ValueId point = v.add(at[side], v.integer(along(*source.each, side, value))),
            term = v.add(at["k"], v.integer(along(*source.each, "k", value)));
    b_.emit({kernel::Atom{source.row, {behind(into, value), place(point, term)}, {}, {}}});
  }
  // The unit by itself drops the lower bits.
  for (int value = 0; round_ && value < source.values * source.group; ++value)
    b_.emit({kernel::Atom{round_, {behind(into, value), behind(into, value)}, {}, {}}});
}

kernel::Ref MatrixUnit::behind(kernel::Ref place, int values) {
  ValueId& last = place.coordinates.back();
  last = b_.values().add(last, b_.values().integer(values));
  return place;
}

void MatrixUnit::multiply(kernel::Ref d, kernel::Ref a, kernel::Ref b) {
  b_.emit({kernel::Atom{product_, {std::move(d), std::move(a), std::move(b)}, {}, {}}});
}

} // namespace tang::lower
