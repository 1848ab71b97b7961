#pragma once
// What callers see: the status, `<prefix>_dims`, `<prefix>_args` and the prototypes.
#include "kernel/program.h"
#include "print/names.h"

namespace tang::print {

/// Names of the public structures' fields.
struct PublicNames {
  std::vector<std::string> dims;        ///< one per graph dim
  std::vector<std::string> buffers;     ///< by buffer; empty for those that are no argument
  std::vector<kernel::BufferId> fields; ///< arguments without repeats, in order
  std::vector<std::pair<std::string, std::string>> changed;
};
PublicNames public_names(const kernel::Program& program, const graph::Graph& graph);

/// The lines of the header comment that every file starts with.
struct PrintOptions;
std::string head_comment(const PrintOptions& options, std::string_view what);

/// Bytes at a multiple of which the workspace of a call starts.
int workspace_alignment(const kernel::Program& program);

/// The declarations for `targets`, each under its guard, so that a source file can hold them too;
/// behind the prototypes the text of `sessions`, which is nothing or lines.
std::string declarations(const kernel::Program& program, const graph::Graph& graph,
                         std::span<const std::string> targets, const std::string& prefix,
                         std::string_view sessions);

} // namespace tang::print
