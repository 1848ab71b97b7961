// Every sample elaborates without an error, verifies, and its text elaborates to a graph again.
#include "graph/text.h"
#include "support.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

using namespace tang;
using namespace tang::parse::test;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TANGC_SOURCE_DIR) + folder))
    if (entry.path().extension() == ".tg") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace

TEST_CASE("samples elaborate and verify") {
  std::vector<std::string> paths = files_in("/samples"), more = files_in("/test/samples");
  REQUIRE(paths.size() > 10);
  paths.insert(paths.end(), more.begin(), more.end());
  for (const std::string& path : paths) {
    INFO(path);
    Outcome outcome;
    REQUIRE_NOTHROW(outcome = elaborate_text(read_file(path)));
    CHECK(outcome.text(true) == "");
    REQUIRE(outcome.graph);
    CHECK(!outcome.graph->outputs.empty());
  }
}

TEST_CASE("the text of a sample's graph elaborates again") {
  for (const std::string& path : files_in("/samples")) {
    INFO(path);
    Outcome outcome = elaborate_text(read_file(path));
    if (!outcome.graph) continue; // the case above fails
    std::string text = graph::to_text(*outcome.graph);
    INFO(text);
    Outcome again;
    REQUIRE_NOTHROW(again = elaborate_text(text));
    INFO(again.text(true));
    REQUIRE(again.graph);
    CHECK(again.graph->outputs.size() == outcome.graph->outputs.size());
    CHECK(again.graph->inputs.size() == outcome.graph->inputs.size());
  }
}
