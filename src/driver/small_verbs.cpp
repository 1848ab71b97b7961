// check, fmt, targets, explain: verbs that need a few lines.
#include "driver/files.h"
#include "driver/instructions.h"
#include "driver/outputs.h"
#include "driver/pipeline.h"
#include "driver/spec_file.h"
#include "driver/verbs.h"
#include "interpret/check_monoids.h"
#include "parse/format.h"
#include "parse/parser.h"
#include "targets/describe.h"
#include "targets/find.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tang::driver {

namespace {

/// `dim M in 0..65536 step 4`, one a line.
std::string describe_dims(const graph::Graph& graph) {
  std::string text;
  for (const graph::Dim& dim : graph.dims)
    text += fmt::format("dim {} in {}..{}{}\n", dim.name, dim.lo, dim.hi,
                        dim.step == 1 ? "" : fmt::format(" step {}", dim.step));
  return text;
}

std::optional<std::string> formatted_text(Session& session, const std::string& path, FileId file) {
  if (is_spec_file(path)) {
    // What does not read is not rewritten.
    if (!parse::spec::read_program(session.sources, file, {}, session.sink)) return std::nullopt;
    return parse::spec::format(session.sources, file, session.sink);
  }
  auto module = parse::parse_module(session.sources, file, session.sink);
  if (!module) return std::nullopt;
  return parse::format_module(session.sources, *module);
}

void format_file(Session& session, const std::string& path) {
  auto text = read_file(path);
  if (!text) {
    session.sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", path, last_error());
    return;
  }
  FileId file = session.sources.add(path == "-" ? "<stdin>" : path, *text);
  auto made = formatted_text(session, path, file);
  if (!made) return;
  std::string formatted = std::move(*made);
  session.stages.done("fmt", path);
  bool check = session.arguments.has(OptionId::format_check);
  if (check && formatted != *text)
    session.sink.report(Kind::not_canonical, {}, "`{}` is not in canonical form", path)
        .help(fmt::format("`tangc fmt {}` rewrites it", path));
  if (check) return;
  if (path == "-")
    print_text(session, formatted);
  else if (formatted != *text)
    write_files({{path, formatted}}, false, session.sink);
}

nlohmann::ordered_json json_of(const targets::RowValue& value) {
  return std::visit(
      [](const auto& v) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return nullptr;
        else
          return v;
      },
      value);
}

nlohmann::ordered_json json_of(const targets::TargetSpec& spec) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const targets::Row& row : targets::rows_of(spec)) {
    nlohmann::ordered_json entry{{"value", json_of(row.value)}};
    if (!row.unit.empty()) entry["unit"] = row.unit;
    if (!row.source.empty()) entry["source"] = row.source;
    groups[row.group][row.key] = std::move(entry);
  }
  return groups;
}

/// `E0301 unknown_name: ` and the first sentence about it, for every code.
std::string list_codes() {
  std::vector<const KindInfo*> rows;
  for (const KindInfo& row : all_kinds()) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const KindInfo* a, const KindInfo* b) { return a->code < b->code; });
  std::string text;
  for (const KindInfo* row : rows) {
    std::string flag = row->flag.empty() ? "" : fmt::format(" (-W{})", row->flag);
    size_t end = row->explanation.find(". ");
    text += fmt::format("{} {}{}: {}\n", row->code, row->name, flag,
                        end == row->explanation.npos ? row->explanation
                                                     : row->explanation.substr(0, end + 1));
  }
  return text;
}

/// A kernel-level file, against the target that it names.
bool check_spec(Session& session, const std::string& path, std::string& dims) {
  auto spec = read_spec(path, {}, session.sources, session.sink, session.stages);
  if (!spec) return false;
  std::string name = spec->read.program.target, error;
  if (!name.empty()) {
    auto target = targets::find_target(name, error);
    if (!target)
      session.sink.report(Kind::command_line, spec->read.target, "{}", error);
    else
      parse::spec::check_instructions(spec->read, instructions_of(*target->target, spec->input),
                                      session.sink);
  }
  warn_unproved(spec->read, session.sink);
  dims += describe_dims(spec->input.graph);
  return session.sink.ok();
}

/// `dims` gets the text of its dims; false where it could not be read.
bool check_one(Session& session, const std::string& path, std::string& dims) {
  if (is_spec_file(path)) return check_spec(session, path, dims);
  auto input = read_input(path, session.common, session.sources, session.sink, session.stages);
  if (!input) return false;
  interpret::check_monoids(input->written, session.sink);
  session.stages.done("check_monoids", fmt::format("{} monoids", input->graph.monoids.size()));
  dims += describe_dims(input->graph);
  return true;
}

} // namespace

void check_file(Session& session) {
  const std::vector<std::string>& paths = session.arguments.operands;
  std::string text;
  for (const std::string& path : paths) {
    std::string dims;
    if (check_one(session, path, dims) && paths.size() > 1 && !dims.empty()) text += path + ":\n";
    text += dims;
  }
  if (session.sink.ok() && !session.common.quiet) print_text(session, text);
}

void format_files(Session& session) {
  for (const std::string& path : session.arguments.operands) format_file(session, path);
}

void list_targets(Session& session) {
  bool json = session.arguments.has(OptionId::json);
  std::vector<std::string> names = session.arguments.operands;
  if (names.empty() && !json) return print_text(session, targets::describe_targets());
  if (names.empty()) names = targets::target_names();
  std::string text;
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const std::string& name : names) {
    std::string error;
    auto spec = targets::find_target(name, error);
    if (!spec) {
      session.sink.report(Kind::command_line, {}, "{}", error);
      return;
    }
    if (json)
      all[name] = json_of(*spec);
    else
      text += (text.empty() ? "" : "\n") + targets::describe_target(*spec);
  }
  print_text(session, json ? all.dump(2) + "\n" : text);
}

void explain_code(Session& session) {
  if (session.arguments.operands.empty()) return print_text(session, list_codes());
  const std::string& code = session.arguments.operands[0];
  std::string upper = code;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  auto kind = kind_of_code(upper);
  if (!kind) kind = kind_of_flag(code);
  if (!kind) {
    session.sink.report(Kind::command_line, {}, "no diagnostic is called `{}`", code)
        .help("codes look like `E0301`, warnings have a name too, such as `unused-input`; `tangc "
              "explain` lists all");
    return;
  }
  const KindInfo& row = info(*kind);
  std::string flag = row.flag.empty() ? "" : fmt::format(", -W{}", row.flag);
  print_text(session, fmt::format("{} {} ({}{})\n\n{}\n", row.code, row.name,
                                  row.severity == Severity::error ? "error" : "warning", flag,
                                  row.explanation));
}

} // namespace tang::driver
