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
  std::string prefix, symbol;              ///< `mlp`, `mlp_c_avx2`
  std::vector<std::string> kernel_symbols; ///< by kernel
  std::vector<std::string> table_symbols;  ///< by buffer
};

/// `<symbol>_workspace_bytes` and `<symbol>_run`. Notes the host helpers they call.
std::string print_launcher(const LauncherTask& task, std::set<std::string>& helpers);

} // namespace tang::print
