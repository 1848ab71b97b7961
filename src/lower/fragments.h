#pragma once
// Layouts of fragments, (lane, value) -> coordinates along named axes, as emitters put them
// together.
#include "layout/layout.h"
#include "lower/builder.h"
#include <map>

namespace tang::lower {

/// How far a layout reaches along an axis.
int extent_along(const layout::Layout& layout, const std::string& axis);

/// `count` fragments one behind the other along an axis, as one of so many times the values.
layout::Layout repeated(const layout::Layout& fragment, int count, const std::string& axis);

/// A mode of the block; returns its coordinate.
ValueId thread_mode(Builder& b, const char* name, int extent);

/// The lanes of a warp as modes of the block: one for each digit of a layout's lanes.
struct Lanes {
  std::vector<ValueId> digits;
  ValueId number; ///< in the warp
  int count = 1;
};
Lanes add_lanes(Builder& b, const layout::Layout& lanes);

/// Coordinates by axis (m, n, k) of a thread's number within its warp, as a layout says.
std::map<std::string, ValueId> lane_coordinates(Builder& b, ValueId lane,
                                                const layout::Layout& lanes);

} // namespace tang::lower
