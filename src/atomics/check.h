#pragma once
// What must hold in a row by itself.
#include "atomics/row.h"

namespace tang::atomics {

/// What is wrong with a row, one sentence each: an operand that names an element twice or leaves
/// one of its box out, operands that disagree about an extent, registers of too many or too few
/// threads, a template that names nothing of the row.
std::vector<std::string> faults_of(const Row& row);

/// How far a layout reaches along each of its axes.
std::map<std::string, int64_t> extents_by_axis(const layout::Layout& layout);

} // namespace tang::atomics
