#pragma once
// Compiles printed sources with the system's compilers and runs them.
#include "programs.h"
#include <algorithm>

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

using Bytes = std::vector<uint8_t>;

/// Builds `main` in the folder by a command, and runs it with the fields in the files `0.bin`,
/// `1.bin`, ..., which it writes back. Empty where it exits with 77, for want of a device.
std::vector<Bytes> run_on_files(Folder& folder, const std::string& build,
                                const std::vector<Bytes>& fields);

/// The bytes of a list of numbers.
template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  const uint8_t* data = reinterpret_cast<const uint8_t*>(values.data());
  return Bytes(data, data + values.size() * sizeof(T));
}
template <class T>
std::vector<T> numbers_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy_n(bytes.data(), values.size() * sizeof(T), reinterpret_cast<uint8_t*>(values.data()));
  return values;
}

/// Prints the program for C, compiles it by gcc and by clang with warnings as errors, and runs
/// both. `fields` are the arguments' bytes (outputs: what they hold before); the result is what
/// they hold after, the same from both compilers.
std::vector<Bytes> execute_c(const Built& built, const std::vector<int64_t>& dims,
                             const std::vector<Bytes>& fields);

/// Prints the program for CUDA and compiles it by nvcc with warnings as errors; without nvcc says
/// so.
void compile_cuda(const Built& built, const std::string& options = "");

/// The same as `execute_c` by nvcc on the device here, with a stream that is being captured into a
/// graph. Empty, and says so, without nvcc or a device.
std::vector<Bytes> execute_cuda(const Built& built, const std::vector<int64_t>& dims,
                                const std::vector<Bytes>& fields);

/// Prints the program for OpenCL; clang checks the kernels and the C compiler the launcher,
/// warnings as errors. Says so without them.
void compile_opencl(const Built& built);

/// The same as `execute_c` on the first OpenCL device. Empty, and says so, without one.
std::vector<Bytes> execute_opencl(const Built& built, const std::vector<int64_t>& dims,
                                  const std::vector<Bytes>& fields);

/// Compares with the file beside the tests, or rewrites it where TANGC_UPDATE is set.
void check_golden(const std::string& name, const std::string& text);

/// Prints the program for C, compiles it together with `main_text` (which may include "t.h") by gcc
/// and by clang with warnings as errors, runs both, and checks that they print `expected`.
void check_c(const Built& built, const std::string& main_text, const std::string& expected);

print::SourceText printed(const Built& built, const std::string& dialect,
                          const print::PrintOptions& options);
/// Its text alone.
std::string source_of(const Built& built, const std::string& dialect,
                      const print::PrintOptions& options);

} // namespace tang::print_test
