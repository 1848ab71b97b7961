#pragma once
// What a launcher computes: sizes, conditions, scalars.
#include "kernel/program.h"

namespace tang::interpret::simulator {

using HostVariables = std::unordered_map<kernel::VarId, int64_t>;

/// The value of a host value; empty where it leaves 64 bits, or reads what has no value.
std::optional<int64_t> host_value(const kernel::ValueStore& store, kernel::ValueId id,
                                  const HostVariables& variables);

} // namespace tang::interpret::simulator
