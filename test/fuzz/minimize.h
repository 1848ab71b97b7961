#pragma once
// Smaller programs that still show a fault.
#include "generate.h"
#include <functional>

namespace tang::fuzz {

/// Drops statements and replaces parentheses by parts of themselves, greedily, while `still_wrong`
/// holds; tries at most `attempts` programs.
Case minimize(Case program, const std::function<bool(const Case&)>& still_wrong, int attempts);

} // namespace tang::fuzz
