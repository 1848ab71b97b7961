#pragma once
// Layouts of fragments, (lane, value) -> coordinates along named axes, as emitters put them
// together.
#include "layout/layout.h"

namespace tang::lower {

/// How far a layout reaches along an axis.
int extent_along(const layout::Layout& layout, const std::string& axis);

/// `count` fragments one behind the other along an axis, as one of so many times the values.
layout::Layout repeated(const layout::Layout& fragment, int count, const std::string& axis);

} // namespace tang::lower
