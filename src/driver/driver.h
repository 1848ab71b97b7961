#pragma once
// tangc as a function: the roof over all folders.
#include <string>
#include <vector>

namespace tang::driver {

/// Exit codes (cli.md).
enum class Exit : int {
  ok = 0,
  input = 1,        ///< errors in the input
  command_line = 2, ///< bad command line
  gate = 3,         ///< a gate failed
  files = 4,        ///< cannot read or write, or a tool is missing
  internal = 70     ///< our own fault
};

/// Runs one command line (without the program's name): outputs to files and stdout, diagnostics to
/// stderr. Never throws.
int run(const std::vector<std::string>& words);

} // namespace tang::driver
