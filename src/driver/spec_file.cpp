#include "driver/spec_file.h"
#include "base/sha256.h"
#include "driver/files.h"
#include "driver/instructions.h"
#include "driver/target_limits.h"
#include "kernel/verify.h"
#include "legalize/passes.h"
#include <algorithm>
#include <set>

namespace tang::driver {

using namespace kernel;
using parse::spec::ReadKernel;
using parse::spec::ReadProgram;
using targets::Feature;

namespace {

/// Whether memory is addressed by one number, and coordinates come from one.
bool is_legal(const Kernel& kernel, bool grid) {
  bool flat = std::all_of(kernel.tensors.begin(), kernel.tensors.end(),
                          [](const Tensor& tensor) { return tensor.shape.size() <= 1; });
  bool many = kernel.thread_count() > 1 ||
              std::any_of(kernel.blocks.begin(), kernel.blocks.end(), [&](const BlockMode& mode) {
                return kernel.values.as_integer(mode.extent) != 1;
              });
  bool numbered = kernel.flat_block || kernel.flat_thread;
  return flat && (grid ? numbered || !many : !many);
}

bool legalize_spec(Program& program, const ReadProgram& read, const targets::Target& target,
                   const CompileOptions& options, Sink& sink, Stages& stages) {
  bool typed = is_typed(program), grid = target.has(Feature::hardware_grid);
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel& kernel = program.kernels[i];
    if (typed ? is_legal(kernel, grid)
              : kernel.index_bits == 0 && !kernel.flat_block && !kernel.flat_thread &&
                    kernel.shared_bytes == 0)
      continue;
    sink.report(Kind::kernel_misfit, read.kernels[i].name,
                "kernel `{}` is between the two forms that are compiled", kernel.name)
        .help("either all kernels have an `addresses` line, flat numbers of block and thread, and "
              "tensors of one mode, as `--emit=spec` writes them; or none has any of these");
    return false;
  }
  if (typed) return true;
  legalize::legalize(program, legalize::capabilities_of(target), {options.index_bits},
                     [&](const legalize::Pass& pass) {
                       stages.done(
                           pass.name, count_of(program), [&] { return to_text(program); }, "spec");
                     });
  kernel::verify(program, "legalize");
  return true;
}

} // namespace

bool is_spec_file(const std::string& path) {
  return path.ends_with(".spec");
}

graph::Graph interface_of(const Program& program) {
  graph::Graph graph;
  graph.name = program.name;
  for (VarId id : program.dims) {
    const Var& var = program.values[id];
    graph.dims.push_back({var.name, *var.lo, *var.hi, var.step, {}});
  }
  return graph;
}

std::optional<SpecInput> read_spec(const std::string& path, std::span<const atomics::Row> rows,
                                   SourceManager& sources, Sink& sink, Stages& stages) {
  auto text = read_file(path);
  if (!text) {
    sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", path, last_error());
    return std::nullopt;
  }
  SpecInput spec{{path, base_name(path), stem_of(path), sha256_hex(*text), {}, {}, {}, {}, {}}, {}};
  FileId file = sources.add(path == "-" ? "<stdin>" : path, std::move(*text));
  auto read = parse::spec::read_program(sources, file, {rows}, sink);
  if (!read) return std::nullopt;
  spec.read = std::move(*read);
  spec.input.graph = interface_of(spec.read.program);
  stages.done(
      "parse", count_of(spec.read.program), [&] { return to_text(spec.read.program); }, "spec");
  return spec;
}

bool is_typed(const Program& program) {
  return std::all_of(program.kernels.begin(), program.kernels.end(),
                     [](const Kernel& kernel) { return kernel.index_bits != 0; });
}

void warn_unproved(const ReadProgram& read, Sink& sink) {
  if (is_typed(read.program)) return;
  std::set<std::string> said;
  for (const Unproved& unproved : find_unproved(read.program))
    if (said.insert(unproved.text).second)
      sink.report(Kind::unproved_access, read.kernels[unproved.kernel.value].name, unproved.text);
}

bool check_spec_options(const CommonOptions& common, const CompileOptions& options, Sink& sink) {
  auto refuse = [&](std::string_view option, std::string_view why) {
    sink.report(Kind::command_line, {}, "a `.spec` file has no use for `{}`: {}", option, why);
  };
  if (!common.dims.empty()) refuse("-D", "its dims are those of its `dim` lines");
  if (!options.cases.empty()) refuse("--specialize", "its variants are those of its launches");
  if (!options.schedule.empty()) refuse("--schedule", "its kernels are scheduled");
  if (options.budget) refuse("--error-budget", "no equation says what is exact");
  for (Emit kind : {Emit::tg, Emit::graph, Emit::schedule, Emit::test, Emit::html})
    if (options.emits(kind)) {
      constexpr std::string_view names[] = {"source", "header",   "report", "tg",
                                            "graph",  "schedule", "spec",   "test",
                                            "html",   "launcher", "cmake"};
      refuse(fmt::format("--emit={}", names[static_cast<size_t>(kind)]),
             "there is no equation behind its kernels");
    }
  return sink.ok();
}

std::optional<TargetResult> compile_spec_target(const SpecInput& spec,
                                                const targets::TargetSpec& target_spec,
                                                const CompileOptions& options, Sink& sink,
                                                Stages& stages) {
  const targets::Target& target = *target_spec.target;
  const ReadProgram& read = spec.read;
  Variant variant{spec.input.graph, {}, read.program, {}, {}};
  Program& program = variant.program;
  parse::spec::check_instructions(read, instructions_of(target, spec.input), sink);
  for (size_t i = 0; i < program.kernels.size(); ++i)
    check_kernel(program.kernels[i], read.kernels[i].name, target, sink);
  if (!sink.ok()) return std::nullopt;
  program.target = target.name;
  if (!legalize_spec(program, read, target, options, sink, stages)) return std::nullopt;

  TargetResult result{&target, {}, {}};
  result.variants.push_back(std::move(variant));
  const print::Dialect* dialect = print::dialect_named(target.dialect);
  if (!dialect) {
    sink.report(Kind::target_cannot, {}, "this version cannot write code for target `{}`",
                target.name);
    return std::nullopt;
  }
  print::Part part{&result.general().program, &result.general().graph};
  auto source =
      print::print_source({&part, 1}, *dialect, print_options(spec.input, options, target), sink);
  if (!source) return std::nullopt;
  result.source = std::move(*source);
  stages.done("print", fmt::format("{} bytes", result.source.text.size()));
  return result;
}

} // namespace tang::driver
