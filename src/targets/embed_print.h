#pragma once
// The C++ source that holds the tables in parsed form. Part of tangc_embed, not of the compiler.
#include "targets/target.h"

namespace tang::targets {

/// A file that is built in as it stands.
struct EmbeddedFile {
  std::string name;
  std::string text;
};

/// One source file that defines everything that embedded.h declares without a body.
std::string embedded_source(const std::vector<Target>& targets, const std::vector<Device>& devices,
                            const std::vector<EmbeddedFile>& specs);

} // namespace tang::targets
