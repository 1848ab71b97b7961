#pragma once
// Words of the command line -> values by option. What the values mean is decided in options.h.
#include "diagnostics/sink.h"
#include "driver/option_table.h"
#include <string>
#include <vector>

namespace tang::driver {

struct Arguments {
  Verb verb = Verb::compile;
  std::string verb_name;                        ///< as written, of a verb of a later version
  std::vector<std::string> operands;            ///< files, targets, codes
  std::vector<std::vector<std::string>> values; ///< by OptionId; a flag has an empty text each time

  bool has(OptionId id) const { return !all(id).empty(); }
  const std::vector<std::string>& all(OptionId id) const { return values[static_cast<size_t>(id)]; }
  /// The one that counts; empty when the option is not there.
  std::string last(OptionId id) const { return has(id) ? all(id).back() : std::string(); }
};

/// Replaces every `@file` before `--` by the words of that file: separated by blanks and line ends,
/// with single or double quotes and backslashes as compilers have them, and `@file` again inside.
/// Reports a file that cannot be read, and nesting beyond 16.
std::optional<std::vector<std::string>> expand_response_files(std::vector<std::string> words,
                                                              Sink& sink);

/// Sorts the words after the program's name by the option table. Reports what does not fit.
std::optional<Arguments> parse_arguments(const std::vector<std::string>& words, Sink& sink);

} // namespace tang::driver
