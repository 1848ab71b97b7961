#pragma once
// Layouts as functions: values at coordinates, and what can be said of all of them.
#include "layout/layout.h"

namespace tang::layout {

/// The value at a coordinate, which may give one number for a tuple. Numbers must lie below sizes
/// that have no symbols; that they lie below symbolic ones is for the caller to know.
Result<Sum> evaluate(const Layout& layout, const Coordinate& coordinate);
/// A swizzled layout needs a value without symbols.
Result<Sum> evaluate(const Swizzled& layout, const Coordinate& coordinate);

/// The coordinate of an index below size(layout), in the form of the layout.
Result<Coordinate> coordinate_of(const Layout& layout, int64_t index);

/// The part of a layout where the coordinate has `_`; the rest goes into the offset. Tuples of
/// which one part is left become that part. With nothing left the layout is `1:0`.
Result<Swizzled> slice(const Swizzled& layout, const Coordinate& coordinate);

/// The values at 0, 1, 2, ... of a plain layout without symbols, of at most `most` elements.
Result<std::vector<int64_t>> image(const Swizzled& layout, int64_t most = 1 << 20);

/// Whether no two coordinates have one value.
Result<bool> is_injective(const Swizzled& layout);
/// Whether the values are 0, 1, ... size-1, each once.
Result<bool> is_bijective(const Swizzled& layout);
/// Whether two layouts of equal size are the same function of one index.
Result<bool> is_same(const Swizzled& a, const Swizzled& b);

} // namespace tang::layout
