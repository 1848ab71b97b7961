#include "driver/guide.h"
#include "diagnostics/kind.h"
#include "driver/layout/call.h"
#include "driver/stages.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace tang::driver {

namespace {

constexpr OptionGroup shown_groups[] = {
    OptionGroup::general,      OptionGroup::outputs, OptionGroup::scheduling, OptionGroup::numerics,
    OptionGroup::dependencies, OptionGroup::running, OptionGroup::diagnostics};

std::string call_of(const VerbRow& verb) {
  std::string name = verb.name.empty() ? "" : fmt::format(" {}", verb.name);
  std::string target = verb.verb == Verb::compile || verb.verb == Verb::verify ? " --target T" : "";
  return fmt::format("tangc{} {}{} [options]", name, verb.operands, target);
}

/// Words in lines of at most 78 columns, each after `indent` blanks.
std::string wrapped(std::string_view text, size_t indent) {
  std::string out, line;
  auto flush = [&] {
    out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for_each_part(text, ' ', [&](std::string_view word) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > 78) flush();
    line += (line.empty() ? "" : " ") + std::string(word);
  });
  flush();
  return out;
}

/// A row's example as a call of this verb: examples stand once, and many verbs share an option.
std::string example_of(const OptionRow& row, const VerbRow& verb) {
  std::vector<std::string> words;
  for_each_part(row.example, ' ', [&](std::string_view word) { words.emplace_back(word); });
  auto stated = verb_named(words[0]);
  if (stated == verb.verb || (!stated && verb.verb == Verb::compile))
    return std::string(row.example);
  if (stated) words.erase(words.begin());
  if (!words.empty() && words[0][0] != '-') words.erase(words.begin());
  std::string text(verb.name);
  std::string_view operand = verb.verb == Verb::explain   ? "E0301"
                             : verb.verb == Verb::targets ? "sm_80"
                             : verb.verb == Verb::report  ? "mlp.sm_80.sol.json"
                                                          : "mlp.tg";
  text += (text.empty() ? "" : " ") + std::string(operand);
  bool target = row_of(OptionId::target).applies_to(verb.verb);
  if (target && std::find(words.begin(), words.end(), "-t") == words.end()) text += " -t c";
  for (size_t i = 0; i < words.size(); ++i) {
    bool elsewhere = (words[i] == "-t" && !target) || words[i] == "-d" || words[i] == "-o";
    if (elsewhere && words[i] != row.name())
      ++i; // with its argument
    else
      text += " " + words[i];
  }
  return text;
}

} // namespace

std::string usage_text() {
  std::string text = "usage: tangc FILE --target T[,T] [options]\n";
  for (const VerbRow& verb : verb_rows())
    if (!verb.name.empty()) text += fmt::format("       tangc {} {}\n", verb.name, verb.operands);
  return text +
         "       tangc help [VERB]\n`tangc --help` and `tangc VERB --help` list the options\n";
}

std::string option_signature(const OptionRow& row) {
  std::string text;
  for_each_part(row.names, ',', [&](std::string_view name) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  });
  if (row.takes == Takes::none) return text;
  // A long name takes `=`; a letter and the names of compilers take the next word, or no blank.
  std::string_view name = row.name();
  bool is_long = name.substr(0, 2) == "--", joined = name == "-W" || name == "-O";
  std::string argument = row.has_words() && row.takes != Takes::many && row.values.size() < 24
                             ? std::string(row.values)
                             : std::string(row.argument);
  for (char& c : argument)
    if (c == ' ') c = '|';
  if (row.takes == Takes::maybe) return fmt::format("{}[={}]", text, argument);
  return text + (is_long ? "=" : joined ? "" : " ") + argument;
}

std::string option_help(const OptionRow& row) {
  std::vector<std::string> words;
  if (row.id == OptionId::emit)
    for_each_part(row.values, ' ', [&](std::string_view word) { words.emplace_back(word); });
  if (row.id == OptionId::dump) words = stage_names();
  if (row.id == OptionId::warning)
    for (const KindInfo& kind : all_kinds())
      if (!kind.flag.empty()) words.emplace_back(kind.flag);
  std::string text(row.help);
  if (!words.empty()) text += fmt::format(". Names: {}", fmt::join(words, ", "));
  return text;
}

std::string help_text(Verb verb) {
  const VerbRow& row = row_of(verb);
  std::string text = fmt::format("usage: {}\n\n{}", call_of(row), wrapped(row.help, 0));
  if (row.operands.find("FILE") != row.operands.npos) text += "`-` for a FILE is standard input.\n";
  text += "\n";
  if (verb == Verb::compile) {
    text += "Other verbs:\n";
    for (const VerbRow& other : verb_rows())
      if (!other.name.empty())
        text += fmt::format("  {:<38}{}\n", fmt::format("tangc {} {}", other.name, other.operands),
                            other.help);
    text += fmt::format("  {:<38}{}\n\n", "tangc help [VERB]", "this text, or that of a verb");
  }
  if (verb == Verb::layout) {
    text += "An expression is a layout `(4,(2,4)):(2,(1,8))`, with symbols `(M,N):(1,M)` or along "
            "axes\n"
            "`(8,4):(1@m,2@n)`; a swizzled one, `Sw<3,4,3> o 16 + L`; `A o B`; or a call:\n";
    for (const LayoutFunction& function : layout_functions())
      text += fmt::format("  {:<38}{}\n", fmt::format("{}({})", function.name, function.arguments),
                          function.help);
    text += "\n";
  }
  for (OptionGroup group : shown_groups) {
    std::string part;
    for (const OptionRow& option : option_rows())
      if (option.group == group && option.applies_to(verb))
        part += fmt::format("  {}\n{}{}", option_signature(option), wrapped(option_help(option), 6),
                            wrapped(fmt::format("example: tangc {}", example_of(option, row)), 6));
    if (!part.empty()) text += fmt::format("{}:\n{}\n", title_of(group), part);
  }
  return text +
         "Exit codes: 0 ok, 1 errors in the input, 2 bad command line, 3 a gate failed, 4 cannot\n"
         "read or write, 70 internal error.\n";
}

} // namespace tang::driver
