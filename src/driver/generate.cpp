// The man page and the completions: other views of the option table.
#include "driver/guide.h"
#include <fmt/format.h>
#include <functional>
#include <vector>

namespace tang::driver {

namespace {

/// Text as roff shows it: dashes of options stay dashes, no line starts a request.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '.' && out.empty())
      out += "\\&.";
    else
      out += c;
  }
  return out;
}

/// The words of a report.
constexpr const char* reports =
    ".SH REPORTS\n"
    "A report bounds what any implementation could reach on the target's device.\n"
    ".TP\n.B floor\nThe least time: the longest of moving the bytes that must move, multiplying "
    "what must be\nmultiplied, and one launch. Also called speed of light.\n"
    ".TP\n.B cold, warm\nThe floor when nothing is in a cache at the start, and when the last "
    "cache "
    "may hold the\ninputs already.\n"
    ".TP\n.B least traffic, compulsory\nBytes that must be read and written, whatever the "
    "schedule.\n"
    ".TP\n.B bound by\nThe resource that makes the floor.\n"
    ".TP\n.B operations\nArithmetic as the equations say it. A floor counts only products that no "
    "order of\nevaluation avoids.\n"
    ".TP\n.B as one kernel\nThe floor if nothing between the graph's inputs and outputs left the "
    "chip.\n"
    ".TP\n.B unfused, fused\nBytes when each equation runs alone, and as the kernels of this plan "
    "read and write.\n"
    ".TP\n.B reached\nFloor divided by measured time.\n"
    ".PP\nNotes below the tables say what a bound leaves out, and which law stopped where: "
    "attention,\nfor one, is a single kernel only where the extent of a head is a number\n"
    "(\\-D D=64, or \\-\\-specialize).\n";

std::string man_page() {
  std::string text = ".\\\" Made by tangc \\-\\-generate=man from src/driver/options.def.\n"
                     ".TH TANGC 1 \"\" \"tangc\" \"User Commands\"\n.SH NAME\n"
                     "tangc \\- compile tensor programs to kernels\n.SH SYNOPSIS\n.nf\n"
                     "tangc FILE \\-\\-target T[,T] [options]\n";
  for (const VerbRow& verb : verb_rows())
    if (!verb.name.empty())
      text += roff(fmt::format("tangc {} {}", verb.name, verb.operands)) + "\n";
  text += ".fi\n.SH VERBS\n";
  for (const VerbRow& verb : verb_rows())
    text +=
        fmt::format(".TP\n.B {}\n{}\n",
                    roff(fmt::format("tangc {}", verb.name.empty() ? verb.operands : verb.name)),
                    roff(verb.help));
  text += ".SH OPTIONS\n";
  for (int g = 0; g < static_cast<int>(OptionGroup::hidden); ++g) {
    auto group = static_cast<OptionGroup>(g);
    text += fmt::format(".SS {}\n", title_of(group));
    for (const OptionRow& row : option_rows()) {
      if (row.group != group) continue;
      std::string verbs;
      for (const VerbRow& verb : verb_rows())
        if (row.applies_to(verb.verb))
          verbs += fmt::format("{}{}", verbs.empty() ? "" : ", ",
                               verb.name.empty() ? "compile" : verb.name);
      text += fmt::format(".TP\n.B {}\n{}.\nVerbs: {}.\n.br\nExample: {}\n",
                          roff(option_signature(row)), roff(option_help(row)), verbs,
                          roff(fmt::format("tangc {}", row.example)));
    }
  }
  text += reports;
  return text + ".SH EXIT STATUS\n0 ok, 1 errors in the input, 2 bad command line, 3 a gate "
                "failed, 4 cannot\n"
                "read or write, 70 internal error.\n"
                ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen set and not empty, no colours.\n"
                ".SH SEE ALSO\n.BR tg (5)\n";
}

std::vector<std::string> names_of(const OptionRow& row) {
  std::vector<std::string> names;
  for_each_part(row.names, ',', [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string words_for(Verb verb) {
  std::string words;
  for (const OptionRow& row : option_rows())
    if (row.applies_to(verb) && row.group != OptionGroup::hidden)
      for (const std::string& name : names_of(row))
        words += (words.empty() ? "" : " ") + name +
                 (row.takes == Takes::one || row.takes == Takes::many
                      ? (name.substr(0, 2) == "--" ? "=" : "")
                      : "");
  return words;
}

std::string verb_words() {
  std::string words;
  for (const VerbRow& verb : verb_rows())
    if (!verb.name.empty()) words += (words.empty() ? "" : " ") + std::string(verb.name);
  return words;
}

std::string bash_completion() {
  std::string text =
      "# bash completion for tangc, made by tangc --generate=bash\n"
      "_tangc() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n"
      "  if [[ $cur == = ]]; then cur=\n"
      "  elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  case $prev in\n";
  for (const OptionRow& row : option_rows()) {
    if (row.takes == Takes::none || row.group == OptionGroup::hidden) continue;
    std::string reply = row.values == "FILE" ? "compgen -f -- \"$cur\""
                        : row.values == "DIR"
                            ? "compgen -d -- \"$cur\""
                            : fmt::format("compgen -W '{}' -- \"$cur\"", row.values);
    if (row.id == OptionId::target)
      reply = "compgen -W \"$(tangc targets --json 2>/dev/null | sed -n 's/^  \"\\(.*\\)\": "
              "{/\\1/p')\" "
              "-- \"$cur\"";
    if (row.values.empty() && row.id != OptionId::target) continue;
    text +=
        fmt::format("    {}) COMPREPLY=($({})); return ;;\n", fmt::join(names_of(row), "|"), reply);
  }
  text += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const VerbRow& verb : verb_rows())
    if (!verb.name.empty())
      text += fmt::format("    {}) words='{}' ;;\n", verb.name, words_for(verb.verb));
  text += fmt::format("    *) words='{}' ;;\n  esac\n", words_for(Verb::compile));
  return text + fmt::format(
                    "  if [[ $COMP_CWORD == 1 ]]; then words+=' {}'; fi\n"
                    "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
                    "  [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace\n}}\n"
                    "complete -o filenames -F _tangc tangc\n",
                    verb_words());
}

/// Inside single quotes, brackets and colons of a zsh specification.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_completion() {
  std::string text = "#compdef tangc\n# zsh completion for tangc, made by tangc --generate=zsh\n"
                     "local -a options\ncase $words[2] in\n";
  std::vector<VerbRow> verbs(verb_rows().begin() + 1, verb_rows().end());
  verbs.push_back(row_of(Verb::compile)); // the pattern `*` comes last
  for (const VerbRow& verb : verbs) {
    text += fmt::format("  {})\n    options=(\n", verb.name.empty() ? "*" : verb.name);
    for (const OptionRow& row : option_rows()) {
      if (!row.applies_to(verb.verb) || row.group == OptionGroup::hidden) continue;
      for (const std::string& name : names_of(row)) {
        std::string action = row.values == "FILE"  ? "_files"
                             : row.values == "DIR" ? "_files -/"
                             : row.has_words()     ? fmt::format("({})", row.values)
                                                   : " ";
        std::string tail =
            row.takes == Takes::none ? "" : fmt::format(":{}:{}", zsh_text(row.argument), action);
        std::string mark = row.takes == Takes::none    ? ""
                           : name.substr(0, 2) == "--" ? (row.takes == Takes::maybe ? "=-" : "=")
                                                       : "+";
        text += fmt::format("      '{}{}{}[{}]{}'\n", row.takes == Takes::many ? "*" : "", name,
                            mark, zsh_text(row.help), tail);
      }
    }
    text += "    ) ;;\n";
  }
  return text + fmt::format("esac\n_arguments -s $options '1:verb or file:_alternative "
                            "\"verbs:verb:({})\" \"files:file:_files\"' '*:file:_files'\n",
                            verb_words());
}

std::string fish_completion() {
  std::string text = "# fish completion for tangc, made by tangc --generate=fish\n";
  for (const VerbRow& verb : verb_rows())
    if (!verb.name.empty())
      text += fmt::format("complete -c tangc -n __fish_use_subcommand -a {} -d '{}'\n", verb.name,
                          verb.help);
  for (const OptionRow& row : option_rows()) {
    if (row.group == OptionGroup::hidden) continue;
    std::string condition;
    for (const VerbRow& verb : verb_rows())
      if (row.applies_to(verb.verb))
        condition += fmt::format(
            "{}{}", condition.empty() ? "" : "; or ",
            verb.name.empty() ? fmt::format("not __fish_seen_subcommand_from {}", verb_words())
                              : fmt::format("__fish_seen_subcommand_from {}", verb.name));
    std::string line = fmt::format("complete -c tangc -n '{}'", condition);
    for (const std::string& name : names_of(row))
      line += name.substr(0, 2) == "--" ? fmt::format(" -l {}", name.substr(2))
              : name.size() == 2        ? fmt::format(" -s {}", name.substr(1))
                                        : fmt::format(" -o {}", name.substr(1));
    if (row.takes != Takes::none) line += row.takes == Takes::maybe ? "" : " -r";
    if (row.has_words()) line += fmt::format(" -f -a '{}'", row.values);
    std::string help;
    for (char c : row.help) help += c == '\'' ? std::string("\\'") : std::string(1, c);
    text += line + fmt::format(" -d '{}'\n", help);
  }
  return text;
}

} // namespace

std::string generated_text(const std::string& what) {
  if (what == "man") return man_page();
  if (what == "bash") return bash_completion();
  if (what == "zsh") return zsh_completion();
  return fish_completion();
}

} // namespace tang::driver
