#pragma once
// What a definition says about the range of its variable. Texts state a range only where it is
// another one.
#include "kernel/value.h"

namespace tang::kernel {

/// As in Var: ends are absent where nothing is known.
struct VarRange {
  std::optional<int64_t> lo, hi;
  friend bool operator==(const VarRange&, const VarRange&) = default;
};

/// Of a name for a value.
VarRange range_of_let(const ValueStore& store, ValueId value);
/// Of a loop from `begin` to below `end`.
VarRange range_of_loop(const ValueStore& store, ValueId begin, ValueId end);
/// Of a coordinate below an extent.
VarRange range_of_coordinate(const ValueStore& store, ValueId extent);

} // namespace tang::kernel
