// Measurements against floors.
#include "compile.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace tang;
using namespace tang::report;
using Json = nlohmann::ordered_json;

namespace {

struct Files {
  SourceManager sources;
  Sink sink;
  FileId report;
  double cold = 0, warm = 0;

  Files() {
    std::string messages;
    auto compiled = report::test::compile(
        "test.tg",
        "tg 1\ndim N in 1..1000000000\ninput x : f32[N]\ny[i] = x[i] + 1\noutput y : f32[N]\n",
        "sm_90a:h200", messages, {{"N", 100000000}});
    INFO(messages);
    REQUIRE(compiled);
    std::string json = report_json(compiled->input());
    Json parsed = Json::parse(json);
    cold = parsed["kernels"][0]["floor"]["us"], warm = parsed["kernels"][0]["floor"]["warm_us"];
    report = sources.add("a.json", json);
  }
  std::optional<Measured> merge(const std::string& csv, std::optional<double> sol = {}) {
    sink = Sink();
    return merge_measurements(sources, report, sources.add("times.csv", csv), sol, sink);
  }
};

} // namespace

TEST_CASE("a measurement above the floor is merged", "[report]") {
  Files f;
  REQUIRE(f.warm < f.cold);
  auto out =
      f.merge(fmt::format("kernel,us,runs,clock\n# a note\n\ny, {},20,1980MHz\r\n", f.cold * 2));
  REQUIRE(out);
  CHECK(out->failures.empty());
  Json m = Json::parse(out->json)["kernels"][0]["measured"];
  CHECK(m["runs"] == 20);
  CHECK(m["clock"] == "1980MHz");
  CHECK(m["bound_violated"] == false);
  CHECK(m["sol"].get<double>() == Approx(0.5));
  // The merged file is a report again.
  SourceManager sources;
  Sink sink;
  auto text = report_text(sources, sources.add("m.json", out->json), {}, sink);
  REQUIRE(text);
  CHECK(text->find("50%") != std::string::npos);
}

TEST_CASE("a gate fails below its share, and where a floor is beaten", "[report]") {
  Files f;
  CHECK(f.merge(fmt::format("y,{}", f.cold * 2), 0.5)->failures.empty());
  CHECK(f.merge(fmt::format("y,{}", f.cold * 2), 0.51)->failures.size() == 1);
  // Between the floors the inputs may have been in the cache.
  auto warm = f.merge(fmt::format("y,{}", (f.cold + f.warm) / 2), 0.5);
  CHECK(warm->failures.empty());
  CHECK(Json::parse(warm->json)["kernels"][0]["measured"]["cache"] == "warm");
  auto beaten = f.merge(fmt::format("y,{}", f.warm * 0.99));
  REQUIRE(beaten);
  REQUIRE(beaten->failures.size() == 1);
  CHECK(beaten->failures[0].find("violated") != std::string::npos);
  CHECK(Json::parse(beaten->json)["kernels"][0]["measured"]["bound_violated"] == true);
}

TEST_CASE("faults of the table are located", "[report]") {
  Files f;
  for (const char* csv : {"y", "y,abc", "y,-1", "y,0", "y,nan", "y,inf", "y,1,0", "y,1,2,3,4",
                          "z,5", "y,5\ny,6", "y,5,x", "y,1e400"}) {
    INFO(csv);
    CHECK_FALSE(f.merge(csv));
    REQUIRE_FALSE(f.sink.ok());
    CHECK(f.sink.diagnostics()[0].kind == Kind::report_file);
    CHECK(f.sink.diagnostics()[0].span);
  }
  CHECK(f.merge("")); // nothing measured
}
