// JSON and SARIF: exact where short, and always what a parser gives back.
#include "diagnostics/render.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace tang;
using Json = nlohmann::json;

namespace {

struct FaultsFixture {
  SourceManager sources;
  FileId file = sources.add("a b.tg", "tg 1\n\xC3\xA4\xC3\xA4 = y\n");
  FileId library = sources.add("<nn>", "def\n");
  Sink sink;
  RenderOptions options;

  void faults() {
    Diagnostic& d = sink.report(Kind::cannot_read, {file, 12, 13}, "unknown name `y`");
    d.note({library, 0, 3}, "a \"near\" one").help("did you mean `z`?");
    d.fix = "z";
    sink.report(Kind::include_cycle, {}, "a cycle");
    sink.report(Kind::cannot_read, {file, 0, 2}, "bad \xff byte\n");
  }
  std::string all(DiagnosticsFormat format) {
    options.format = format;
    return render_all(sink.diagnostics(), sources, options);
  }
};

} // namespace

TEST_CASE_METHOD(FaultsFixture, "json is one object a line", "[json]") {
  faults();
  std::string text = all(DiagnosticsFormat::json);
  std::istringstream lines(text);
  std::vector<Json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
  REQUIRE(objects.size() == 3);
  for (const Json& object : objects) CHECK(object.size() == 7);
  CHECK(
      text.substr(0, text.find('\n')) ==
      R"({"file":"a b.tg","line":2,"column":8,"severity":"error","code":"E0001","message":"unknown name `y`","notes":[)"
      R"({"file":"<nn>","line":1,"column":1,"severity":"note","message":"a \"near\" one"},)"
      R"({"file":null,"line":null,"column":null,"severity":"help","message":"did you mean `z`?"}]})");
  CHECK(objects[1]["file"].is_null());
  CHECK(objects[1]["notes"].empty());
  CHECK(objects[2]["message"] == "bad \xEF\xBF\xBD byte\n");
}

TEST_CASE_METHOD(FaultsFixture, "json says what was left out", "[json]") {
  faults();
  options.max_errors = 1;
  std::string text = all(DiagnosticsFormat::json);
  Json last = Json::parse(text.substr(text.find('\n') + 1));
  CHECK(last["severity"] == "note");
  CHECK(last["message"] == "2 more errors not shown");
  CHECK(last["code"].is_null());
  CHECK(last.size() == 7);
}

TEST_CASE_METHOD(FaultsFixture, "no diagnostics", "[json]") {
  CHECK(all(DiagnosticsFormat::json).empty());
  Json log = Json::parse(all(DiagnosticsFormat::sarif));
  CHECK(log["runs"][0]["results"] == Json::array());
  CHECK(log["runs"][0]["invocations"][0]["executionSuccessful"] == true);
}

TEST_CASE_METHOD(FaultsFixture, "sarif", "[sarif]") {
  faults();
  options.version = "1.2.3";
  Json log = Json::parse(all(DiagnosticsFormat::sarif));
  CHECK(log["version"] == "2.1.0");
  REQUIRE(log["runs"].size() == 1);
  const Json& run = log["runs"][0];
  CHECK(run["tool"]["driver"]["name"] == "tangc");
  CHECK(run["tool"]["driver"]["version"] == "1.2.3");
  CHECK(run["invocations"][0]["executionSuccessful"] == false);
  const Json& rules = run["tool"]["driver"]["rules"];
  REQUIRE(rules.size() == 2);
  REQUIRE(run["results"].size() == 3);
  for (const Json& result : run["results"]) {
    CHECK(rules[result["ruleIndex"].get<size_t>()]["id"] == result["ruleId"]);
    CHECK(result["level"] == "error");
    CHECK(result["message"]["text"].is_string());
  }
  const Json& first = run["results"][0];
  const Json& place = first["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "a%20b.tg");
  // Bytes 8 and 9 of the line are code points 6 and 7: two characters before them take two bytes
  // each.
  CHECK(run["columnKind"] == "unicodeCodePoints");
  CHECK(place["region"] ==
        Json({{"startLine", 2}, {"startColumn", 6}, {"endLine", 2}, {"endColumn", 7}}));
  CHECK(first["relatedLocations"].size() == 2);
  CHECK(first["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%3Cnn%3E");
  CHECK(first["relatedLocations"][1]["message"]["text"] == "did you mean `z`?");
  CHECK_FALSE(first["relatedLocations"][1].contains("physicalLocation"));
  const Json& change = first["fixes"][0]["artifactChanges"][0];
  CHECK(change["replacements"][0]["deletedRegion"] == place["region"]);
  CHECK(change["replacements"][0]["insertedContent"]["text"] == "z");
  CHECK_FALSE(run["results"][1].contains("locations"));
  CHECK_FALSE(run["results"][1].contains("fixes"));
}

TEST_CASE_METHOD(FaultsFixture, "sarif says what was left out", "[sarif]") {
  faults();
  options.max_errors = 2;
  Json run = Json::parse(all(DiagnosticsFormat::sarif))["runs"][0];
  CHECK(run["results"].size() == 2);
  CHECK(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] ==
        "1 more error not shown");
}

TEST_CASE_METHOD(FaultsFixture, "texts do not depend on when or where they are made", "[sarif]") {
  faults();
  for (DiagnosticsFormat format : {DiagnosticsFormat::json, DiagnosticsFormat::sarif})
    CHECK(all(format) == all(format));
}
