#pragma once
#include "lower/host.h"

namespace tang::lower {

/// Gives every workspace buffer a slot. Buffers share a slot when the last dispatch that touches
/// one comes before the first that touches the other; what a recurrence touches lives through all
/// of it.
void plan_workspace(kernel::Program& program, Host& host);

} // namespace tang::lower
