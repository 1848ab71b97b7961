#include "agreement.h"
#include "base/check.h"
#include "driver/pipeline.h"
#include "driver/storage.h"
#include "interpret/eval.h"
#include "interpret/extents.h"
#include "interpret/formats.h"
#include "print/declarations.h"
#include "run_c.h"
#include "targets/embedded.h"
#include "targets/find.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace tang::fuzz {

namespace {

using graph::Graph;
using graph::TensorId;
using interpret::Array;

constexpr int64_t most_elements = 100'000;

uint64_t mixed(uint64_t x) {
  // splitmix64 (Steele, Lea, Flood, 2014).
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Integers in -4..4, by the name and the position, so that dropping a tensor changes no other.
Array data_for(const graph::Tensor& tensor, std::vector<int64_t> shape, uint64_t seed) {
  Array array = interpret::zeros(graph::scalar_of(tensor.type), std::move(shape));
  int64_t lo = -4, hi = 4;
  if (tensor.range) lo = tensor.range->lo, hi = std::max(lo, tensor.range->hi);
  if (array.scalar == graph::Scalar::boolean) lo = 0, hi = 1;
  for (char c : tensor.name) seed = mixed(seed ^ static_cast<uint8_t>(c));
  for (int64_t i = 0; i < array.size(); ++i) {
    uint64_t bits = mixed(seed + static_cast<uint64_t>(i));
    int64_t value = lo + static_cast<int64_t>(bits % static_cast<uint64_t>(hi - lo + 1));
    if (array.scalar == graph::Scalar::real)
      array.reals[static_cast<size_t>(i)] = static_cast<double>(value);
    else
      array.integers[static_cast<size_t>(i)] = interpret::to_integer(tensor.type, value);
  }
  return array;
}

std::string messages_of(const Sink& sink) {
  std::string text;
  for (const Diagnostic& d : sink.diagnostics())
    if (d.severity == Severity::error) text += d.message + "\n";
  return text;
}

/// Dims, inputs and the outputs that are wanted.
struct Vectors {
  std::vector<int64_t> dims;
  std::vector<Array> inputs, outputs;
};

std::optional<Vectors> vectors_for(const Graph& graph, const Case& program, std::string& why) {
  Vectors out;
  for (const graph::Dim& dim : graph.dims) {
    auto at = program.dims.find(dim.name);
    out.dims.push_back(at == program.dims.end() ? dim.lo : at->second);
  }
  interpret::Values inputs;
  for (TensorId id : graph.inputs) {
    auto shape = interpret::shape_of(graph, id, out.dims);
    auto count = shape ? interpret::element_count(*shape) : std::nullopt;
    if (!count || *count > most_elements) return std::nullopt;
    out.inputs.push_back(
        data_for(interpret::tensor_at(graph, id, out.dims), *shape, program.data_seed));
    inputs[id] = out.inputs.back();
  }
  Sink sink;
  interpret::EvalOptions options;
  options.max_elements = most_elements;
  auto values = interpret::evaluate(graph, inputs, out.dims, options, sink);
  why = messages_of(sink);
  if (!values) return std::nullopt;
  for (TensorId id : graph.outputs) out.outputs.push_back(std::move(values->at(id)));
  return out;
}

std::string element_text(const Array& array, size_t at) {
  if (array.scalar == graph::Scalar::real) return fmt::format("{}", array.reals[at]);
  return fmt::format("{}", array.integers[at]);
}

/// The element that the bytes of an output hold at a position.
void read_element(const graph::Tensor& tensor, const uint8_t* bytes, size_t at, Array& out) {
  const auto& type = graph::info(tensor.type);
  size_t size = static_cast<size_t>(type.bits) / 8;
  uint64_t bits = 0;
  for (size_t b = 0; b < size; ++b) bits |= static_cast<uint64_t>(bytes[at * size + b]) << 8 * b;
  if (out.scalar == graph::Scalar::real) {
    out.reals[at] = interpret::decode_real(tensor.type, bits);
    return;
  }
  auto shift = static_cast<int>(64 - type.bits);
  auto value = static_cast<int64_t>(bits << shift);
  bool is_signed = type.name[0] == 'i';
  out.integers[at] =
      is_signed ? value >> shift : static_cast<int64_t>(static_cast<uint64_t>(value) >> shift);
}

std::string difference(const graph::Tensor& tensor, const Array& wanted, const uint8_t* bytes) {
  Array got = interpret::zeros(wanted.scalar, wanted.shape);
  std::string text;
  int shown = 0;
  for (size_t i = 0; i < static_cast<size_t>(wanted.size()); ++i) {
    read_element(tensor, bytes, i, got);
    bool real = wanted.scalar == graph::Scalar::real;
    bool same = real ? got.reals[i] == wanted.reals[i] ||
                           (std::isnan(got.reals[i]) && std::isnan(wanted.reals[i]))
                     : got.integers[i] == wanted.integers[i];
    if (!same && shown++ < 4)
      text += fmt::format("{}[{}] is {}, not {}\n", tensor.name, i, element_text(got, i),
                          element_text(wanted, i));
  }
  return text;
}

struct Call {
  size_t (*workspace_bytes)(const int64_t*);
  int (*run)(void* const*, const int64_t*, void*, size_t, void*);
  std::vector<void*> arguments;
  std::vector<int64_t> dims;
  std::unique_ptr<GuardedBuffer> workspace;
  int status = 0;
};

/// Calls the code on guarded buffers and compares what it wrote.
std::string run_and_compare(CompiledC& unit, const driver::TargetResult& result,
                            const Vectors& vectors) {
  Call call;
  std::string symbol = "fuzz_" + print::symbol_part(result.target->name);
  auto bytes_symbol = unit.symbol(symbol + "_workspace_bytes"), run = unit.symbol(symbol + "_run");
  if (!bytes_symbol || !run) return "the launcher's functions are missing\n";
  std::memcpy(&call.workspace_bytes, &bytes_symbol, sizeof bytes_symbol);
  std::memcpy(&call.run, &run, sizeof run);
  call.dims = vectors.dims;
  if (call.dims.empty()) call.dims.push_back(0);

  const Graph& graph = result.general().graph;
  const kernel::Program& program = result.general().program;
  print::PublicNames names = print::public_names(program, graph);
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<std::pair<std::vector<uint8_t>, size_t>> given;
  for (kernel::BufferId id : names.fields) {
    TensorId tensor = program.buffers[id.value].tensor;
    auto bytes = static_cast<size_t>(driver::storage_bytes(graph, tensor, vectors.dims));
    buffers.push_back(std::make_unique<GuardedBuffer>(bytes));
    std::memset(buffers.back()->data(), 0xff, bytes);
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (graph.inputs[i] == tensor) {
        auto stored = driver::stored_bytes(graph, tensor, vectors.inputs[i], vectors.dims);
        if (!stored.empty()) std::memcpy(buffers.back()->data(), stored.data(), stored.size());
      }
    call.arguments.push_back(buffers.back()->data());
  }
  size_t bytes = call.workspace_bytes(call.dims.data());
  if (bytes > (size_t{1} << 30)) return fmt::format("the workspace takes {} bytes\n", bytes);
  call.workspace = std::make_unique<GuardedBuffer>(bytes);
  std::memset(call.workspace->data(), 0xff, bytes);
  bool ended = call_guarded(
      [](void* context) {
        Call& c = *static_cast<Call*>(context);
        c.status = c.run(c.arguments.data(), c.dims.data(), c.workspace->data(),
                         c.workspace->size(), nullptr);
      },
      &call);
  if (!ended) return "the code reads or writes outside its buffers, divides by 0, or never ends\n";
  if (call.status != 0) return fmt::format("the launcher returns {}\n", call.status);
  std::string text;
  for (const auto& buffer : buffers)
    if (!buffer->intact()) text += "the code writes outside a buffer\n";
  if (!call.workspace->intact()) text += "the code writes outside the workspace\n";
  for (size_t f = 0; f < names.fields.size(); ++f) {
    TensorId tensor = program.buffers[names.fields[f].value].tensor;
    for (size_t o = 0; o < graph.outputs.size(); ++o) {
      TensorId out = graph.outputs[o];
      if (out == tensor || graph[out].over == tensor)
        text += difference(graph[out], vectors.outputs[o], buffers[f]->data());
    }
  }
  return text;
}

/// One way to compile the program.
struct Way {
  const char* target;
  int level;
  enum Dims : uint8_t { free, bound, specialized } dims; ///< bound: by `-D`
};

std::optional<driver::Input> read(const Case& program, bool bound, SourceManager& sources,
                                  Sink& sink) {
  driver::Input input{"fuzz.tg", "fuzz.tg", "fuzz", std::string(64, '0'), {}, {}, {}, {}, {}};
  parse::ElaborateOptions options;
  options.library_text = targets::embedded_spec("nn.tg");
  for (const std::string& statement : program.statements)
    for (const auto& [name, value] : program.dims)
      if (bound && statement.starts_with("dim " + name))
        options.dims.push_back({name, value, value, 1});
  auto graph = parse::elaborate(sources, sources.add("fuzz.tg", program.text()), options, sink);
  if (!graph) return std::nullopt;
  input.written = *graph;
  input.graph = std::move(*graph); // programs without gradients
  return input;
}

std::string fault_of_way(const Case& program, const Way& way, Verdict& verdict) {
  SourceManager sources;
  Sink sink;
  auto input = read(program, way.dims == Way::bound, sources, sink);
  if (!input) return "with its dims bound the file is refused: " + messages_of(sink);
  std::string why;
  auto vectors = vectors_for(input->graph, program, why);
  if (!vectors) return "with its dims bound the interpreter fails: " + why;
  driver::CommonOptions common;
  driver::Stages stages(common, {}, "");
  driver::CompileOptions options;
  options.level = way.level;
  std::string error;
  auto spec = targets::find_target(way.target, error);
  TANG_CHECK(spec, "{}", error);
  options.targets = {*spec};
  if (way.dims == Way::specialized) {
    driver::SizeCase& sizes = options.cases.emplace_back();
    for (size_t d = 0; d < vectors->dims.size(); ++d)
      sizes.push_back({input->graph.dims[d].name, vectors->dims[d], vectors->dims[d], 1});
  }
  auto graphs = driver::variant_graphs(input->graph, options.cases, sink);
  if (!graphs) return "no variants: " + messages_of(sink);
  auto rewritten = driver::rewrite_graphs(*graphs, way.level, stages);
  auto result = driver::compile_target(rewritten, *input, *spec, options, sink, stages);
  if (!result) return "not compiled: " + messages_of(sink);
  if (std::string_view(way.target) != "c") return "";
  auto unit = CompiledC::compile(result->source.text, error);
  if (!unit) return "the C does not compile: " + error;
  std::string fault = run_and_compare(*unit, *result, *vectors);
  if (fault.empty()) return "";
  auto second = CompiledC::compile_with_cc(result->source.text, error);
  if (second) {
    std::string again = run_and_compare(*second, *result, *vectors);
    verdict.only_tinycc = again.empty();
    return again;
  }
  return fault;
}

} // namespace

Verdict verdict_of(const Case& program) {
  Verdict verdict;
  try {
    SourceManager sources;
    Sink sink;
    auto input = read(program, false, sources, sink);
    if (!input) {
      verdict.rejected = true, verdict.why = messages_of(sink);
      return verdict;
    }
    if (!vectors_for(input->graph, program, verdict.why)) {
      verdict.rejected = true;
      return verdict;
    }
    static constexpr Way ways[] = {{"c", 0, Way::free},        {"c", 2, Way::free},
                                   {"c", 0, Way::bound},       {"c", 2, Way::bound},
                                   {"c", 2, Way::specialized}, {"sm_80", 2, Way::free}};
    static constexpr const char* dims[] = {"free", "bound", "specialized"};
    for (const Way& way : ways) {
      std::string where =
          fmt::format("-O{}, target {}, dims {}: ", way.level, way.target, dims[way.dims]);
      try {
        std::string fault = fault_of_way(program, way, verdict);
        if (!fault.empty()) verdict.fault += where + fault;
      } catch (const InternalError& error) {
        verdict.fault += where + error.what() + "\n";
      }
    }
  } catch (const std::exception& error) {
    verdict.fault += error.what();
  }
  return verdict;
}

} // namespace tang::fuzz
