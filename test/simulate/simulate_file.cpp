// Compiles a `.tg` file for a target, runs its kernels on random data, and compares with the graph
// interpreter. Of a `.spec` file the kernels are run as written; nothing says what they should
// give, so only faults of running are found.
#include "driver/files.h"
#include "driver/spec_file.h"
#include "interpret/kernel/host.h"
#include "support.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

using namespace tang;

constexpr const char* usage =
    "simulate_file FILE.tg TARGET [options], simulate_file FILE.spec TARGET [options]\n"
    "  -D N=V           a size of the run, one for each dim\n"
    "  -O0 ... -O3      level (2)\n"
    "  --bound          compile for these sizes alone\n"
    "  --lowered        before the passes that make it legal\n"
    "  --schedule FILE  fields, as `tangc --schedule` takes them\n"
    "  --variant N      the variant of this number of every launch, where its condition holds\n"
    "  --last           the last variant whose condition holds, not the first\n"
    "  --seed N         of the data (1)\n"
    "  --spec           print the kernels\n"
    "  --counts         print what was moved\n"
    "Exit 0: all outputs agree and nothing was found; 1: not so; 2: no such program.\n";

struct Options {
  simulate_test::Request request;
  interpret::RunOptions run;
  uint64_t seed = 1;
  bool spec = false, counts = false;
};

bool read(int argc, char** argv, Options& o) {
  if (argc < 3) return false;
  auto text = driver::read_file(argv[1]);
  if (!text) return false;
  o.request.text = *text, o.request.name = argv[1], o.request.target = argv[2];
  for (int i = 3; i < argc; ++i) {
    std::string word = argv[i];
    auto next = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (word.rfind("-D", 0) == 0) {
      std::string binding = word.size() > 2 ? word.substr(2) : next();
      size_t equals = binding.find('=');
      if (equals == binding.npos) return false;
      o.request.dims.push_back(
          {binding.substr(0, equals), std::atoll(binding.c_str() + equals + 1)});
    } else if (word.rfind("-O", 0) == 0 && word.size() == 3) {
      o.request.level = word[2] - '0';
    } else if (word == "--bound") {
      o.request.bound = true;
    } else if (word == "--lowered") {
      o.request.legal = false;
    } else if (word == "--schedule") {
      auto fields = driver::read_file(next());
      if (!fields) return false;
      o.request.schedule = *fields;
    } else if (word == "--variant") {
      o.run.only_variant = static_cast<size_t>(std::atoll(next().c_str()));
    } else if (word == "--last") {
      o.run.variant = interpret::VariantChoice::last;
    } else if (word == "--seed") {
      o.seed = static_cast<uint64_t>(std::atoll(next().c_str()));
    } else if (word == "--spec") {
      o.spec = true;
    } else if (word == "--counts") {
      o.counts = true;
    } else {
      return false;
    }
  }
  return true;
}

void print_counts(const interpret::RunReport& report) {
  for (const auto& [name, c] : report.kernels) {
    std::printf("%s: launches %lld, blocks %lld\n", name.c_str(), (long long)c.launches,
                (long long)c.blocks);
    std::printf("  global: read %lld bytes in %lld sectors, written %lld bytes in %lld sectors\n",
                (long long)c.global_bytes_read, (long long)c.sectors_read,
                (long long)c.global_bytes_written, (long long)c.sectors_written);
    std::printf("  shared: read %lld bytes, written %lld bytes, %lld passes, %lld conflicts\n",
                (long long)c.shared_bytes_read, (long long)c.shared_bytes_written,
                (long long)c.shared_passes, (long long)c.shared_conflicts);
    std::printf("  barriers %lld, shuffles %lld\n", (long long)c.barriers, (long long)c.shuffles);
    for (const auto& [row, count] : c.instructions)
      std::printf("  %s: %lld\n", row.c_str(), (long long)count);
  }
}

/// Arguments that are no outputs hold random bits of small numbers, without NaN or infinity.
int run_spec(const Options& o) {
  SourceManager sources;
  Sink sink;
  driver::CommonOptions common;
  driver::Stages stages(common, {}, "");
  auto spec = driver::read_spec(o.request.name, {}, sources, sink, stages);
  for (const Diagnostic& d : sink.diagnostics()) std::printf("%s\n", d.message.c_str());
  if (!spec) return 2;
  const kernel::Program& program = spec->read.program;
  std::vector<int64_t> dims;
  interpret::simulator::HostVariables variables;
  for (kernel::VarId dim : program.dims) {
    const std::string& name = program.values[dim].name;
    auto given = std::find_if(o.request.dims.begin(), o.request.dims.end(),
                              [&](const auto& d) { return d.first == name; });
    if (given == o.request.dims.end()) throw std::runtime_error(name + " has no size: -D");
    dims.push_back(given->second);
    variables[dim] = given->second;
  }
  std::map<kernel::BufferId, interpret::Argument> arguments;
  uint32_t state = static_cast<uint32_t>(o.seed);
  for (kernel::BufferId id : program.arguments) {
    const kernel::Buffer& buffer = program.buffers[id.value];
    auto elements = interpret::simulator::host_value(program.values, buffer.elements, variables);
    if (buffer.written || !elements) continue;
    interpret::Argument& argument = arguments[id];
    argument.given = true;
    // 0.5 .. 2 or so in every format of reals, small integers in the others.
    int bytes = std::max(graph::info(buffer.type).bits / 8, 1);
    argument.bytes.resize(static_cast<size_t>(graph::bytes_of(buffer.type, *elements)));
    for (size_t n = 0; n < argument.bytes.size(); ++n) {
      state = state * 1664525 + 1013904223;
      bool high = n % static_cast<size_t>(bytes) == static_cast<size_t>(bytes) - 1;
      argument.bytes[n] = high ? 0x3c : static_cast<uint8_t>(state >> 24 & 0x7f);
    }
  }
  interpret::RunReport report = interpret::run_program(program, dims, arguments, o.run);
  if (o.counts) print_counts(report);
  for (const interpret::Finding& finding : report.findings)
    std::printf("%s\n", interpret::to_text(finding).c_str());
  std::printf("%s: %zu faults\n", report.findings.empty() ? "ok" : "FAIL", report.findings.size());
  return report.findings.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    if (driver::is_spec_file(o.request.name)) return run_spec(o);
    simulate_test::Compiled compiled = simulate_test::compile(o.request);
    if (o.spec) std::fputs(kernel::to_text(compiled.program).c_str(), stdout);
    driver::TestVectors data = simulate_test::data_of(compiled, o.seed);
    std::clock_t start = std::clock();
    simulate_test::Outcome outcome = simulate_test::simulate(compiled, data, o.run);
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (o.counts) print_counts(outcome.report);
    for (const std::string& fault : outcome.faults) std::printf("%s\n", fault.c_str());
    std::printf("%s: %zu faults, largest difference %.2f of what is allowed, %.3f s\n",
                outcome.faults.empty() ? "ok" : "FAIL", outcome.faults.size(), outcome.worst,
                seconds);
    return outcome.faults.empty() ? 0 : 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 2;
  }
}
