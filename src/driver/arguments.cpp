#include "driver/arguments.h"
#include "base/check.h"
#include "driver/files.h"
#include <CLI/CLI.hpp>

namespace tang::driver {

namespace {

/// Splits the text of a response file as gcc and clang do.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      open = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (!blank) {
      word += c;
      open = true;
    } else if (open) {
      words.push_back(std::exchange(word, {}));
      open = false;
    }
  }
  if (open) words.push_back(word);
  return words;
}

/// `-MD` is no name that CLI11 knows; inside, it is `--MD`.
std::string inner_name(std::string_view name) {
  return is_compiler_style(name) ? "-" + std::string(name) : std::string(name);
}

/// Compiler-style words in CLI11's spelling; `-MFfile` becomes two words.
std::vector<std::string> to_inner(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    const OptionRow* found = nullptr;
    for (const OptionRow& row : option_rows())
      if (is_compiler_style(row.names) && word.rfind(row.names, 0) == 0 &&
          (word.size() == row.names.size() || row.takes != Takes::none))
        found = &row;
    result.push_back(found ? inner_name(found->names) : word);
    if (found && word.size() > found->names.size())
      result.push_back(word.substr(found->names.size()));
  }
  return result;
}

std::string joined_names(const OptionRow& row) {
  std::string names;
  for_each_part(row.names, ',', [&](std::string_view name) {
    names += (names.empty() ? "" : ",") + inner_name(name);
  });
  return names;
}

void add_rows(CLI::App& app, Verb verb, Arguments& out) {
  for (const OptionRow& row : option_rows()) {
    if (!row.applies_to(verb)) continue;
    auto& slot = out.values[static_cast<size_t>(row.id)];
    auto keep = [&slot](const std::string& value) { slot.push_back(value); };
    if (row.takes == Takes::none) {
      app.add_flag_function(joined_names(row), [&slot](int64_t count) {
        slot.assign(static_cast<size_t>(count), "");
      });
    } else if (row.takes == Takes::maybe) {
      std::string first(row.values.substr(0, row.values.find(' ')));
      app.add_flag(fmt::format("{}{{{}}}", joined_names(row), first))->each(keep);
    } else {
      app.add_option_function<std::vector<std::string>>(
             joined_names(row), [&slot](const std::vector<std::string>& v) { slot = v; })
          ->allow_extra_args(false);
    }
  }
}

/// What CLI11 could not place, in our voice.
void report_extra(const std::string& word, Verb verb, Sink& sink) {
  if (word.size() < 2 || word[0] != '-') {
    sink.report(Kind::command_line, {}, "unexpected operand `{}`", word);
    return;
  }
  std::string name = word.substr(0, word.find('='));
  std::vector<std::string> candidates;
  const OptionRow* elsewhere = nullptr;
  for (const OptionRow& row : option_rows())
    for_each_part(row.names, ',', [&](std::string_view spelling) {
      if (row.applies_to(verb))
        candidates.emplace_back(spelling);
      else if (spelling == name)
        elsewhere = &row;
    });
  auto& diagnostic =
      elsewhere ? sink.report(Kind::command_line, {}, "`{}` is not an option of `tangc{}{}`", name,
                              verb == Verb::compile ? "" : " ", row_of(verb).name)
                : sink.report(Kind::command_line, {}, "unknown option `{}`", name);
  std::string near = elsewhere ? "" : nearest_name(name, candidates);
  if (!near.empty()) diagnostic.help(fmt::format("did you mean `{}`?", near));
}

/// An option without its argument: CLI11 starts such a text with the option's inner name.
void report_parse_error(const std::string& text, Verb verb, Sink& sink) {
  for (const OptionRow& row : option_rows()) {
    if (!row.applies_to(verb) || (row.takes != Takes::one && row.takes != Takes::many)) continue;
    if (text.rfind(inner_name(row.name()) + ":", 0) != 0) continue;
    sink.report(Kind::command_line, {}, "`{}` needs its argument, `{}`", row.name(), row.argument)
        .help(fmt::format("such as `tangc {}`", row.example));
    return;
  }
  sink.report(Kind::command_line, {}, "{}", text);
}

/// `--emit=` with nothing behind it: CLI11 would take the next word.
void check_empty_values(const std::vector<std::string>& words, Verb verb, Sink& sink) {
  for (const std::string& word : words) {
    if (word.rfind("--", 0) != 0 || word.find('=') + 1 != word.size()) continue;
    std::string name = word.substr(0, word.size() - 1);
    for (const OptionRow& row : option_rows())
      if (row.applies_to(verb) && row.takes != Takes::none && row.name() == name)
        sink.report(Kind::command_line, {}, "nothing stands behind `{}`", word)
            .help(fmt::format("it takes `{}`, such as `tangc {}`", row.argument, row.example));
  }
}

bool check_words(const Arguments& arguments, Sink& sink) {
  bool good = true;
  for (const OptionRow& row : option_rows()) {
    // Lists such as --emit check their own parts.
    if (!row.has_words() || row.takes == Takes::many) continue;
    for (const std::string& value : arguments.all(row.id)) {
      std::vector<std::string> words;
      for_each_part(row.values, ' ', [&](std::string_view w) { words.emplace_back(w); });
      if (std::find(words.begin(), words.end(), value) != words.end()) continue;
      good = false;
      sink.report(Kind::command_line, {}, "`{}` cannot be `{}`", row.name(), value)
          .help(fmt::format("one of `{}`", fmt::join(words, "`, `")));
    }
  }
  return good;
}

} // namespace

std::optional<std::vector<std::string>> expand_response_files(std::vector<std::string> words,
                                                              Sink& sink) {
  // A stack of word lists, each with the place that is next: files may nest, code does not.
  struct Level {
    std::vector<std::string> words;
    size_t next = 0;
  };
  std::vector<Level> levels{{std::move(words), 0}};
  std::vector<std::string> result;
  bool options = true;
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.words.size()) {
      levels.pop_back();
      continue;
    }
    std::string word = level.words[level.next++];
    if (word == "--") options = false;
    if (!options || word.size() < 2 || word[0] != '@') {
      result.push_back(std::move(word));
      continue;
    }
    if (levels.size() > 16) {
      sink.report(Kind::command_line, {}, "response files nest more than 16 deep at `{}`", word);
      return std::nullopt;
    }
    auto text = read_file(word.substr(1));
    if (!text) {
      sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", word.substr(1), last_error());
      return std::nullopt;
    }
    if (size_t at = text->find('\0'); at != text->npos) {
      sink.report(Kind::command_line, {}, "byte {} of response file `{}` is NUL, which is no text",
                  at, word.substr(1));
      return std::nullopt;
    }
    levels.push_back({split_words(*text), 0});
  }
  return result;
}

std::optional<Arguments> parse_arguments(const std::vector<std::string>& words, Sink& sink) {
  Arguments out;
  out.values.resize(option_rows().size());
  std::vector<std::string> rest = words;
  bool helps = !rest.empty() && rest[0] == "help";
  if (helps) rest.erase(rest.begin());
  if (!rest.empty())
    if (auto verb = verb_named(rest[0])) {
      out.verb = *verb;
      out.verb_name = rest[0];
      rest.erase(rest.begin());
    }
  if (out.verb == Verb::later) return out;

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_option("operands", out.operands);
  add_rows(app, out.verb, out);
  auto mark = std::find(rest.begin(), rest.end(), "--");
  std::vector<std::string> behind_mark(mark == rest.end() ? mark : mark + 1, rest.end());
  rest.erase(mark, rest.end());
  check_empty_values(rest, out.verb, sink);
  if (!sink.ok()) return std::nullopt;
  rest = to_inner(rest);
  std::reverse(rest.begin(), rest.end()); // CLI11 takes them from the back
  try {
    app.parse(rest);
  } catch (const CLI::ParseError& error) {
    report_parse_error(error.what(), out.verb, sink);
    return std::nullopt;
  }
  out.operands.insert(out.operands.end(), behind_mark.begin(), behind_mark.end());
  for (const std::string& word : app.remaining()) report_extra(word, out.verb, sink);
  if (!sink.ok() || !check_words(out, sink)) return std::nullopt;
  if (helps) out.values[static_cast<size_t>(OptionId::help)] = {""};
  return out;
}

} // namespace tang::driver
