#pragma once
// Programs of this machine: compilers of generated code, and what they print.
#include "targets/target.h"
#include <csignal>
#include <iterator>
#include <string>
#include <vector>

namespace tang::driver {

/// What ran, and how it ended.
struct Finished {
  int code = -1;      ///< 127 where it could not be started, 128 + n after signal n
  std::string output; ///< of both streams
};
/// Runs a program in a folder, without a shell.
Finished run_program(const std::vector<std::string>& words, const std::string& folder);

/// The command that builds `sources` into `program`; empty, with `missing` naming what was looked
/// for, where there is no compiler for the target.
std::vector<std::string> build_command(const targets::Target& target, const std::string& compiler,
                                       const std::vector<std::string>& sources,
                                       const std::string& program, std::string& missing);

/// A folder of this process alone, removed with everything in it: also where SIGINT, SIGTERM or
/// SIGHUP ends the process while it lives. Programs that run are stopped then, no other starts, and
/// the signal does its work when the folder is gone. One at a time.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// Empty when none could be made.
  const std::string& path() const { return path_; }

private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  std::string path_;
  struct sigaction before_[std::size(signals)] = {};
};

} // namespace tang::driver
