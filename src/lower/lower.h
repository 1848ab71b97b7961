#pragma once
// Plan -> Program: every kernel plan becomes kernels (one per variant) and a dispatch.
#include "kernel/program.h"
#include "lower/emit.h"
#include "plan/plan.h"

namespace tang::lower {

/// The graph gains terms for the copies that recurrences need; its definitions stay as they are.
kernel::Program lower(graph::Graph& graph, const plan::Plan& plan, const Machine& machine);

} // namespace tang::lower
