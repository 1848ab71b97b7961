#pragma once
#include "parse/elaborate/context.h"

namespace tang::parse {

/// The monoid of the graph for fields of the given classes: a field is real when its operand, its
/// identity or its combine is. Reports faults of the declaration.
std::optional<graph::MonoidId> instantiate(Context& context, const Callable& callable,
                                           const std::vector<Scalar>& operands);

} // namespace tang::parse
