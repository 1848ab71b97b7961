#pragma once
// What is built into the binary: the tables of targets/ in parsed form, and the texts of specs/.
// The definitions are printed by embed_main.cpp when the project is built.
#include "targets/target.h"
#include <span>

namespace tang::targets {

struct EmbeddedTarget {
  std::string_view name;
  const Target& (*get)(); ///< built on first use
};
struct EmbeddedDevice {
  std::string_view name;
  const Device& (*get)(); ///< built on first use
};
struct EmbeddedSpec {
  std::string_view name; ///< the file's name: "nn.tg"
  std::string_view text;
};

/// In the order of targets/index.yaml.
std::span<const EmbeddedTarget> embedded_targets();
std::span<const EmbeddedDevice> embedded_devices();
/// In the order of their names.
std::span<const EmbeddedSpec> embedded_specs();

/// The text of `specs/<name>`; a view with a null `data()` when there is no such file.
std::string_view embedded_spec(std::string_view name);

} // namespace tang::targets
