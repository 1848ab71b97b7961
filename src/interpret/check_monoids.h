#pragma once
#include "diagnostics/sink.h"
#include "graph/graph.h"

namespace tang::interpret {

/// Tests the laws of every monoid of the graph that the file defines itself: the identity changes
/// no state, and the combine is associative. The states are those that the file's own uses reach:
/// elements from the bodies of the reductions and scans under the monoid, with deterministic random
/// data in place of what they read, and what combining elements gives. Reals may differ by 1e-6 of
/// the larger value.
///
/// Reports E0550 or E0551 with a counterexample, once per monoid, at the first use; false when any
/// is reported. A monoid without a use is not tested.
bool check_monoids(const graph::Graph& graph, Sink& sink);

} // namespace tang::interpret
