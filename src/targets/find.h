#pragma once
// The tables that are built in, by name.
#include "targets/target.h"

namespace tang::targets {

/// Names in the order in which they are listed everywhere (targets/index.yaml).
const std::vector<std::string>& target_names();
const std::vector<std::string>& device_names();

/// Null when there is none of that name.
const Target* target_named(std::string_view name);
const Device* device_named(std::string_view name);

/// Reads `T` or `T:device`, as `--target` has it; without a device the target's default one.
/// On failure sets `error` to a message in the voice of diagnostics, with the nearest name where
/// one is near. Succeeds for targets that are known but not printable yet: ask `target->printable`.
std::optional<TargetSpec> find_target(std::string_view text, std::string& error);

} // namespace tang::targets
