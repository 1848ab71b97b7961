#include "driver/options.h"
#include "driver/outputs.h"
#include "targets/find.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unistd.h>

namespace tang::driver {

namespace {

std::optional<int64_t> to_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `NAME=` in front of both forms of a dim.
std::optional<std::pair<std::string, std::string>>
name_and_value(const std::string& text, std::string_view option, Sink& sink) {
  size_t at = text.find('=');
  if (at != text.npos && at > 0) return {{text.substr(0, at), text.substr(at + 1)}};
  sink.report(Kind::command_line, {}, "`{} {}` is not of the form `NAME=...`", option, text);
  return std::nullopt;
}

void read_fixed_dims(const Arguments& arguments, std::vector<parse::DimBinding>& out, Sink& sink) {
  for (const std::string& text : arguments.all(OptionId::dim)) {
    auto parts = name_and_value(text, "-D", sink);
    if (!parts) continue;
    if (auto value = to_integer(parts->second))
      out.push_back({parts->first, *value, *value, 1});
    else
      sink.report(Kind::command_line, {}, "`-D {}`: `{}` is no 64-bit integer", text, parts->second)
          .help("a range is given with `--dim NAME=LO..HI`");
  }
}

/// LO..HI or LO..HI/STEP
std::optional<parse::DimBinding> read_range(const std::string& name, std::string_view text) {
  parse::DimBinding binding{name, 0, 0, 1};
  size_t dots = text.find(".."), slash = text.find('/');
  if (dots == text.npos) return std::nullopt;
  auto lo = to_integer(text.substr(0, dots));
  auto hi = to_integer(
      text.substr(dots + 2, slash == text.npos ? slash : slash - std::min(slash, dots + 2)));
  auto step = slash == text.npos ? std::optional<int64_t>(1) : to_integer(text.substr(slash + 1));
  if (!lo || !hi || !step || *step < 1 || *lo > *hi) return std::nullopt;
  binding.lo = *lo, binding.hi = *hi, binding.step = *step;
  return binding;
}

void read_dims(const Arguments& arguments, std::vector<parse::DimBinding>& out, Sink& sink) {
  read_fixed_dims(arguments, out, sink);
  for (const std::string& text : arguments.all(OptionId::dim_range)) {
    auto parts = name_and_value(text, "--dim", sink);
    if (!parts) continue;
    auto range = read_range(parts->first, parts->second);
    if (range)
      out.push_back(*range);
    else
      sink.report(Kind::command_line, {},
                  "`--dim {}`: `{}` is not `LO..HI` or `LO..HI/STEP` with LO at most HI", text,
                  parts->second);
  }
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out[i].name == out[j].name) {
        sink.report(Kind::command_line, {}, "dim `{}` is bound twice", out[i].name);
        return;
      }
}

void read_warnings(const Arguments& arguments, WarningPolicy& policy, Sink& sink) {
  policy.all_off = arguments.has(OptionId::no_warnings);
  for (std::string text : arguments.all(OptionId::warning)) {
    if (text == "error") {
      policy.all_errors = true;
      continue;
    }
    std::string name = text;
    bool off = name.rfind("no-", 0) == 0, error = name.rfind("error=", 0) == 0;
    if (off) name.erase(0, 3);
    if (error) name.erase(0, 6);
    if (auto kind = kind_of_flag(name)) {
      if (off)
        policy.disabled.push_back(*kind);
      else
        std::erase(policy.disabled, *kind);
      if (error) policy.errors.push_back(*kind);
      continue;
    }
    std::vector<std::string> known;
    for (const KindInfo& row : all_kinds())
      if (!row.flag.empty()) known.emplace_back(row.flag);
    sink.report(Kind::command_line, {}, "no warning is called `{}`", name)
        .help(name_help(name, "warning", known));
  }
}

bool wants_color(const Arguments& arguments) {
  std::string when = arguments.last(OptionId::color);
  if (when == "always" || when == "never") return when == "always";
  // https://no-color.org: set and not empty, whatever the value
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if ((no_color && *no_color) || (term && std::string_view(term) == "dumb")) return false;
  return isatty(STDERR_FILENO);
}

void read_targets(const Arguments& arguments, CompileOptions& out, Sink& sink) {
  if (!arguments.has(OptionId::target))
    sink.report(Kind::command_line, {}, "no target is given")
        .help("name one with `--target`, such as `--target=c`; `tangc targets` lists all");
  for (const std::string& list : arguments.all(OptionId::target))
    for_each_part(list, ',', [&](std::string_view text) {
      std::string error;
      auto spec = targets::find_target(text, error);
      if (!spec) {
        sink.report(Kind::command_line, {}, "{}", error);
        return;
      }
      bool twice = std::any_of(out.targets.begin(), out.targets.end(),
                               [&](const auto& t) { return t.target == spec->target; });
      if (twice)
        sink.report(Kind::command_line, {}, "target `{}` is named twice", spec->target->name);
      else if (!spec->target->printable)
        sink.report(Kind::target_cannot, {}, "this version cannot write code for target `{}`",
                    spec->target->name);
      else
        out.targets.push_back(*spec);
    });
}

void read_emit(const Arguments& arguments, CompileOptions& out, Sink& sink) {
  std::vector<std::string> names;
  for_each_part(row_of(OptionId::emit).values, ' ',
                [&](std::string_view name) { names.emplace_back(name); });
  for (const std::string& list : arguments.all(OptionId::emit))
    for_each_part(list, ',', [&](std::string_view name) {
      auto at = std::find(names.begin(), names.end(), name);
      if (at != names.end()) {
        out.emit.push_back(static_cast<Emit>(at - names.begin()));
        return;
      }
      auto& diagnostic =
          sink.report(Kind::command_line, {}, "`--emit` knows no output kind `{}`", name);
      diagnostic.help(fmt::format("one of `{}`", fmt::join(names, "`, `")));
    });
  if (!arguments.has(OptionId::emit))
    out.emit = out.output.empty() ? std::vector{Emit::source, Emit::header, Emit::report}
                                  : std::vector{Emit::source};
  std::sort(out.emit.begin(), out.emit.end());
  out.emit.erase(std::unique(out.emit.begin(), out.emit.end()), out.emit.end());
  auto apart = [](const auto& spec) { return host_file_of(*spec.target) != nullptr; };
  if (out.emits(Emit::launcher) && std::none_of(out.targets.begin(), out.targets.end(), apart))
    for (const auto& spec : out.targets)
      sink.report(Kind::target_cannot, {},
                  "`--emit=launcher`: the launcher of target `{}` is part of its source",
                  spec.target->name);
  if (out.emits(Emit::cmake) && !out.emits(Emit::launcher))
    for (const auto& spec : out.targets)
      if (apart(spec))
        sink.report(Kind::command_line, {},
                    "`--emit=cmake` for target `{}` builds its launcher, which `--emit` leaves out",
                    spec.target->name)
            .help("add `launcher` to `--emit`");
}

void read_embed(const Arguments& arguments, CompileOptions& out, Sink& sink) {
  out.embed = arguments.has(OptionId::embed);
  if (out.embed && !out.emits(Emit::source))
    sink.report(Kind::command_line, {},
                "`--embed` writes the source as data, and `--emit` names no source")
        .help("add `source` to `--emit`");
  if (out.embed && out.split)
    sink.report(Kind::command_line, {},
                "`--embed` holds one source, and `--split=kernel` makes several files of it")
        .help("leave out one of the two");
}

/// `REL[,ABS]`
std::optional<ErrorBudget> read_budget(const std::string& text, Sink& sink) {
  std::vector<std::optional<double>> limits;
  for_each_part(text, ',', [&](std::string_view part) {
    double value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    bool good = error == std::errc() && end == part.data() + part.size() && value > 0 &&
                std::isfinite(value);
    limits.push_back(good ? std::optional(value) : std::nullopt);
  });
  bool good = !limits.empty() && limits.size() <= 2 &&
              std::all_of(limits.begin(), limits.end(), [](const auto& l) { return l; });
  if (good) return ErrorBudget{*limits[0], limits.size() == 2 ? limits[1] : std::nullopt};
  sink.report(Kind::command_line, {},
              "`--error-budget` takes one or two positive numbers, not `{}`", text)
      .help("`--error-budget=1e-3`, or `--error-budget=1e-3,1e-6`: beside the largest value of an "
            "output, and absolute");
  return std::nullopt;
}

/// Options that this version knows and refuses.
void refuse_later_options(const Arguments& arguments, Sink& sink) {
  if (arguments.has(OptionId::tune))
    sink.report(Kind::not_in_this_version, {}, "`--tune` is not part of this version");
}

void read_outputs(const Arguments& arguments, CompileOptions& out, Sink& sink) {
  out.output = arguments.last(OptionId::output);
  out.directory = arguments.last(OptionId::directory);
  out.print_outputs = arguments.has(OptionId::print_outputs);
  out.write_if_changed = arguments.has(OptionId::write_if_changed);
  if (arguments.has(OptionId::output) && out.output.empty())
    sink.report(Kind::command_line, {}, "`-o` needs the name of a file");
  if (!out.output.empty() && out.targets.size() > 1)
    sink.report(Kind::command_line, {}, "`-o` names one source, and there are {} targets",
                out.targets.size())
        .help("`-d DIR` names a folder for all outputs");
}

void read_dependencies(const Arguments& arguments, CompileOptions& out, Sink& sink) {
  DependencyOptions& dependencies = out.dependencies;
  dependencies.beside = arguments.has(OptionId::deps_beside);
  dependencies.only = arguments.has(OptionId::deps_only);
  dependencies.phony = arguments.has(OptionId::deps_phony);
  dependencies.file = arguments.last(OptionId::deps_file);
  dependencies.targets = arguments.all(OptionId::deps_target);
  for (const std::string& name : arguments.all(OptionId::deps_quoted)) {
    auto escaped = make_name(name);
    if (!escaped) sink.report(Kind::command_line, {}, "a depfile cannot hold the name `{}`", name);
    dependencies.targets.push_back(escaped.value_or(""));
  }
  bool refines = arguments.has(OptionId::deps_file) || arguments.has(OptionId::deps_target) ||
                 arguments.has(OptionId::deps_quoted) || dependencies.phony;
  if (refines && !dependencies.beside && !dependencies.only)
    sink.report(Kind::command_line, {}, "`-MF`, `-MT`, `-MQ` and `-MP` refine `-MD` or `-M`")
        .help("add `-MD`");
}

/// What the generated bytes depend on, in the order of the option table; no names of files.
std::vector<std::string> canonical_options(const Arguments& arguments,
                                           const CompileOptions& options) {
  std::vector<std::string> words{fmt::format("-O{}", options.level)};
  for (OptionId id : {OptionId::dim, OptionId::dim_range}) {
    std::vector<std::string> values = arguments.all(id);
    std::sort(values.begin(), values.end());
    for (const std::string& value : values)
      words.push_back((id == OptionId::dim ? "-D" : "--dim=") + value);
  }
  for (OptionId id : {OptionId::prefix, OptionId::split, OptionId::checks, OptionId::index_bits,
                      OptionId::specialize, OptionId::precision, OptionId::error_budget})
    if (arguments.has(id))
      words.push_back(fmt::format("{}={}", row_of(id).name(), arguments.last(id)));
  for (OptionId id : {OptionId::allow_tf32, OptionId::fast_math, OptionId::batch_invariant})
    if (arguments.has(id)) words.emplace_back(row_of(id).name());
  return words;
}

} // namespace

bool CompileOptions::emits(Emit kind) const {
  return std::find(emit.begin(), emit.end(), kind) != emit.end();
}

std::optional<int64_t> number_option(const Arguments& arguments, OptionId id, int64_t initial,
                                     int64_t least, int64_t greatest, Sink& sink) {
  if (!arguments.has(id)) return initial;
  auto value = to_integer(arguments.last(id));
  if (value && *value >= least && *value <= greatest) return value;
  sink.report(Kind::command_line, {}, "`{}` takes a whole number from {} to {}, not `{}`",
              row_of(id).name(), least, greatest, arguments.last(id));
  return std::nullopt;
}

CommonOptions common_options(const Arguments& arguments, Sink& sink) {
  CommonOptions out;
  out.render.version = TANGC_VERSION;
  if (auto format = diagnostics_format_of_name(arguments.last(OptionId::diagnostics_format)))
    out.render.format = *format;
  out.render.color = wants_color(arguments);
  out.render.max_errors = static_cast<size_t>(
      number_option(arguments, OptionId::max_errors, 20, 0, 1'000'000, sink).value_or(20));
  read_warnings(arguments, out.warnings, sink);
  read_dims(arguments, out.dims, sink);
  out.verbose = arguments.has(OptionId::verbose);
  out.quiet = arguments.has(OptionId::quiet);
  if (arguments.has(OptionId::time_report))
    out.time_report =
        arguments.last(OptionId::time_report) == "json" ? TimeReport::json : TimeReport::text;
  return out;
}

std::optional<CompileOptions> compile_options(const Arguments& arguments, Sink& sink) {
  CompileOptions out;
  read_targets(arguments, out, sink);
  if (arguments.has(OptionId::optimize)) out.level = arguments.last(OptionId::optimize)[0] - '0';
  out.jobs =
      static_cast<int>(number_option(arguments, OptionId::jobs, 1, 1, 1024, sink).value_or(1));
  read_outputs(arguments, out, sink);
  read_emit(arguments, out, sink);
  read_dependencies(arguments, out, sink);
  refuse_later_options(arguments, sink);
  out.prefix = arguments.last(OptionId::prefix);
  if (arguments.has(OptionId::prefix) && out.prefix.empty())
    sink.report(Kind::command_line, {}, "`--prefix` cannot be empty");
  std::string checks = arguments.last(OptionId::checks);
  out.checks = checks == "none"   ? print::Checks::none
               : checks == "full" ? print::Checks::full
                                  : print::Checks::cheap;
  if (out.checks == print::Checks::full)
    for (const auto& spec : out.targets)
      if (const auto* dialect = print::dialect_named(spec.target->dialect);
          dialect && !dialect->reads_arguments)
        sink.report(Kind::target_cannot, {},
                    "`--checks=full`: the launcher for target `{}` never waits for the device, and "
                    "so cannot look at the data there",
                    spec.target->name)
            .help(
                "`--checks=cheap` tests all but the data; the code for target `c` tests that too");
  std::string bits = arguments.last(OptionId::index_bits);
  out.index_bits = bits == "32"   ? legalize::IndexBits::narrow
                   : bits == "64" ? legalize::IndexBits::wide
                                  : legalize::IndexBits::automatic;
  out.split = arguments.last(OptionId::split) == "kernel";
  read_embed(arguments, out, sink);
  out.fast_math = arguments.has(OptionId::fast_math);
  out.batch_invariant = arguments.has(OptionId::batch_invariant);
  if (arguments.has(OptionId::specialize))
    out.cases = read_size_cases(arguments.last(OptionId::specialize), sink);
  out.native_operands = arguments.last(OptionId::precision) != "exact";
  out.schedule = arguments.last(OptionId::schedule);
  if (arguments.has(OptionId::schedule) && out.schedule.empty())
    sink.report(Kind::command_line, {}, "`--schedule` needs the name of a file");
  if (arguments.has(OptionId::schedule) && out.targets.size() > 1)
    sink.report(Kind::command_line, {}, "`--schedule` is for one target, and there are {}",
                out.targets.size());
  out.atomics = arguments.all(OptionId::atomics);
  for (const std::string& file : out.atomics)
    if (file.empty()) sink.report(Kind::command_line, {}, "`--atomics` needs the name of a file");
  out.explain_atoms = arguments.has(OptionId::explain_atoms);
  out.allow_tf32 = arguments.has(OptionId::allow_tf32);
  if (arguments.has(OptionId::error_budget))
    out.budget = read_budget(arguments.last(OptionId::error_budget), sink);
  out.canonical = canonical_options(arguments, out);
  if (!sink.ok()) return std::nullopt;
  return out;
}

} // namespace tang::driver
