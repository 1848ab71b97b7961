#pragma once
// Operations on layouts. Each is exact for all values of the symbols, or refused with the reason.
//
// "A on [0, n)" speaks of a layout as a function of one index. Unless said otherwise layouts are
// plain: their strides have no basis.
#include "layout/layout.h"

namespace tang::layout {

/// The fewest flat modes with the same function of one index. Without symbols two layouts are the
/// same function exactly when they coalesce to the same modes. Bases may occur.
Result<Layout> coalesce(const Layout& layout);
/// Each mode of the top level by itself.
Result<Layout> coalesce_modes(const Layout& layout);

/// R(c) = a(b(c)); the form of R refines that of b. `a` may have bases, `b` stays below size(a).
/// Refused where a mode of b does not step evenly through the modes of a, or where modes of b
/// together carry from one mode of a into the next: there no strides are right.
Result<Layout> compose(const Layout& a, const Layout& b);
/// The same by mode; modes of `a` beyond the tiler stay.
Result<Layout> compose(const Layout& a, const Tiler& b);
/// b maps into coordinates: what it adds to basis `axes[i]` is an index into mode i of `a`, which
/// has as many modes as there are axes.
Result<Layout> compose_coordinates(const Layout& a, const Layout& b,
                                   const std::vector<std::string>& axes);

/// The ordered layout that fills what `a` leaves of [0, target): (a, R) reaches each of the numbers
/// below its size once, which is at least the target; R(i) rises. Modes of `a` with stride 0 do not
/// count. Refused where the values of `a` overlap or do not tile the line.
Result<Layout> complement(const Layout& a, const Monomial& target);

/// The longest R with a(R(k)) = k that strides of `a` give in one sequence from 1; no longer one
/// exists where `a` is injective but for strides 0.
Result<Layout> right_inverse(const Layout& a);
/// R(a(k)) = k for k < size(a). Refused where `a` has no complement.
Result<Layout> left_inverse(const Layout& a);

/// a on (b, rest): mode 0 is the tile `b`, mode 1 runs over the tiles, and R(c) = a((b, rest)(c)).
/// Where tiles do not fit evenly the last ones go beyond size(a); such coordinates have to be
/// predicated, and what R says of them means nothing.
Result<Layout> logical_divide(const Layout& a, const Layout& b);
/// The same by mode, each (tile, rest).
Result<Layout> logical_divide(const Layout& a, const Tiler& b);
/// ((tile of each mode...), (rest of each mode..., untouched modes...)).
Result<Layout> zipped_divide(const Layout& a, const Tiler& b);
/// The halves of `zipped_divide` the other way round: tiles outside, elements of a tile inside.
Result<Layout> tile(const Layout& a, const Tiler& b);

/// (a, R): copies of `a` that do not overlap, arranged as `b` says: R = complement(a) on b.
Result<Layout> logical_product(const Layout& a, const Layout& b);
/// The logical product with mode i of `a` and mode i of the copies in one mode i, the block's
/// element (blocked) or the copy (raked) varying fastest. Of equal rank.
Result<Layout> blocked_product(const Layout& a, const Layout& b);
Result<Layout> raked_product(const Layout& a, const Layout& b);

/// The same function of one index with another shape of the same size; the form of the result
/// refines the shape's. Bases may occur.
Result<Layout> reshape(const Layout& a, const Shape& shape);

/// The same bytes as elements of `to` bits instead of `from`. Towards larger elements, each must be
/// whole: contiguous and aligned. Towards smaller ones the mode of stride 1 grows.
Result<Layout> recast(const Layout& a, int64_t from, int64_t to);
Result<Swizzled> recast(const Swizzled& a, int64_t from, int64_t to);
Result<Swizzle> recast(const Swizzle& a, int64_t from, int64_t to);

/// The largest n so that the elements 0..n-1 of memory, in order, belong to the same coordinates in
/// both layouts: how many elements a copy between them moves at once.
Result<Monomial> max_common_vector(const Layout& a, const Layout& b);

/// Swizzled layouts compose where the outer one is applied last.
Result<Swizzled> compose(const Swizzle& a, const Swizzled& b);
Result<Swizzled> compose(const Swizzled& a, const Layout& b);

} // namespace tang::layout
