#include "driver/files.h"
#include "driver/outputs.h"
#include "driver/verbs.h"
#include "report/report.h"
#include <charconv>

namespace tang::driver {

namespace {

std::optional<FileId> open_file(Session& session, const std::string& path) {
  auto text = read_file(path);
  if (text) return session.sources.add(path == "-" ? "<stdin>" : path, std::move(*text));
  session.sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", path, last_error());
  return std::nullopt;
}

/// R of `--require-sol`, in 0 < R <= 1.
std::optional<double> required_part(Session& session) {
  std::string text = session.arguments.last(OptionId::require_sol);
  if (!session.arguments.has(OptionId::require_sol)) return std::nullopt;
  double part = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
  bool good = error == std::errc() && end == text.data() + text.size() && part > 0 && part <= 1;
  if (!good)
    session.sink.report(Kind::command_line, {},
                        "`--require-sol` takes a number above 0 and at most 1, not `{}`", text);
  return part;
}

/// The report with what was measured; failures of the gate are reported behind the text.
std::optional<report::Measured> merge(Session& session, FileId file, std::optional<double> part) {
  auto times = open_file(session, session.arguments.last(OptionId::measured));
  if (!times) return std::nullopt;
  auto measured = report::merge_measurements(session.sources, file, *times, part, session.sink);
  std::string output = session.arguments.last(OptionId::report_output);
  if (measured && !output.empty() && !write_files({{output, measured->json}}, false, session.sink))
    return std::nullopt;
  return measured;
}

} // namespace

void show_report(Session& session) {
  const Arguments& arguments = session.arguments;
  auto part = required_part(session);
  bool measures = arguments.has(OptionId::measured);
  if (!measures && (part || arguments.has(OptionId::report_output)))
    session.sink.report(Kind::command_line, {}, "`--require-sol` and `-o` need `--measured`");
  std::string output = arguments.last(OptionId::report_output);
  if (!session.sink.ok()) return;
  if (!output.empty() && !check_outputs({output}, {arguments.operands[0]}, session.sink)) return;
  auto file = open_file(session, arguments.operands[0]);
  if (!file) return;
  std::optional<report::Measured> measured;
  if (measures) {
    measured = merge(session, *file, part);
    if (!measured) return;
    file = session.sources.add(arguments.operands[0], measured->json);
  }
  // With two reports the first is the baseline.
  FileId shown = *file, baseline;
  if (arguments.operands.size() == 2) {
    auto second = open_file(session, arguments.operands[1]);
    if (!second) return;
    baseline = *file, shown = *second;
  }
  bool page = arguments.has(OptionId::report_page);
  auto text = page ? report::report_html(session.sources, shown, baseline, session.sink)
                   : report::report_text(session.sources, shown, baseline, session.sink);
  if (text && (page || !session.common.quiet)) print_text(session, *text);
  if (measured)
    for (const std::string& failure : measured->failures)
      session.sink.report(Kind::gate_failed, {}, "{}", failure);
}

} // namespace tang::driver
