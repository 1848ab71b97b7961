#pragma once
// Layouts: shape:stride, two nested tuples of one form (kernel-ir.md, "Layouts").
//
//   (4,(2,4)):(2,(1,8))    coordinate (i,(j,k)) lies at 2*i + j + 8*k
//
// A coordinate may give one number for a tuple; the leftmost part of the tuple then varies fastest,
// so a layout is also a function of one index below its size. Sizes are at least 1, strides at
// least 0.
#include "layout/monomial.h"
#include "layout/nested.h"

namespace tang::layout {

struct Mode {
  Monomial size;
  Stride stride;
  friend bool operator==(const Mode&, const Mode&) = default;
};

using Layout = Nested<Mode>;
using Shape = Nested<Monomial>;
/// Empty leaves stand for "all", as `_` in text.
using Coordinate = Nested<std::optional<int64_t>>;
/// A layout for each of the first modes of another; where empty, the mode stays whole.
using Tiler = std::vector<std::optional<Layout>>;

/// `1:0`.
Layout single_element();
/// Strides so that the index is the place: `(4,8)` gives `(4,8):(1,4)`.
Result<Layout> compact(const Shape& shape);
Shape shape_of(const Layout& layout);

/// The number of coordinates.
Result<Monomial> size(const Layout& layout);
/// The largest value plus 1; in a coordinate tensor so for each basis.
Result<Sum> cosize(const Layout& layout);
/// The bases of its strides, sorted; the empty one for plain strides that are not 0.
std::vector<std::string> bases(const Layout& layout);
bool is_plain(const Layout& layout);

/// XOR of `bits` bits of an address with those `shift` places above them (below, for a negative
/// shift); the lower of the two fields starts at bit `base`. Its own inverse.
struct Swizzle {
  int bits = 0, base = 0, shift = 0;

  int64_t operator()(int64_t x) const;
  bool is_identity() const { return bits == 0; }
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};
/// Refused where the fields overlap or leave 62 bits.
Result<Swizzle> make_swizzle(int64_t bits, int64_t base, int64_t shift);

/// swizzle(offset + layout(c)). A plain layout has no bits of swizzle and offset 0.
struct Swizzled {
  Swizzle swizzle;
  Sum offset;
  Layout layout;

  bool is_strided() const { return swizzle.is_identity() && offset.terms().empty(); }
  friend bool operator==(const Swizzled&, const Swizzled&) = default;
};
/// Without bases in strides and offset: only such are swizzled.
bool is_plain(const Swizzled& layout);

} // namespace tang::layout
