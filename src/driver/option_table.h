#pragma once
// The command line as data: verbs and options, one row each.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tang::driver {

enum class OptionId : uint8_t {
#define TANG_OPTION(id, names, argument, takes, group, verbs, values, help, example) id,
#include "driver/options.def"
#undef TANG_OPTION
};

enum class Takes : uint8_t { none, one, many, maybe };
enum class OptionGroup : uint8_t {
  general,
  outputs,
  scheduling,
  numerics,
  dependencies,
  running,
  diagnostics,
  hidden
};
std::string_view title_of(OptionGroup group);

/// `later`: known, but not part of this version.
enum class Verb : uint8_t {
  compile,
  check,
  fmt,
  run,
  verify,
  targets,
  explain,
  report,
  layout,
  later
};

struct VerbRow {
  Verb verb;
  char letter;           ///< as in options.def
  std::string_view name; ///< empty for compile
  std::string_view operands;
  int least, most; ///< operands
  std::string_view help;
};
std::span<const VerbRow> verb_rows();
const VerbRow& row_of(Verb verb);
/// The verb that an operand names; empty for a file.
std::optional<Verb> verb_named(std::string_view name);

struct OptionRow {
  OptionId id;
  std::string_view names;    ///< "-t,--target"
  std::string_view argument; ///< "T[,T]"
  Takes takes;
  OptionGroup group;
  std::string_view verbs;  ///< letters
  std::string_view values; ///< words, FILE, DIR, or empty
  std::string_view help;
  std::string_view example;

  bool applies_to(Verb verb) const;
  bool has_words() const { return !values.empty() && values != "FILE" && values != "DIR"; }
  /// The last of its names: `--target`, `-MD`.
  std::string_view name() const;
};
std::span<const OptionRow> option_rows();
const OptionRow& row_of(OptionId id);

/// One dash and more than one letter, as compilers have it: `-MD`.
bool is_compiler_style(std::string_view name);

/// Calls `visit` with every part of `text` between separators.
template <class F>
void for_each_part(std::string_view text, char separator, F&& visit) {
  for (size_t at = 0; at <= text.size();) {
    size_t end = text.find(separator, at);
    if (end == text.npos) end = text.size();
    visit(text.substr(at, end - at));
    at = end + 1;
  }
}

} // namespace tang::driver
