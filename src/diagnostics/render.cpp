#include "diagnostics/render.h"
#include "diagnostics/machine_formats.h"
#include "diagnostics/snippet.h"
#include "diagnostics/visible.h"

namespace tang {
namespace {

constexpr std::string_view bold = "\x1b[1m", green = "\x1b[1;32m", reset = "\x1b[0m";

std::string_view color_of(Severity severity) {
  switch (severity) {
  case Severity::error: return "\x1b[1;31m";
  case Severity::warning: return "\x1b[1;35m";
  case Severity::note: return "\x1b[1;36m";
  case Severity::help: return "\x1b[1;34m";
  }
  return {};
}

/// One message of the gcc format: a headline, and the source line where `snippet` asks for it.
class GccWriter {
public:
  GccWriter(const SourceManager& sources, const RenderOptions& options)
      : sources_(sources), options_(options) {}

  void diagnostic(const Diagnostic& d) {
    const KindInfo& row = info(d.kind);
    std::string suffix = fmt::format(" [{}]", row.code);
    if (!row.flag.empty())
      suffix += fmt::format(" [-W{}{}]", d.severity == Severity::error ? "error=" : "", row.flag);
    headline(d.span, d.severity, d.message, suffix);
    source(d.span, d.fix);
    for (const Note& note : d.notes) {
      // A note about no place of its own stands at the diagnostic's, whose line was just shown.
      headline(note.span ? note.span : d.span, note.severity, note.message, "");
      source(note.span, "");
    }
  }
  std::string take() { return std::move(out_); }

private:
  std::string painted(std::string_view style, std::string_view text) const {
    return options_.color ? fmt::format("{}{}{}", style, text, reset) : std::string(text);
  }

  void headline(Span span, Severity severity, std::string_view message, std::string_view suffix) {
    std::string place = options_.tool;
    if (span) {
      LineColumn at = sources_.position(span.file, span.begin);
      place =
          fmt::format("{}:{}:{}", visible_text(sources_.file(span.file).path), at.line, at.column);
    }
    bool strong = severity == Severity::error || severity == Severity::warning;
    std::string text = visible_text(message);
    out_ += fmt::format("{} {} {}{}\n", painted(bold, place + ":"),
                        painted(color_of(severity), fmt::format("{}:", severity_name(severity))),
                        strong ? painted(bold, text) : text, suffix);
  }

  void source(Span span, std::string_view fix) {
    if (!span) return;
    Snippet snippet = snippet_of(span, sources_);
    std::string blanks(snippet.column, ' ');
    out_ += fmt::format("{:5} | {}\n", sources_.position(span.file, span.begin).line, snippet.line);
    out_ += fmt::format("      | {}{}\n", blanks, painted(green, snippet.mark));
    if (!fix.empty())
      out_ += fmt::format("      | {}{}\n", blanks, painted(green, visible_text(fix)));
  }

  const SourceManager& sources_;
  const RenderOptions& options_;
  std::string out_;
};

std::string msvc_line(Span span, const SourceManager& sources, const RenderOptions& options,
                      std::string_view what, std::string_view message) {
  std::string place = options.tool + " ";
  if (span) {
    LineColumn at = sources.position(span.file, span.begin);
    place =
        fmt::format("{}({},{})", visible_text(sources.file(span.file).path), at.line, at.column);
  }
  return fmt::format("{}: {}: {}\n", place, what, visible_text(message));
}

std::string render_msvc(const Diagnostic& d, const SourceManager& sources,
                        const RenderOptions& options) {
  std::string what = fmt::format("{} {}", severity_name(d.severity), info(d.kind).code);
  std::string out = msvc_line(d.span, sources, options, what, d.message);
  // That format knows notes only; a help is one.
  for (const Note& note : d.notes)
    out += msvc_line(note.span ? note.span : d.span, sources, options, "note", note.message);
  return out;
}

std::string counted(size_t count, std::string_view what) {
  return count == 0 ? "" : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "2 errors and 1 warning", or nothing.
std::string tally(size_t errors, size_t warnings, std::string_view more = "") {
  std::string e = counted(errors, fmt::format("{}error", more));
  std::string w = counted(warnings, fmt::format("{}warning", more));
  return e + (e.empty() || w.empty() ? "" : " and ") + w;
}

/// Shows diagnostics until the error after the last one allowed; everything from there on is
/// counted only.
Selection select(const std::vector<Diagnostic>& diagnostics, size_t max_errors) {
  Selection selection;
  size_t errors = 0;
  bool full = false;
  for (const Diagnostic& d : diagnostics) {
    bool error = d.severity == Severity::error;
    full = full || (error && max_errors > 0 && errors == max_errors);
    errors += error;
    if (!full)
      selection.shown.push_back(&d);
    else
      (error ? selection.hidden_errors : selection.hidden_warnings) += 1;
  }
  if (full)
    selection.hidden_text =
        tally(selection.hidden_errors, selection.hidden_warnings, "more ") + " not shown";
  return selection;
}

} // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
  case Severity::error: return "error";
  case Severity::warning: return "warning";
  case Severity::note: return "note";
  case Severity::help: return "help";
  }
  return {};
}

std::optional<DiagnosticsFormat> diagnostics_format_of_name(std::string_view name) {
  if (name == "gcc") return DiagnosticsFormat::gcc;
  if (name == "msvc") return DiagnosticsFormat::msvc;
  if (name == "json") return DiagnosticsFormat::json;
  if (name == "sarif") return DiagnosticsFormat::sarif;
  return std::nullopt;
}

std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                   const RenderOptions& options) {
  switch (options.format) {
  case DiagnosticsFormat::gcc: {
    GccWriter writer(sources, options);
    writer.diagnostic(diagnostic);
    return writer.take();
  }
  case DiagnosticsFormat::msvc: return render_msvc(diagnostic, sources, options);
  case DiagnosticsFormat::json: return json_line(diagnostic, sources);
  case DiagnosticsFormat::sarif: return sarif_log({{&diagnostic}, 0, 0, ""}, sources, options);
  }
  return {};
}

std::string render_all(const std::vector<Diagnostic>& diagnostics, const SourceManager& sources,
                       const RenderOptions& options) {
  Selection selection = select(diagnostics, options.max_errors);
  if (options.format == DiagnosticsFormat::sarif) return sarif_log(selection, sources, options);
  std::string out;
  for (const Diagnostic* d : selection.shown) out += render(*d, sources, options);
  if (options.format == DiagnosticsFormat::json) {
    if (!selection.hidden_text.empty()) out += json_note(selection.hidden_text);
    return out;
  }
  if (!selection.hidden_text.empty()) out += selection.hidden_text + "\n";
  if (options.format == DiagnosticsFormat::msvc || diagnostics.empty()) return out;
  size_t errors = 0;
  for (const Diagnostic& d : diagnostics) errors += d.severity == Severity::error;
  return out + tally(errors, diagnostics.size() - errors) + " generated\n";
}

} // namespace tang
