#pragma once
// The host side: sizes, checks, and the order of launches.
#include "print/declarations.h"
#include "print/printer.h"
#include <set>

namespace tang::print {

struct LauncherTask {
  const kernel::Program* program = nullptr;
  const graph::Graph* graph = nullptr;
  const Dialect* dialect = nullptr;
  const PrintOptions* options = nullptr;
  std::string prefix, symbol;              ///< `mlp`, `mlp_c_avx2`: how its functions' names start
  std::string_view linkage;                ///< `static ` where another launcher calls this one
  std::vector<std::string> kernel_symbols; ///< by kernel: how the launcher names it
  std::vector<std::string> table_symbols;  ///< by buffer: the same
  std::string session;                     ///< the type that `stream` points to; empty: none
};

/// `<symbol>_workspace_bytes` and `<symbol>_run`. Notes the host helpers they call.
std::string print_launcher(const LauncherTask& task, std::set<std::string>& helpers);

/// The same two functions for several launchers: each call goes to the first of `tasks` whose dims
/// it fits, or to the last, which has the interface.
std::string print_chooser(std::span<const LauncherTask> tasks, const std::string& symbol);

} // namespace tang::print
