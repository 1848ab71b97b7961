// `tangc report`: tables, differences, and files that are no reports.
#include "compile.h"
#include <catch2/catch.hpp>

using namespace tang;
using namespace tang::report;

namespace {

std::string json_of(const std::string& body, int64_t n) {
  std::string messages;
  auto compiled = report::test::compile("test.tg", "tg 1\ndim N in 1..100000\n" + body, "sm_80",
                                        messages, {{"N", n}});
  INFO(messages);
  REQUIRE(compiled);
  return report_json(compiled->input());
}
const char* add = "input x : f32[N]\ny[i] = x[i] + 1\noutput y : f32[N]\n";

/// What is said about a file that is no report; empty when it is taken.
std::string fault(const std::string& text, Span* at = nullptr) {
  SourceManager sources;
  Sink sink;
  auto out = report_text(sources, sources.add("a.json", text), {}, sink);
  if (out) return "";
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(sink.diagnostics()[0].kind == Kind::report_file);
  if (at) *at = sink.diagnostics()[0].span;
  return sink.diagnostics()[0].message;
}

} // namespace

TEST_CASE("a report as tables", "[report]") {
  SourceManager sources;
  Sink sink;
  auto text = report_text(sources, sources.add("a.json", json_of(add, 1000)), {}, sink);
  REQUIRE(text);
  INFO(*text);
  CHECK(text->find("test.tg for sm_80 on a100-80gb: 1 kernel,") == 0);
  CHECK(text->find("\ny  ") != std::string::npos);
  CHECK(text->find("compulsory  7.81 KiB") != std::string::npos);
  CHECK(text->find("test.tg:4") != std::string::npos);
  CHECK(text->find(" \n") == std::string::npos);
}

TEST_CASE("two reports: what changed", "[report]") {
  SourceManager sources;
  Sink sink;
  FileId now = sources.add("b.json", json_of(add, 2000)),
         base = sources.add("a.json", json_of(add, 1000));
  auto text = report_text(sources, now, base, sink);
  REQUIRE(text);
  INFO(*text);
  CHECK(text->find("+100.0%") != std::string::npos);
  auto same = report_text(sources, base, base, sink);
  REQUIRE(same);
  CHECK(same->find('%') == std::string::npos);
}

TEST_CASE("files that are no reports are refused, with a place", "[report]") {
  Span at;
  CHECK(fault("", &at).find("not JSON") != std::string::npos);
  CHECK(fault("{\"schema\": }", &at).find("not JSON") != std::string::npos);
  CHECK(at.begin == 11);
  CHECK(fault("[]").find("no `schema`") != std::string::npos);
  CHECK(fault("{\"schema\": \"tangc.sol/9\"}").find("is not `tangc.sol/1`") != std::string::npos);
  CHECK(fault("{\"schema\": \"tangc.sol/1\"}").find("`input`") != std::string::npos);
  CHECK(fault(std::string(100000, '[')).find("too deep") != std::string::npos);
  CHECK(fault("{\"a\":" + std::string(70, '{')).find("too deep") != std::string::npos);
  CHECK(fault("\"\xff\"") != "");
  CHECK(fault("1e999999") != "");
}

TEST_CASE("no change of one value makes the reader fail", "[report]") {
  // Every value of a good report replaced by one of another kind: text or a fault, never a crash.
  const std::string good = json_of(add, 1000);
  size_t taken = 0, refused = 0;
  for (size_t colon = good.find(": "); colon != std::string::npos;
       colon = good.find(": ", colon + 1)) {
    size_t end = good.find_first_of(",\n", colon + 2);
    char first = good[colon + 2];
    if (first == '{' || first == '[') continue;
    for (const char* other : {"null", "[]", "-7", "\"\\u001b[31m\""}) {
      std::string text = good.substr(0, colon + 2) + other + good.substr(end);
      SourceManager sources;
      Sink sink;
      auto out = report_text(sources, sources.add("a.json", text), {}, sink);
      out ? ++taken : ++refused;
      CHECK(out.has_value() == sink.ok());
      if (out) CHECK(out->find('\x1b') == std::string::npos);
    }
  }
  CHECK(taken > 100);
  CHECK(refused > 10);
}
