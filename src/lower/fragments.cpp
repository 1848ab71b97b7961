#include "lower/fragments.h"
#include "atomics/check.h"

namespace tang::lower {

using layout::Layout;

int extent_along(const Layout& layout, const std::string& axis) {
  return static_cast<int>(atomics::extents_by_axis(layout).at(axis));
}

Layout repeated(const Layout& fragment, int count, const std::string& axis) {
  std::vector<Layout> parts = fragment.parts();
  int step = extent_along(fragment, axis);
  Layout more =
      Layout::leaf({layout::Monomial::constant(count), {layout::Monomial::constant(step), axis}});
  return Layout::tuple({parts[0], Layout::tuple({parts[1], more})});
}

ValueId thread_mode(Builder& b, const char* name, int extent) {
  VarId id = b.values().add_var({name, Type::index, 0, extent - 1});
  b.kernel().threads.push_back({id, extent});
  return b.values().variable(id);
}

Lanes add_lanes(Builder& b, const Layout& lanes) {
  auto& v = b.values();
  Lanes out{{}, v.integer(0), 1};
  for (const layout::Mode& mode : lanes.leaves) {
    int extent = static_cast<int>(mode.size.factor);
    out.digits.push_back(thread_mode(b, "lane", extent));
    out.number = v.add(out.number, v.mul(out.digits.back(), v.integer(out.count)));
    out.count *= extent;
  }
  return out;
}

std::map<std::string, ValueId> lane_coordinates(Builder& b, ValueId lane, const Layout& lanes) {
  auto& v = b.values();
  std::map<std::string, ValueId> at{{"m", v.integer(0)}, {"n", v.integer(0)}, {"k", v.integer(0)}};
  int64_t below = 1;
  for (const layout::Mode& mode : lanes.leaves) {
    ValueId digit = v.binary(graph::Op::mod, v.binary(graph::Op::floordiv, lane, v.integer(below)),
                             v.integer(mode.size.factor));
    ValueId& place = at[mode.stride.basis];
    place = v.add(place, v.mul(digit, v.integer(mode.stride.amount.factor)));
    below *= mode.size.factor;
  }
  for (auto& [basis, value] : at) value = b.let("lane_" + basis, value);
  return at;
}

} // namespace tang::lower
