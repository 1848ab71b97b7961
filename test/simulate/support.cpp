#include "support.h"
#include "driver/files.h"
#include "driver/storage.h"
#include "interpret/formats.h"
#include "lower/lower.h"
#include "rewrite/passes.h"
#include "schedule/explicit.h"
#include "targets/embedded.h"
#include "targets/find.h"
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tang::simulate_test {

namespace {

using graph::ElemType;
using graph::Scalar;
using interpret::Array;

[[noreturn]] void fail(const Sink& sink, const std::string& what) {
  std::string text = what;
  for (const Diagnostic& d : sink.diagnostics()) text += "\n  " + d.message;
  throw std::runtime_error(text);
}

uint64_t raw(const std::vector<uint8_t>& bytes, int64_t element, int bits) {
  if (bits < 8) {
    uint8_t byte = bytes.at(static_cast<size_t>(element / 2));
    return element % 2 ? byte >> 4 : byte & 15;
  }
  uint64_t value = 0;
  for (int b = 0; b < bits / 8; ++b)
    value |= uint64_t{bytes.at(static_cast<size_t>(element * (bits / 8) + b))} << 8 * b;
  return value;
}

/// The element as a double: wide integers in tests stay below 2^53.
double element_of(ElemType type, uint64_t value) {
  int bits = graph::info(type).bits;
  if (graph::scalar_of(type) == Scalar::real) return interpret::decode_real(type, value);
  if (type == ElemType::boolean || !graph::is_signed(type)) return static_cast<double>(value);
  return static_cast<double>(static_cast<int64_t>(value << (64 - bits)) >> (64 - bits));
}

void compare(const std::string& name, const Array& want, const std::vector<double>& got,
             double tolerance, Outcome& outcome) {
  double scale = 0;
  for (int64_t n = 0; n < want.size(); ++n)
    if (std::isfinite(want.as_real(n))) scale = std::max(scale, std::abs(want.as_real(n)));
  double allowed = want.scalar == Scalar::real ? tolerance * (scale > 0 ? scale : 1) : 0;
  int64_t wrong = 0, first = 0;
  for (int64_t n = 0; n < want.size(); ++n) {
    double w = want.as_real(n), g = got[static_cast<size_t>(n)];
    bool good =
        std::isfinite(w) ? std::abs(g - w) <= allowed : g == w || (std::isnan(g) && std::isnan(w));
    if (std::isfinite(w) && allowed > 0)
      outcome.worst = std::max(outcome.worst, std::abs(g - w) / allowed);
    if (!good && wrong++ == 0) first = n;
  }
  if (wrong == 0) return;
  outcome.faults.push_back(fmt::format(
      "{} of {} elements of `{}` differ, the first at {}: {}, not {} (by more than {:.3g})", wrong,
      want.size(), name, first, got[static_cast<size_t>(first)], want.as_real(first), allowed));
}

} // namespace

std::string file_text(const std::string& path) {
  auto text = driver::read_file(std::string(TANGC_SOURCE_DIR) + "/" + path);
  if (!text) throw std::runtime_error("cannot read " + path);
  return *text;
}

Compiled compile(const Request& request) {
  SourceManager sources;
  Sink sink;
  driver::CommonOptions common;
  if (request.bound)
    for (const auto& [name, size] : request.dims) common.dims.push_back({name, size, size, 1});
  driver::Stages stages(common, {}, "");
  parse::ElaborateOptions elaborate{common.dims, targets::embedded_spec("nn.tg"),
                                    driver::read_file};
  FileId file = sources.add(request.name, request.text);
  auto graph = parse::elaborate(sources, file, elaborate, sink);
  if (!graph) fail(sink, request.name + " is no module");
  driver::Input input{
      request.name, request.name, "module", "", {}, *graph, rewrite::differentiate(*graph), {}};

  if (!request.schedule.empty()) {
    FileId fields = sources.add("schedule", request.schedule);
    auto stated = schedule::read_schedule(sources, fields, sink);
    if (!stated) fail(sink, "no schedule");
    input.schedule = std::move(*stated);
  }
  std::string error;
  auto spec = targets::find_target(request.target, error);
  if (!spec) throw std::runtime_error(error);
  auto rewritten = driver::rewrite_graphs({&input.graph, 1}, request.level, stages);
  Compiled compiled{input.graph, {}, {}, {}, request.tf32};
  if (request.legal) {
    driver::CompileOptions options;
    options.level = request.level;
    options.allow_tf32 = request.tf32;
    options.targets = {*spec};
    auto result = driver::compile_target(rewritten, input, *spec, options, sink, stages);
    if (!result) fail(sink, request.name + " is not compiled");
    compiled.graph = result->general().graph, compiled.program = result->general().program;
  } else {
    compiled.graph = rewritten[0];
    schedule::Machine machine;
    machine.target = request.target, machine.units = 1, machine.dynamic_shared_bytes = 163840;
    plan::Plan plan = schedule::schedule(compiled.graph, request.level, machine);
    compiled.program = lower::lower(compiled.graph, plan, {true, true, 16, request.target});
  }
  for (const graph::Dim& dim : compiled.graph.dims) {
    auto given = std::find_if(request.dims.begin(), request.dims.end(),
                              [&](const auto& d) { return d.first == dim.name; });
    if (given == request.dims.end()) throw std::runtime_error(dim.name + " has no size: -D");
    compiled.dims.push_back(given->second);
  }
  return compiled;
}

namespace {

kernel::BufferId buffer_of(const Compiled& compiled, graph::TensorId id) {
  if (compiled.graph[id].over) id = compiled.graph[id].over;
  for (kernel::BufferId b : compiled.program.arguments)
    if (compiled.program.buffers[b.value].tensor == id) return b;
  throw std::runtime_error("no argument is `" + compiled.graph[id].name + "`");
}

} // namespace

bool rounds_factors(const Compiled& compiled) {
  auto stored = [](const graph::Graph& graph) {
    return std::count_if(graph.tensors.begin(), graph.tensors.end(),
                         [](const graph::Tensor& t) { return t.store_given; });
  };
  return stored(compiled.graph) > stored(compiled.written);
}

driver::TestVectors data_of(const Compiled& compiled, uint64_t seed) {
  Sink sink;
  driver::Rounding rounding{rounds_factors(compiled), compiled.tf32};
  auto vectors = driver::make_test_vectors(compiled.written, compiled.dims, seed, rounding, sink);
  if (!vectors) fail(sink, "no data");
  return std::move(*vectors);
}

void evaluate_again(const Compiled& compiled, driver::TestVectors& data) {
  const graph::Graph& graph = compiled.written;
  interpret::Values inputs;
  for (size_t n = 0; n < graph.inputs.size(); ++n) inputs[graph.inputs[n]] = data.inputs[n];
  interpret::EvalOptions options;
  options.operand_rule = false;
  Sink sink;
  auto values = interpret::evaluate(graph, inputs, data.dims, options, sink);
  if (!values) fail(sink, "no outputs");
  for (size_t n = 0; n < graph.outputs.size(); ++n) data.outputs[n] = values->at(graph.outputs[n]);
}

Outcome simulate(const Compiled& compiled, const driver::TestVectors& data,
                 const interpret::RunOptions& options) {
  const graph::Graph& graph = compiled.graph;
  std::map<kernel::BufferId, interpret::Argument> arguments;
  for (size_t n = 0; n < graph.inputs.size(); ++n) {
    interpret::Argument& argument = arguments[buffer_of(compiled, graph.inputs[n])];
    argument.given = true;
    argument.bytes = driver::stored_bytes(graph, graph.inputs[n], data.inputs[n], compiled.dims);
    if (!graph[graph.inputs[n]].strides.empty())
      argument.holds = driver::element_offsets(graph, graph.inputs[n], compiled.dims);
  }
  for (graph::TensorId id : graph.outputs)
    arguments[buffer_of(compiled, id)].wanted = driver::element_offsets(graph, id, compiled.dims);
  Outcome outcome;
  outcome.report = interpret::run_program(compiled.program, compiled.dims, arguments, options);
  for (const interpret::Finding& finding : outcome.report.findings)
    outcome.faults.push_back(interpret::to_text(finding));
  for (size_t n = 0; n < graph.outputs.size(); ++n) {
    const graph::Tensor& tensor = graph[graph.outputs[n]];
    const interpret::Argument& argument = arguments[buffer_of(compiled, graph.outputs[n])];
    std::vector<double> got;
    for (int64_t at : driver::element_offsets(graph, graph.outputs[n], compiled.dims))
      got.push_back(
          element_of(tensor.type, raw(argument.bytes, at, graph::info(tensor.type).bits)));
    compare(tensor.name, data.outputs[n], got, data.tolerances[n], outcome);
  }
  return outcome;
}

} // namespace tang::simulate_test
