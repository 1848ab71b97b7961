#pragma once
// Composition where the right side may reach beyond the left one.
#include "layout/algebra.h"

namespace tang::layout {

/// `compose`, but values of b from size(a) on go on along the last mode of coalesced `a`. What is
/// below size(a) is exact.
Result<Layout> compose_partial(const Layout& a, const Layout& b);

} // namespace tang::layout
