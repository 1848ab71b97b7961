#pragma once
// Which row carries out each leaf of a kernel, and why no other does, for a person
// (`--explain-atoms`).
#include "atomics/match.h"

namespace tang::atomics {

/// Every different question once, in order: what was asked, the row that was taken, and all other
/// rows of its kind by the reason why they were not. `otherwise` says what carries out a leaf that
/// has no row.
std::string explain(const Target& target, std::span<const Asked> asked, std::string_view otherwise);

} // namespace tang::atomics
