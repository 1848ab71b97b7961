#include "driver/data.h"
#include "driver/files.h"
#include "driver/outputs.h"
#include "driver/test_program.h"
#include "driver/toolchain.h"
#include "driver/verbs.h"
#include <set>

namespace tang::driver {

namespace {

enum class Outcome : uint8_t { equal, differs, stopped };

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// Builds and runs one target's code; `text` is what its test program printed, with `tells` also
/// how near the outputs came.
Outcome build_and_run(Session& session, const Input& input, const TargetResult& result,
                      const CompileOptions& options, const TestVectors& vectors, bool tells,
                      std::string& text) {
  TemporaryFolder folder;
  Input named = input; // what a file is called here is of no matter, and any name may be given
  if (named.graph.name.empty()) named.graph.name = input.stem;
  named.stem = "kernels";
  // What is built is the host's: a source whose launcher stands apart is inside that.
  const print::HostFile* host = host_file_of(*result.target);
  std::string extension = host ? std::string(host->extension) : result.target->extension;
  std::string source = "kernels" + extension, test = "test" + extension;
  auto in_folder = [&](const std::string& name) { return folder.path() + "/" + name; };
  if (folder.path().empty()) {
    session.sink.report(Kind::cannot_write, {}, "cannot make a temporary folder: {}", last_error());
    return Outcome::stopped;
  }
  if (!write_files({{in_folder(source), host ? result.source.launcher : result.source.text},
                    {in_folder(named.stem + ".h"), header_text(named, options, {&result, 1})},
                    {in_folder(test), test_program_text(named, result, options, {&vectors, 1})}},
                   false, session.sink))
    return Outcome::stopped;
  std::string missing;
  auto command = build_command(*result.target, session.arguments.last(OptionId::compiler),
                               {source, test}, "program", missing);
  if (command.empty()) {
    session.sink.report(Kind::tool_missing, {},
                        "`verify` for target `{}` needs {}, which is not here", result.target->name,
                        missing);
    return Outcome::stopped;
  }
  Finished built = run_program(command, folder.path());
  session.stages.done("build", command[0]);
  if (built.code != 0) {
    session.sink.report(Kind::kernels_differ, {}, "the code for target `{}` does not build: {}",
                        result.target->name, trimmed(built.output));
    return Outcome::stopped;
  }
  std::vector<std::string> call{"./program"};
  if (tells) call.emplace_back("tell");
  Finished ran = run_program(call, folder.path());
  session.stages.done("run", fmt::format("exit {}", ran.code));
  text = trimmed(ran.output);
  if (ran.code == 77) {
    session.sink.report(Kind::tool_missing, {}, "`verify` for target `{}` needs a device: {}",
                        result.target->name, text);
    return Outcome::stopped;
  }
  if (ran.code > 128) text = fmt::format("the program was stopped by signal {}", ran.code - 128);
  return ran.code == 0 ? Outcome::equal : Outcome::differs;
}

/// The graph with every intermediate that a kernel writes made an output, so that what each kernel
/// wrote can be seen. What a recurrence carries stays inside: its last value lives in the carry.
graph::Graph with_all_outputs(graph::Graph graph) {
  for (const graph::Node& node : graph.nodes)
    for (graph::TensorId id : graph::defines_of(node)) {
      if (std::holds_alternative<graph::Recur>(node.definition)) continue;
      if (graph[id].kind != graph::TensorKind::intermediate) continue;
      graph[id].kind = graph::TensorKind::output;
      graph.outputs.push_back(id);
    }
  return graph;
}

/// The first node, in running order, whose result differs when every result is looked at.
void name_kernel_at_fault(Session& session, const Input& input, const graph::Graph& rewritten,
                          const targets::TargetSpec& spec, const CompileOptions& options,
                          const TestVectors& wanted, uint64_t seed, Diagnostic& diagnostic) {
  Sink quiet;
  Session inner{session.arguments, session.common, session.sources, quiet, session.stages};
  Input exposed = input;
  exposed.graph = with_all_outputs(rewritten);
  auto vectors =
      make_test_vectors(exposed.graph, wanted.dims, seed, rounding_of(input, options), quiet);
  if (!vectors) return;
  auto result = compile_target({&exposed.graph, 1}, exposed, spec, options, quiet, session.stages);
  std::string text;
  if (!result ||
      build_and_run(inner, exposed, *result, options, *vectors, false, text) != Outcome::differs)
    return;
  for (const graph::Node& node : exposed.graph.nodes)
    for (graph::TensorId id : graph::defines_of(node)) {
      const std::string& name = exposed.graph[id].name;
      if (text.find(name + ": ") != 0 && text.find("\n" + name + ": ") == text.npos) continue;
      diagnostic.note(node.span, fmt::format("the first kernel at fault writes `{}`", name));
      return;
    }
}

/// "at M = 4, N = 5, inputs of seed 1", or the seed alone.
std::string conditions(const graph::Graph& graph, const TestVectors& vectors, uint64_t seed) {
  std::string sizes;
  for (size_t d = 0; d < vectors.dims.size(); ++d)
    sizes += fmt::format("{}{} = {}", d ? ", " : "at ", graph.dims[d].name, vectors.dims[d]);
  return fmt::format("{}{}inputs of seed {}", sizes, sizes.empty() ? "" : ", ", seed);
}

/// The call of one variant; false when the rest has no chance either, or is not worth it. `said`
/// gets a line about the call, and what its program says.
bool verify_variant(Session& session, const Input& input, const TargetResult& result,
                    const graph::Graph& rewritten, const targets::TargetSpec& spec,
                    const CompileOptions& options, const TestVectors& vectors, uint64_t seed,
                    std::string& said) {
  std::string text;
  switch (build_and_run(session, input, result, options, vectors, true, text)) {
  case Outcome::stopped: return false;
  case Outcome::equal:
    said += fmt::format("  {}\n", conditions(input.graph, vectors, seed));
    for_each_part(text, '\n', [&](std::string_view line) {
      if (!line.empty()) said += fmt::format("    {}\n", line);
    });
    return true;
  case Outcome::differs: break;
  }
  Diagnostic& diagnostic = session.sink.report(
      Kind::kernels_differ, {}, "the code for target `{}` differs from the interpreter",
      spec.target->name);
  for_each_part(text, '\n', [&](std::string_view line) { diagnostic.note({}, std::string(line)); });
  if (options.level > 0 || rewritten.nodes.size() > 1)
    name_kernel_at_fault(session, input, rewritten, spec, options, vectors, seed, diagnostic);
  return false;
}

size_t kernel_count(const TargetResult& result) {
  std::set<std::string> symbols;
  for (const auto& list : result.source.symbols) symbols.insert(list.begin(), list.end());
  return symbols.size();
}

/// The outputs for which these inputs cost more digits than their formats do, each in a line.
std::string lost_digits(const graph::Graph& graph,
                        std::span<const std::optional<TestVectors>> vectors) {
  std::string text;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const graph::Tensor& tensor = graph[graph.outputs[i]];
    double most = 0;
    for (const auto& v : vectors)
      if (v) most = std::max(most, v->tolerances[i]);
    if (most > format_tolerance(tensor))
      text += fmt::format("\n  `{}` within {} of its largest value: computed in f32, these inputs "
                          "leave no more digits",
                          tensor.name, most);
  }
  return text;
}

/// `vectors` holds one entry a variant, empty where no sizes lead to it.
void verify_target(Session& session, const Input& input, std::span<const graph::Graph> rewritten,
                   const targets::TargetSpec& spec, const CompileOptions& options,
                   std::span<const std::optional<TestVectors>> vectors, uint64_t seed) {
  auto result = compile_target(rewritten, input, spec, options, session.sink, session.stages);
  if (!result) return;
  std::string said;
  for (size_t i = 0; i < vectors.size(); ++i)
    if (vectors[i] && !verify_variant(session, input, *result, rewritten[i], spec, options,
                                      *vectors[i], seed, said))
      return;
  if (session.common.quiet) return;
  std::string variants = vectors.size() == 1 ? "" : fmt::format(" in {} variants", vectors.size());
  size_t kernels = kernel_count(*result);
  print_text(session, fmt::format("{}: {} kernel{}{}, all outputs equal the interpreter{}\n{}",
                                  spec.target->name, kernels, kernels == 1 ? "" : "s", variants,
                                  lost_digits(input.graph, vectors), said));
}

} // namespace

void verify_file(Session& session) {
  auto options = compile_options(session.arguments, session.sink);
  auto seed = random_seed(session.arguments, 1, session.sink);
  if (!options || !seed) return;
  auto input = read_input(session.arguments.operands[0], session.common, session.sources,
                          session.sink, session.stages);
  if (!input) return;
  if (!read_options_of(*input, *options, session.sources, session.sink)) return;
  auto graphs = variant_graphs(input->written, options->cases, session.sink);
  if (!graphs) return;
  std::vector<std::optional<TestVectors>> vectors;
  for (size_t i = 0; i < graphs->size(); ++i) {
    auto sizes = sizes_for_variant(*graphs, i);
    vectors.push_back(sizes ? make_test_vectors(input->graph, *sizes, *seed,
                                                rounding_of(*input, *options), session.sink)
                            : std::nullopt);
    if (sizes && !vectors.back()) return;
  }
  session.stages.done("interpret", fmt::format("{} outputs", input->graph.outputs.size()));
  std::vector<graph::Graph> rewritten = rewrite_graphs(*graphs, options->level, session.stages);
  for (const targets::TargetSpec& spec : options->targets)
    verify_target(session, *input, rewritten, spec, *options, vectors, *seed);
}

} // namespace tang::driver
