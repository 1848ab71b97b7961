#pragma once
// Compiles printed sources with the system's compilers and runs them.
#include "programs.h"

namespace tang::print_test {

/// A fresh folder that is removed at the end.
class Folder {
public:
  Folder();
  ~Folder();
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  /// Runs a shell command in the folder; its standard output and error go to `log`.
  int run(const std::string& command);
  std::string log;

private:
  std::string path_;
};

bool have(const std::string& tool);

/// Prints the program for C, compiles it together with `main_text` (which may include "t.h") by gcc
/// and by clang with warnings as errors, runs both, and checks that they print `expected`.
void check_c(const Built& built, const std::string& main_text, const std::string& expected);

std::string source_of(const Built& built, const std::string& dialect, print::PrintOptions options);

} // namespace tang::print_test
