#include "diagnostics/machine_formats.h"
#include "diagnostics/visible.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tang {
namespace {

using Json = nlohmann::ordered_json;

/// One line; bytes that are no UTF-8 become U+FFFD, which a reader can at least parse.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json message_object(Span span, const SourceManager& sources, Severity severity) {
  Json object = {{"file", nullptr},
                 {"line", nullptr},
                 {"column", nullptr},
                 {"severity", severity_name(severity)}};
  if (span) {
    LineColumn at = sources.position(span.file, span.begin);
    object["file"] = sources.file(span.file).path;
    object["line"] = at.line;
    object["column"] = at.column;
  }
  return object;
}

/// A path as a relative or absolute URI reference (RFC 3986).
std::string uri_of(std::string_view path) {
  std::string uri;
  for (unsigned char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-._~/").find(static_cast<char>(c)) != std::string_view::npos;
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri;
}

/// Line and column of a place, the column in code points.
LineColumn sarif_position(FileId file, uint32_t offset, const SourceManager& sources) {
  LineColumn at = sources.position(file, offset);
  std::string_view before = sources.line_at(file, offset).substr(0, at.column - 1);
  at.column = static_cast<uint32_t>(count_code_points(before) + 1);
  return at;
}

Json region_of(Span span, const SourceManager& sources) {
  LineColumn begin = sarif_position(span.file, span.begin, sources);
  LineColumn end = sarif_position(span.file, std::max(span.begin, span.end), sources);
  return {{"startLine", begin.line},
          {"startColumn", begin.column},
          {"endLine", end.line},
          {"endColumn", end.column}};
}

Json artifact_of(Span span, const SourceManager& sources) {
  return {{"uri", uri_of(sources.file(span.file).path)}};
}

Json location_of(Span span, const SourceManager& sources) {
  return {
      {"physicalLocation",
       {{"artifactLocation", artifact_of(span, sources)}, {"region", region_of(span, sources)}}}};
}

Json result_of(const Diagnostic& d, size_t rule, const SourceManager& sources) {
  Json result = {{"ruleId", info(d.kind).code},
                 {"ruleIndex", rule},
                 {"level", severity_name(d.severity)},
                 {"message", {{"text", d.message}}}};
  if (d.span) result["locations"] = Json::array({location_of(d.span, sources)});
  Json related = Json::array();
  for (const Note& note : d.notes) {
    Json location = note.span ? location_of(note.span, sources) : Json::object();
    location["id"] = related.size();
    location["message"] = {{"text", note.message}};
    related.push_back(std::move(location));
  }
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  if (d.span && !d.fix.empty()) {
    Json replacement = {{"deletedRegion", region_of(d.span, sources)},
                        {"insertedContent", {{"text", d.fix}}}};
    Json change = {{"artifactLocation", artifact_of(d.span, sources)},
                   {"replacements", Json::array({replacement})}};
    result["fixes"] = Json::array({{{"artifactChanges", Json::array({change})}}});
  }
  return result;
}

Json rule_of(Kind kind) {
  const KindInfo& row = info(kind);
  return {{"id", row.code},
          {"name", row.name},
          {"fullDescription", {{"text", row.explanation}}},
          {"defaultConfiguration", {{"level", severity_name(row.severity)}}}};
}

} // namespace

std::string json_line(const Diagnostic& diagnostic, const SourceManager& sources) {
  Json object = message_object(diagnostic.span, sources, diagnostic.severity);
  object["code"] = info(diagnostic.kind).code;
  object["message"] = diagnostic.message;
  object["notes"] = Json::array();
  for (const Note& note : diagnostic.notes) {
    Json entry = message_object(note.span, sources, note.severity);
    entry["message"] = note.message;
    object["notes"].push_back(std::move(entry));
  }
  return dump(object);
}

std::string json_note(std::string_view message) {
  Json object = message_object({}, {}, Severity::note);
  object["code"] = nullptr;
  object["message"] = message;
  object["notes"] = Json::array();
  return dump(object);
}

std::string sarif_log(const Selection& selection, const SourceManager& sources,
                      const RenderOptions& options) {
  std::vector<Kind> kinds;
  for (const Diagnostic* d : selection.shown) kinds.push_back(d->kind);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  Json rules = Json::array(), results = Json::array();
  for (Kind kind : kinds) rules.push_back(rule_of(kind));
  bool failed = selection.hidden_errors > 0;
  for (const Diagnostic* d : selection.shown) {
    size_t rule =
        static_cast<size_t>(std::lower_bound(kinds.begin(), kinds.end(), d->kind) - kinds.begin());
    results.push_back(result_of(*d, rule, sources));
    failed = failed || d->severity == Severity::error;
  }
  Json driver = {{"name", options.tool}};
  if (!options.version.empty()) driver["version"] = options.version;
  driver["rules"] = std::move(rules);
  Json invocation = {{"executionSuccessful", !failed}};
  if (!selection.hidden_text.empty())
    invocation["toolExecutionNotifications"] =
        Json::array({{{"level", "note"}, {"message", {{"text", selection.hidden_text}}}}});
  Json run = {{"tool", {{"driver", std::move(driver)}}},
              {"columnKind", "unicodeCodePoints"},
              {"invocations", Json::array({std::move(invocation)})},
              {"results", std::move(results)}};
  return dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", Json::array({std::move(run)})}});
}

} // namespace tang
