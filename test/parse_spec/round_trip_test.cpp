// What the compiler writes is read back as the same program: the same text, and the same source.
#include "driver/spec_file.h"
#include "kernel/verify.h"
#include "lower/lower.h"
#include "parse/elaborate/elaborate.h"
#include "rewrite/passes.h"
#include "schedule/schedule.h"
#include "targets/embedded.h"
#include "targets/find.h"
#include <catch2/catch.hpp>
#include <filesystem>

using namespace tang;

namespace {

const std::string root = TANGC_SOURCE_DIR;

std::string messages(const SourceManager& sources, const Sink& sink) {
  std::string text;
  for (const Diagnostic& d : sink.diagnostics())
    text += fmt::format("{}: {}\n", d.span ? sources.position(d.span.file, d.span.begin).line : 0,
                        d.message);
  return text;
}

std::string source_of(const kernel::Program& program, const graph::Graph& graph,
                      const targets::Target& target) {
  const print::Dialect* dialect = print::dialect_named(target.dialect);
  REQUIRE(dialect);
  print::Part part{&program, &graph};
  print::PrintOptions options;
  options.target = target.name, options.prefix = program.name, options.stem = program.name;
  options.extension = target.extension;
  Sink sink;
  auto source = print::print_source({&part, 1}, *dialect, options, sink);
  REQUIRE(source);
  return source->text + print::print_header(program, graph, std::span(&target.name, 1), options);
}

/// Compares without a wall of text where they differ.
void check_equal(const std::string& a, const std::string& b) {
  if (a == b) return;
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  size_t from = at < 200 ? 0 : at - 200;
  FAIL("texts differ at byte " << at << "\n--- first\n"
                               << a.substr(from, 500) << "\n--- second\n"
                               << b.substr(from, 500));
}

/// Reads the text of a program and holds what is read to it.
kernel::Program read_back(const kernel::Program& program) {
  std::string text = kernel::to_text(program);
  SourceManager sources;
  Sink sink;
  FileId file = sources.add("p.spec", text);
  auto read = parse::spec::read_program(sources, file, {}, sink);
  INFO(messages(sources, sink));
  REQUIRE(read);
  check_equal(text, kernel::to_text(read->program));
  auto formatted = parse::spec::format(sources, file, sink);
  REQUIRE(formatted);
  check_equal(text, *formatted);
  return std::move(read->program);
}

/// Reads back what a program becomes for a target, and gives the plan.
plan::Plan check(const driver::Input& input, const std::string& target, int level) {
  INFO(input.name << " for " << target << " at -O" << level);
  driver::CommonOptions common;
  Sink sink;
  driver::Stages stages(common, {}, "");
  std::string error;
  auto spec = targets::find_target(target, error);
  REQUIRE(spec);
  driver::CompileOptions options;
  options.level = level, options.targets = {*spec};
  auto graphs = driver::rewrite_graphs({&input.graph, 1}, level, stages);
  auto result = driver::compile_target(graphs, input, *spec, options, sink, stages);
  REQUIRE(result);
  const driver::Variant& general = result->general();
  kernel::Program read = read_back(general.program);
  check_equal(source_of(general.program, general.graph, *spec->target),
              source_of(read, driver::interface_of(read), *spec->target));
  return general.plan;
}

void check_sample(const std::filesystem::path& path, const std::string& target, int level) {
  INFO(path.string());
  driver::CommonOptions common;
  Sink sink;
  SourceManager sources;
  driver::Stages stages(common, {}, "");
  auto input = driver::read_input(path.string(), common, sources, sink, stages);
  REQUIRE(input);
  check(*input, target, level);
}

std::vector<std::filesystem::path> samples() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/samples"))
    if (entry.path().extension() == ".tg") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

TEST_CASE("every sample is read back as it was written", "[round_trip]") {
  for (const auto& path : samples())
    for (const char* target : {"c", "sm_80", "sm_90a"}) check_sample(path, target, 2);
}

TEST_CASE("samples without fusion are read back", "[round_trip]") {
  for (const char* name : {"attention", "gated_delta_scan", "kmeans_step", "lstm_sequence", "moe"})
    check_sample(root + "/samples/" + name + ".tg", "sm_80", 0);
}

TEST_CASE("gradients of attention are read back", "[round_trip]") {
  for (const char* target : {"c", "sm_80", "sm_90a"})
    check_sample(root + "/scripts/bench/attention/attention_backward.tg", target, 2);
}

TEST_CASE("products that run as sums over parts are read back", "[round_trip]") {
  SourceManager sources;
  Sink sink;
  FileId file = sources.add("parts.tg", "tg 1\ngraph parts\ndim M in 64..65536 step 64\n"
                                        "dim N in 64..65536 step 64\ninput a : f32[M, 128]\n"
                                        "input b : f32[128, N]\n"
                                        "c[i, j] = sum[k] a[i, k] * b[k, j]\n"
                                        "output c : f32[M, N]\nbudget c : rel 1e-5\n");
  auto graph = parse::elaborate(sources, file, {{}, targets::embedded_spec("nn.tg"), {}}, sink);
  INFO(messages(sources, sink));
  REQUIRE(graph);
  driver::Input input{"parts.tg", "parts.tg", "parts", std::string(64, '0'), {}, *graph,
                      *graph,     {},         {}};
  for (const char* target : {"sm_80", "sm_90a"}) {
    plan::Plan plan = check(input, target, 2);
    REQUIRE(plan.steps.size() == 1);
    const auto& kernel = std::get<plan::KernelPlan>(plan.steps[0].node);
    CHECK(plan::is_split(kernel.variants.front().fields.precision));
  }
}

TEST_CASE("programs before legalisation are read back", "[round_trip]") {
  for (const char* name : {"matmul", "attention", "layer_norm", "softmax", "embedding",
                           "gru_sequence", "int8_matmul", "ssd"}) {
    INFO(name);
    driver::CommonOptions common;
    Sink sink;
    SourceManager sources;
    driver::Stages stages(common, {}, "");
    auto input =
        driver::read_input(root + "/samples/" + name + ".tg", common, sources, sink, stages);
    REQUIRE(input);
    auto graphs = driver::rewrite_graphs({&input->graph, 1}, 2, stages);
    schedule::Machine machine;
    machine.target = "sm_80", machine.units = 1, machine.dynamic_shared_bytes = 163840;
    plan::Plan plan = schedule::schedule(graphs[0], 2, machine);
    kernel::Program program =
        lower::lower(graphs[0], plan, {true, true, 16, std::string_view("sm_80")});
    kernel::Program read = read_back(program);
    // What was proved of the one is proved of the other.
    CHECK(kernel::find_unproved(read).empty());
  }
}
