#pragma once
// Which fields an emitter can carry out.
#include "schedule/schedule.h"

namespace tang::schedule {

/// Why the kernel cannot run with the variant's fields, in words of a schedule file; empty where it
/// can. `last` is the variant that takes every size that no other took.
std::optional<std::string> why_illegal(const graph::Graph& graph,
                                       const std::vector<graph::Node>& nodes,
                                       const plan::KernelPlan& kernel, const plan::Variant& variant,
                                       bool last, const Machine& machine);

} // namespace tang::schedule
