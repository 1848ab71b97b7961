#pragma once
// Output files: their names, and writing all of them or none.
#include "driver/options.h"

namespace tang::driver {

/// A kind of output may be several files.
enum class Part : uint8_t {
  whole,
  kernels,     ///< the folder of `--split=kernel`; its path ends in `/`
  array,       ///< of `--embed`: the source as data
  array_header ///< of `--embed`: its declaration
};

struct OutputFile {
  Emit kind;
  std::string path;          ///< `-` for standard output
  size_t target = no_target; ///< position in the options' targets
  Part part = Part::whole;
  static constexpr size_t no_target = static_cast<size_t>(-1);
};

/// What a command line writes, in the order that depfiles and `--print-outputs` have: by kind, then
/// by target. Depends on nothing but the command line.
std::vector<OutputFile> output_files(const CompileOptions& options, const std::string& input);
/// Where the depfile goes; empty for none.
std::string depfile_path(const CompileOptions& options, const std::vector<OutputFile>& files);

struct FileText {
  std::string path, text;
};

/// Reports the paths that cannot be written, that would replace an input, or that name one file
/// twice, without making or changing anything.
bool check_outputs(const std::vector<std::string>& paths, const std::vector<std::string>& inputs,
                   Sink& sink);

/// Makes the folders, writes every text to an unnamed or temporary file in its own folder, and only
/// when all are complete gives them their names, the first last: a build that looks at the first
/// output never takes an incomplete set for a new one. Files that are no regular files are written
/// in place. With `if_changed` files with the same bytes are left alone. On failure reports, and
/// leaves no temporary behind.
bool write_files(const std::vector<FileText>& files, bool if_changed, Sink& sink);

/// Escapes a name for a make rule. Empty for names that make cannot hold (line ends).
std::optional<std::string> make_name(std::string_view name);
/// One rule: outputs on the left (or what -MT and -MQ say), inputs on the right.
std::optional<std::string> depfile_text(const DependencyOptions& options,
                                        const std::vector<std::string>& outputs,
                                        const std::vector<std::string>& inputs, Sink& sink);

} // namespace tang::driver
