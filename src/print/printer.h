#pragma once
// The last step: a legal program as source text, with its header. The printer decides nothing.
#include "diagnostics/sink.h"
#include "kernel/program.h"
#include "print/dialect.h"

namespace tang::print {

enum class Checks : uint8_t {
  full,  ///< also what callers promise about data; for dialects that read arguments
  cheap, ///< everything but reading data
  none
};

struct PrintOptions {
  std::string version;      ///< of tangc
  std::string target;       ///< as in file names: `c+avx2`
  std::string options;      ///< the command line's, for the header comment
  std::string input_name;   ///< base name of the input file
  std::string input_sha256; ///< 64 hexadecimal digits
  std::string
      prefix; ///< of every external symbol; other characters than letters and digits become `_`
  std::string stem;      ///< of file names
  std::string extension; ///< of source files, with its dot
  Checks checks = Checks::cheap;
  bool fast_math = false;
  bool split = false; ///< one file per kernel in `<stem>.<target>.kernels/`, included by the source
};

struct SourceFileText {
  std::string name; ///< relative to the folder of the source file
  std::string text;
};
struct SourceText {
  std::string text;
  std::vector<SourceFileText> kernels;           ///< with `split`
  std::vector<std::vector<std::string>> symbols; ///< by part: what each of its kernels is called
  std::string launcher; ///< a file of its own, for dialects that have such; else empty
  std::string session;  ///< what headers declare of it
};

/// One program of a source, and the graph whose dims say at which sizes it runs.
struct Part {
  const kernel::Program* program = nullptr;
  const graph::Graph* graph = nullptr;
};

/// One self-contained source file: declarations, the helpers it uses, constant tables, kernels, and
/// the launcher `<prefix>_<target>_run` with `<prefix>_<target>_workspace_bytes` (cli.md, Outputs).
/// Or two: the kernels, and a launcher that holds them as data, with what makes its session.
/// The launcher runs the first of `parts` that the sizes fit; the last fits all and has the
/// interface. Kernels that are equal are printed once. Empty, and reported, where the target cannot
/// say what a program does.
std::optional<SourceText> print_source(std::span<const Part> parts, const Dialect& dialect,
                                       const PrintOptions& options, Sink& sink);

/// `<stem>.h` for all `targets` of a run (as in file names), with the `session` texts of their
/// sources. Valid C11 and C++.
std::string print_header(const kernel::Program& program, const graph::Graph& graph,
                         std::span<const std::string> targets, const PrintOptions& options,
                         std::string_view sessions = {});

/// Text in symbols: `c+avx2` is `c_avx2`.
std::string symbol_part(std::string_view text);

} // namespace tang::print
