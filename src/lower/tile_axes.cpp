#include "lower/tile_axes.h"
#include <algorithm>

namespace tang::lower {

using graph::Axis;
using graph::Op;

std::vector<const Axis*> TileAxes::points_of(const std::vector<size_t>& axes) const {
  std::vector<const Axis*> out;
  for (size_t i : axes) out.push_back(&c_.points[i]);
  return out;
}

std::vector<const Axis*> TileAxes::sum_axes() const {
  std::vector<const Axis*> out;
  for (const Axis& axis : c_.reduction->axes) out.push_back(&axis);
  return out;
}

ValueId TileAxes::groups(std::span<const Axis* const> axes, int unit) {
  auto& v = b_.values();
  ValueId product = v.integer(1);
  for (const Axis* axis : axes) {
    ValueId extent = b_.extent(axis->extent);
    if (axis == axes.back()) extent = v.binary(Op::floordiv, extent, v.integer(unit));
    product = v.mul(product, extent);
  }
  return product;
}

ValueId TileAxes::size_of(const std::vector<size_t>& axes) {
  return groups(points_of(axes), 1);
}
ValueId TileAxes::depth() {
  return groups(sum_axes(), 1);
}
ValueId TileAxes::groups_of_points(const std::vector<size_t>& axes, int unit) {
  return groups(points_of(axes), unit);
}
ValueId TileAxes::groups_of_sum(int unit) {
  return groups(sum_axes(), unit);
}

ValueId TileAxes::block_mode(const std::string& name, ValueId extent) {
  auto& v = b_.values();
  graph::IntRange range = v.range(extent);
  kernel::Var var{name, Type::index, 0, {}};
  if (range.hi != graph::IntRange{}.hi) var.hi = std::max<int64_t>(range.hi - 1, 0);
  VarId id = v.add_var(std::move(var));
  b_.kernel().blocks.push_back({id, extent});
  return v.variable(id);
}

std::vector<ValueId> TileAxes::coordinates(std::span<const Axis* const> axes, ValueId flat,
                                           int unit) {
  auto& v = b_.values();
  std::vector<std::string> names;
  std::vector<ValueId> extents;
  for (const Axis* axis : axes) {
    names.push_back(axis->name);
    extents.push_back(b_.extent(axis->extent));
  }
  if (!axes.empty()) extents.back() = v.binary(Op::floordiv, extents.back(), v.integer(unit));
  auto places = b_.delinearize(names, flat, extents);
  if (!places.empty()) places.back() = v.mul(places.back(), v.integer(unit));
  return places;
}

void TileAxes::bind_points(const std::vector<size_t>& axes, ValueId flat, int unit) {
  auto places = coordinates(points_of(axes), flat, unit);
  for (size_t n = 0; n < axes.size(); ++n) points_[axes[n]] = places[n];
  for (size_t i : axes) terms_.bind(c_.points[i], points_[i]);
}

void TileAxes::bind_sum(ValueId flat, int unit) {
  auto axes = sum_axes();
  auto places = coordinates(axes, flat, unit);
  for (size_t i = 0; i < axes.size(); ++i) terms_.bind(*axes[i], places[i]);
}

ValueId TileAxes::nearest(std::span<const Axis* const> axes, ValueId flat, int unit) {
  auto& v = b_.values();
  return b_.let("near", v.binary(Op::min, flat, v.sub(groups(axes, unit), v.integer(1))));
}

/// One axis is bound to the number itself.
bool TileAxes::bind_open(std::span<const Axis* const> axes, ValueId flat, int unit) {
  if (axes.size() != 1) return false;
  terms_.bind(axes[0]->index, b_.values().mul(flat, b_.values().integer(unit)));
  return true;
}

void TileAxes::bind_points_if(const std::vector<size_t>& axes, ValueId flat, int unit) {
  auto all = points_of(axes);
  if (!bind_open(all, flat, unit)) bind_points(axes, nearest(all, flat, unit), unit);
}

void TileAxes::bind_sum_if(ValueId flat, int unit) {
  auto all = sum_axes();
  if (!bind_open(all, flat, unit)) bind_sum(nearest(all, flat, unit), unit);
}

void TileAxes::bind_points_near(const std::vector<size_t>& axes, ValueId flat, int unit) {
  auto all = points_of(axes);
  ValueId near = nearest(all, flat, unit);
  if (!bind_open(all, near, unit)) bind_points(axes, near, unit);
}

} // namespace tang::lower
