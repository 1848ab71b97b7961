#pragma once
// The order of everything: from a file to the source text of each target.
#include "bound/analysis.h"
#include "driver/stages.h"
#include "kernel/program.h"
#include "plan/plan.h"
#include "report/report.h"
#include "schedule/explicit.h"

namespace tang::driver {

/// A file that was read, and the graph that it says.
struct Input {
  std::string path;   ///< as named on the command line
  std::string name;   ///< its last part
  std::string stem;   ///< without the extension: the start of every output's name
  std::string sha256; ///< of its bytes
  std::vector<std::string> included;
  graph::Graph written;              ///< as parsed, with its `grad` lines
  graph::Graph graph;                ///< what it means: gradients are nodes that can be computed
  schedule::StatedSchedule schedule; ///< of `--schedule`
  std::vector<atomics::Row> rows;    ///< of `--atomics`, which every kernel may point into
};

/// The names of an input's path. Standard input is called `stdin`.
std::string base_name(const std::string& path);
std::string stem_of(const std::string& path);

/// Reads, parses, resolves and checks. Reports every fault.
std::optional<Input> read_input(const std::string& path, const CommonOptions& common,
                                SourceManager& sources, Sink& sink, Stages& stages);

/// What `--schedule`, `--atomics` and `--error-budget` add to it. The options' canonical form then
/// tells which files they were. Reports what is no schedule or no row.
bool read_options_of(Input& input, CompileOptions& options, SourceManager& sources, Sink& sink);

/// Whether f32 factors may lose bits: permitted, and no budget is to be predicted, which the
/// interpreter does without such losses.
bool may_use_tf32(const Input& input, const CompileOptions& options);

/// The laws of `level`.
graph::Graph rewrite_graph(graph::Graph graph, int level, Stages& stages);
/// The same for every variant.
std::vector<graph::Graph> rewrite_graphs(std::span<const graph::Graph> graphs, int level,
                                         Stages& stages);
/// What stopped a law, each once (`-Wperf`).
void report_remarks(const graph::Graph& graph, Sink& sink, const Stages& stages);

/// One way through a target's code; the ranges of its graph's dims say which sizes take it.
struct Variant {
  graph::Graph graph; ///< with the terms that lowering added
  plan::Plan plan;
  kernel::Program program; ///< as printed
  bound::Analysis bounds;  ///< of the plan
  /// Of the outputs, where products are split; empty: the same as of any target.
  std::vector<report::PredictedError> errors;
};

/// What one target gets.
struct TargetResult {
  const targets::Target* target = nullptr;
  std::vector<Variant> variants; ///< the launcher takes the first that fits; the last fits all
  print::SourceText source;

  /// The variant for all sizes, which has the interface of the file.
  const Variant& general() const { return variants.back(); }
};

/// From rewritten graphs, one a variant, to source text. Empty, and reported, where the target
/// cannot say it.
std::optional<TargetResult> compile_target(std::span<const graph::Graph> graphs, const Input& input,
                                           const targets::TargetSpec& spec,
                                           const CompileOptions& options, Sink& sink,
                                           Stages& stages);

/// All targets of a command line, up to `options.jobs` at a time, in their order.
std::optional<std::vector<TargetResult>> compile_targets(std::span<const graph::Graph> graphs,
                                                         const Input& input,
                                                         const CommonOptions& common,
                                                         const CompileOptions& options, Sink& sink,
                                                         Stages& stages);

/// The header that all targets of a command line share.
std::string header_text(const Input& input, const CompileOptions& options,
                        std::span<const TargetResult> results);
print::PrintOptions print_options(const Input& input, const CompileOptions& options,
                                  const targets::Target& target);

} // namespace tang::driver
