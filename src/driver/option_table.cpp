#include "driver/option_table.h"
#include "base/check.h"

namespace tang::driver {

namespace {

constexpr VerbRow verbs[] = {
    {Verb::compile, 'C', "", "FILE", 1, 1,
     "compile a `.tg` file, or a `.spec` file of kernels: sources, header, report"},
    {Verb::check, 'K', "check", "FILE...", 1, 1 << 20,
     "parse, types, ranges, monoid laws; writes no file, prints the dims"},
    {Verb::fmt, 'F', "fmt", "FILE...", 1, 1 << 20, "rewrite files in canonical form, or check it"},
    {Verb::run, 'R', "run", "FILE", 1, 1, "evaluate in f64 on given or random data"},
    {Verb::verify, 'V', "verify", "FILE", 1, 1,
     "build the generated kernels, run them here, compare with the interpreter"},
    {Verb::targets, 'T', "targets", "[T...]", 0, 1 << 20,
     "every target and device, with the source of each figure"},
    {Verb::explain, 'E', "explain", "[CODE]", 0, 1, "long text of a diagnostic; a list of all"},
    {Verb::report, 'P', "report", "A.sol.json [B.sol.json]", 1, 2,
     "a report as text; with two, the difference"},
    {Verb::layout, 'L', "layout", "EXPR", 1, 1,
     "evaluate an expression of layouts, or draw what it gives"},
};

constexpr OptionRow options[] = {
#define TANG_OPTION(id, names, argument, takes, group, verbs, values, help, example)               \
  {OptionId::id, names, argument, Takes::takes, OptionGroup::group, verbs, values, help, example},
#include "driver/options.def"
#undef TANG_OPTION
};

} // namespace

std::string_view title_of(OptionGroup group) {
  switch (group) {
  case OptionGroup::general: return "General";
  case OptionGroup::outputs: return "Outputs";
  case OptionGroup::scheduling: return "Schedule";
  case OptionGroup::numerics: return "Numerics";
  case OptionGroup::dependencies: return "Dependencies for make and ninja";
  case OptionGroup::running: return "Of this verb";
  case OptionGroup::diagnostics: return "Diagnostics";
  case OptionGroup::hidden: return "Hidden";
  }
  return "";
}

std::span<const VerbRow> verb_rows() {
  return verbs;
}

const VerbRow& row_of(Verb verb) {
  TANG_CHECK(verb != Verb::later, "a verb of a later version has no row");
  return verbs[static_cast<size_t>(verb)];
}

std::optional<Verb> verb_named(std::string_view name) {
  if (name == "tune" || name == "import") return Verb::later;
  for (const VerbRow& row : verbs)
    if (!row.name.empty() && row.name == name) return row.verb;
  return std::nullopt;
}

bool OptionRow::applies_to(Verb verb) const {
  return verbs.find(row_of(verb).letter) != verbs.npos;
}

std::string_view OptionRow::name() const {
  return names.substr(names.find(',') + 1); // npos + 1 is 0
}

std::span<const OptionRow> option_rows() {
  return options;
}

const OptionRow& row_of(OptionId id) {
  return options[static_cast<size_t>(id)];
}

bool is_compiler_style(std::string_view name) {
  return name.size() > 2 && name[0] == '-' && name[1] != '-';
}

} // namespace tang::driver
