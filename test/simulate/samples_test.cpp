// Every kernel of every sample, at the small sizes of test/samples, against the graph interpreter.
#include "support.h"
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace tang;
using namespace tang::simulate_test;

namespace {

struct Case {
  std::string name, file;
  std::vector<std::pair<std::string, int64_t>> dims;
  uint64_t seed = 1;
  std::vector<int> levels;
};

std::vector<Case> cases() {
  std::vector<Case> found;
  const std::pair<const char*, const char*> files[] = {{"cases.json", "samples/"},
                                                       {"nn_cases.json", "test/samples/"}};
  for (const auto& [file, folder] : files) {
    auto all = nlohmann::json::parse(file_text(std::string("test/samples/") + file));
    for (const auto& entry : all) {
      Case c;
      c.name = entry.at("name"), c.seed = entry.at("seed");
      c.file = folder + entry.at("sample").get<std::string>() + ".tg";
      for (const auto& [name, size] : entry.at("dims").items()) c.dims.push_back({name, size});
      auto levels = entry.value("levels", std::vector<std::string>{"-O0", "-O2"});
      for (const std::string& level : levels) c.levels.push_back(level[2] - '0');
      found.push_back(std::move(c));
    }
  }
  return found;
}

/// Runs all cases; a program that equals one that was run is not run again.
void run_all(const std::vector<std::string>& targets, bool legal) {
  for (const Case& c : cases()) {
    std::set<std::string> seen;
    std::map<bool, driver::TestVectors> data; // by whether factors are rounded
    std::string text = file_text(c.file);
    for (int level : c.levels)
      for (const std::string& target : targets) {
        INFO(c.name << " for " << target << " at -O" << level);
        Compiled compiled = compile({text, c.file, target, level, c.dims, false, "", legal});
        if (!seen.insert(kernel::to_text(compiled.program)).second) continue;
        bool rounds = rounds_factors(compiled);
        if (!data.contains(rounds)) data.emplace(rounds, data_of(compiled, c.seed));
        Outcome outcome = simulate(compiled, data.at(rounds));
        CHECK(outcome.faults == std::vector<std::string>());
        CHECK(!outcome.report.kernels.empty());
      }
  }
}

} // namespace

TEST_CASE("every sample, as it is printed for two generations of GPU, and for any", "[samples]") {
  run_all({"sm_80", "sm_90a", "opencl"}, true);
}

TEST_CASE("samples before the passes that make them legal, and on one core", "[levels]") {
  for (const char* name :
       {"softmax", "layer_norm_wide", "attention", "lstm_sequence", "int8_matmul", "kmeans_step",
        "kv_append", "gated_delta_one", "linear_relu_tiles"})
    for (const Case& c : cases()) {
      if (c.name != name) continue;
      std::string text = file_text(c.file);
      Compiled lowered = compile({text, c.file, "sm_80", 2, c.dims, false, "", false});
      driver::TestVectors data = data_of(lowered, c.seed);
      INFO(name);
      CHECK(simulate(lowered, data).faults == std::vector<std::string>());
      for (int level : {0, 2}) {
        Compiled core = compile({text, c.file, "c", level, c.dims, false, "", true});
        CHECK(simulate(core, data).faults == std::vector<std::string>());
        Compiled bound = compile({text, c.file, "sm_80", level, c.dims, true, "", true});
        CHECK(simulate(bound, data_of(bound, c.seed)).faults == std::vector<std::string>());
      }
    }
}

TEST_CASE("every variant of a launch gives the same", "[variants]") {
  for (const char* name : {"softmax", "layer_norm", "rms_norm", "linear_relu", "attention"})
    for (const Case& c : cases()) {
      if (c.name != name) continue;
      Compiled compiled = compile({file_text(c.file), c.file, "sm_80", 2, c.dims, false, "", true});
      driver::TestVectors data = data_of(compiled, c.seed);
      for (size_t variant = 0; variant < 20; ++variant) {
        interpret::RunOptions options;
        options.only_variant = variant;
        options.variant = interpret::VariantChoice::last;
        INFO(name << ", variant " << variant);
        CHECK(simulate(compiled, data, options).faults == std::vector<std::string>());
      }
    }
}

TEST_CASE("samples with the tiles of a wider search", "[search]") {
  // Sizes that matrix units take: at those of the cases nothing is left to search.
  const Case searched[] = {
      {"matmul", "samples/matmul.tg", {{"M", 32}, {"N", 64}, {"K", 256}}, 1, {}},
      {"linear_relu", "samples/linear_relu.tg", {{"M", 24}, {"N", 136}, {"K", 64}}, 2, {}},
      {"swiglu_mlp", "samples/swiglu_mlp.tg", {{"T", 16}, {"C", 64}, {"F", 32}}, 3, {}}};
  for (const Case& c : searched)
    for (const char* target : {"sm_80", "sm_90a"}) {
      INFO(c.name << " for " << target);
      std::string text = file_text(c.file);
      Compiled usual = compile({text, c.file, target, 2, c.dims, true, "", true}),
               wide = compile({text, c.file, target, 3, c.dims, true, "", true});
      CHECK(kernel::to_text(usual.program) != kernel::to_text(wide.program));
      CHECK(simulate(wide, data_of(wide, c.seed)).faults == std::vector<std::string>());
    }
}
