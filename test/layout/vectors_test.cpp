// The cases of vectors.yaml, through the language of `tangc layout`.
#include "driver/layout/expression.h"
#include "support.h"
#include <set>
#include <yaml-cpp/yaml.h>

using namespace tang;

namespace {

struct Outcome {
  std::string text, reason;
};

Outcome evaluated(const std::string& text) {
  SourceManager sources;
  Sink sink;
  Outcome out;
  auto expression = driver::parse_layout_expression(sources, sources.add("<vector>", text), sink);
  if (expression)
    if (auto value = driver::evaluate_layout_expression(*expression, sink))
      out.text = driver::value_text(*value);
  for (const Diagnostic& d : sink.diagnostics()) out.reason += d.message;
  return out;
}

} // namespace

TEST_CASE("every vector", "[vectors]") {
  YAML::Node vectors = YAML::LoadFile(TANGC_SOURCE_DIR "/test/layout/vectors.yaml");
  std::set<std::string> operations;
  for (const YAML::Node& vector : vectors) {
    auto expression = vector["expression"].as<std::string>();
    INFO(vector["id"].as<std::string>() << ": " << expression);
    operations.insert(vector["op"].as<std::string>());
    CHECK_FALSE(vector["source"].as<std::string>().empty());
    Outcome outcome = evaluated(expression);
    if (vector["refuse"]) {
      CHECK(outcome.text.empty());
      CHECK(outcome.reason.find(vector["refuse"].as<std::string>()) != std::string::npos);
      continue;
    }
    CHECK(outcome.reason.empty());
    CHECK(outcome.text == vector["result"].as<std::string>());
    if (!vector["image"]) continue;
    auto wanted = vector["image"].as<std::vector<int64_t>>();
    layout::Layout result = layout::read(outcome.text);
    for (size_t i = 0; i < wanted.size(); ++i)
      CHECK(layout::value_at(result, vector["at"] ? vector["at"][i].as<int64_t>()
                                                  : static_cast<int64_t>(i)) == wanted[i]);
    if (!vector["at"]) CHECK(static_cast<size_t>(layout::count_of(result)) == wanted.size());
  }
  CHECK(vectors.size() == 38);
  CHECK(operations == std::set<std::string>{"F2 basis", "bank conflicts", "blocked_product",
                                            "coalesce", "complement", "composition",
                                            "composition by mode", "eval", "left_inverse",
                                            "logical_divide", "logical_divide by mode",
                                            "logical_product", "raked_product", "recast",
                                            "right_inverse", "swizzle", "tile", "zipped_divide"});
}
