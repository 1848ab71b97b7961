#pragma once
// Targets and devices from YAML: the tables of targets/, and files that a command line names.
#include "diagnostics/sink.h"
#include "targets/target.h"

namespace tang::targets {

/// Reads one target or device; `file` is the whole table. Every fault of the file is reported with
/// its place, not only the first: unknown, missing and repeated keys, wrong types, values that
/// cannot be right, figures without a source.
std::optional<Target> load_target(const SourceManager& sources, FileId file, Sink& sink);
std::optional<Device> load_device(const SourceManager& sources, FileId file, Sink& sink);

/// The names of all targets and devices, in the order in which they are listed.
struct Index {
  std::vector<std::string> targets, devices;
};
std::optional<Index> load_index(const SourceManager& sources, FileId file, Sink& sink);

} // namespace tang::targets
