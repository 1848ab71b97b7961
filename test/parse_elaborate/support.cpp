#include "support.h"
#include "graph/text.h"
#include "graph/verify.h"
#include <fstream>
#include <sstream>

namespace tang::parse::test {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string Outcome::text(bool with_notes) const {
  std::string all;
  auto line = [&](std::string_view what, Span span, const std::string& message) {
    all += what;
    if (span) {
      auto at = sources.position(span.file, span.begin);
      all += fmt::format(" {}:{}", at.line, at.column);
    }
    all += fmt::format(" {}\n", message);
  };
  for (const Diagnostic& d : sink.diagnostics()) {
    line(info(d.kind).code, d.span, d.message);
    for (const Note& note : d.notes)
      if (with_notes)
        line(note.severity == Severity::help ? "  help" : "  note", note.span, note.message);
  }
  return all;
}

Outcome elaborate_text(const std::string& text, const Given& given) {
  static const std::string library = read_file(std::string(TANGC_SOURCE_DIR) + "/specs/nn.tg");
  Outcome outcome;
  FileId file = outcome.sources.add("t.tg", text);
  ElaborateOptions options;
  options.dims = given.dims;
  if (given.with_library) options.library_text = library;
  options.read_file = [&](const std::string& path) -> std::optional<std::string> {
    auto at = given.files.find(path);
    return at == given.files.end() ? std::nullopt : std::optional(at->second);
  };
  outcome.graph = elaborate(outcome.sources, file, options, outcome.sink, &outcome.included);
  if (outcome.graph) graph::verify(*outcome.graph, "elaborate");
  return outcome;
}

std::string graph_text(const std::string& text, const Given& given) {
  Outcome outcome = elaborate_text(text, given);
  return outcome.graph ? graph::to_text(*outcome.graph) : outcome.text(true);
}

} // namespace tang::parse::test
