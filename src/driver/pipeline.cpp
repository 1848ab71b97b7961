#include "driver/pipeline.h"
#include "base/check.h"
#include "base/sha256.h"
#include "driver/error_budget.h"
#include "driver/files.h"
#include "driver/instructions.h"
#include "driver/split_products.h"
#include "driver/target_limits.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "kernel/verify.h"
#include "legalize/passes.h"
#include "lower/lower.h"
#include "report/report.h"
#include "rewrite/passes.h"
#include "rewrite/round_factors.h"
#include "rewrite/share_contractions.h"
#include "rewrite/split_precision.h"
#include "rewrite/split_reduction.h"
#include "schedule/schedule.h"
#include "schedule/share.h"
#include "schedule/split.h"
#include "targets/embedded.h"
#include <atomic>
#include <functional>
#include <set>
#include <thread>

namespace tang::driver {

namespace {

using targets::Feature;
using targets::LimitKey;

/// What was reached, where it was measured.
int64_t per_us(const targets::Roof* roof) {
  return roof ? static_cast<int64_t>(roof->achievable.value_or(roof->hard) / 1e6) : 0;
}

schedule::Machine schedule_machine(const targets::TargetSpec& spec, const Input& input,
                                   const CompileOptions& options) {
  const targets::Target& target = *spec.target;
  schedule::Machine machine;
  machine.target = instructions_of(target, input);
  machine.allow_tf32 = may_use_tf32(input, options);
  machine.hardware_grid = target.has(Feature::hardware_grid);
  machine.max_threads = static_cast<int>(target.limit(LimitKey::max_threads_per_block));
  machine.warp = static_cast<int>(target.limit(LimitKey::warp_size));
  machine.warp_shuffle = target.has(Feature::warp_shuffle);
  machine.vector_bytes = static_cast<int>(target.limit(LimitKey::max_vector_bytes));
  machine.shared_bytes = target.limit(LimitKey::static_shared_bytes);
  machine.dynamic_shared_bytes = target.has(Feature::dynamic_shared_memory)
                                     ? target.limit(LimitKey::dynamic_shared_bytes)
                                     : machine.shared_bytes;
  machine.rounds_operands = options.native_operands;
  machine.registers = static_cast<int>(target.limit(LimitKey::registers_per_core));
  if (spec.device) {
    machine.units = static_cast<int>(spec.device->capacity(targets::CapacityKey::sm_count));
    machine.cache_bytes_per_us = per_us(spec.device->roof(targets::RoofKey::l2_bytes_per_s));
    machine.product_flop_per_us = per_us(spec.device->roof(targets::RoofKey::f16_mma_flop_per_s));
    machine.flop_per_us = per_us(spec.device->roof(targets::RoofKey::f32_flop_per_s));
    const targets::Roof& load = *spec.device->roof(targets::RoofKey::dram_latency_s);
    machine.load_ns = static_cast<int64_t>(load.achievable.value_or(load.hard) * 1e9);
    machine.search = options.level >= 3;
    if (machine.search)
      machine.shared_bytes_per_us = per_us(spec.device->roof(targets::RoofKey::shared_bytes_per_s));
  }
  return machine;
}

lower::Machine lower_machine(const targets::Target& target, const Input& input) {
  lower::Machine machine;
  machine.target = instructions_of(target, input);
  machine.hardware_grid = target.has(Feature::hardware_grid);
  machine.warp_shuffle = target.has(Feature::warp_shuffle);
  machine.vector_bytes = static_cast<int>(target.limit(LimitKey::max_vector_bytes));
  return machine;
}

/// `run` with each variant's number and its chain of stages: `stages` itself where there is one.
void for_each_variant(size_t count, Stages& stages,
                      const std::function<void(size_t, Stages&)>& run) {
  if (count == 1) return run(0, stages);
  for (size_t i = 0; i < count; ++i) {
    Stages chain = stages.fork(fmt::format("variant{}", i + 1));
    run(i, chain);
    stages.join(chain);
    stages.skip_time();
  }
}

} // namespace

std::string base_name(const std::string& path) {
  if (path == "-") return "stdin";
  return path.substr(path.find_last_of('/') + 1);
}

std::string stem_of(const std::string& path) {
  std::string name = base_name(path);
  size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? name : name.substr(0, dot);
}

std::optional<Input> read_input(const std::string& path, const CommonOptions& common,
                                SourceManager& sources, Sink& sink, Stages& stages) {
  if (path.ends_with(".spec")) {
    sink.report(Kind::command_line, {},
                "`{}` has kernels and no equations: this verb takes `.tg` files", path);
    return std::nullopt;
  }
  auto text = read_file(path);
  if (!text) {
    sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", path, last_error());
    return std::nullopt;
  }
  Input input{path, base_name(path), stem_of(path), sha256_hex(*text), {}, {}, {}, {}, {}};
  FileId file = sources.add(path == "-" ? "<stdin>" : path, std::move(*text));
  parse::ElaborateOptions options{common.dims, targets::embedded_spec("nn.tg"), read_file};
  auto graph = parse::elaborate(sources, file, options, sink, &input.included);
  if (!graph) return std::nullopt;
  input.written = std::move(*graph);
  stages.done("parse", count_of(input.written), [&] { return graph::to_text(input.written); });
  input.graph = rewrite::differentiate(input.written);
  return input;
}

bool read_options_of(Input& input, CompileOptions& options, SourceManager& sources, Sink& sink) {
  if (options.budget) set_budgets(input, *options.budget);
  if (!read_rows_of(input, options, sources, sink)) return false;
  if (options.schedule.empty()) return true;
  auto text = read_file(options.schedule);
  if (!text) {
    sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", options.schedule, last_error());
    return false;
  }
  options.canonical.push_back("--schedule=sha256:" + sha256_hex(*text));
  FileId file = sources.add(options.schedule, std::move(*text));
  auto stated = schedule::read_schedule(sources, file, sink);
  if (!stated) return false;
  input.schedule = std::move(*stated);
  return true;
}

bool may_use_tf32(const Input& input, const CompileOptions& options) {
  const std::vector<graph::Tensor>& tensors = input.graph.tensors;
  bool budgets = std::any_of(tensors.begin(), tensors.end(), [](const graph::Tensor& tensor) {
    return tensor.budget_rel || tensor.budget_abs;
  });
  return options.allow_tf32 && !budgets;
}

graph::Graph rewrite_graph(graph::Graph graph, int level, Stages& stages) {
  graph = rewrite::run_passes(
      std::move(graph), level, [&](const rewrite::Pass& pass, const graph::Graph& after) {
#ifndef NDEBUG
        graph::verify(after, pass.name);
#endif
        stages.done(pass.name, count_of(after), [&] { return graph::to_text(after); });
      });
  graph::verify(graph, "rewrite");
  return graph;
}

void report_remarks(const graph::Graph& graph, Sink& sink, const Stages& stages) {
  std::set<std::pair<uint64_t, std::string>> said;
  for (const graph::Remark& remark : graph.remarks)
    if (said.insert({(uint64_t{remark.span.file.value} << 32) | remark.span.begin, remark.text})
            .second) {
      sink.report(Kind::law_stopped, remark.span, remark.text);
      stages.note(remark.text);
    }
}

std::vector<graph::Graph> rewrite_graphs(std::span<const graph::Graph> graphs, int level,
                                         Stages& stages) {
  std::vector<graph::Graph> rewritten;
  for_each_variant(graphs.size(), stages, [&](size_t i, Stages& chain) {
    rewritten.push_back(rewrite_graph(graphs[i], level, chain));
  });
  return rewritten;
}

namespace {

/// The law of share_contractions where the schedule wants it.
graph::Graph share(graph::Graph graph, const schedule::Machine& machine) {
  graph = rewrite::share_contractions(
      std::move(graph), [&](const graph::Graph& g, const graph::Comprehension& first,
                            const graph::Comprehension& second, const graph::Comprehension& both) {
        return schedule::runs_as_one(g, first, second, both, machine);
      });
  graph::verify(graph, "share_contractions");
  return graph;
}

/// The law of split_reduction where the schedule wants it: rows of a sum over several axes become
/// parts until one axis is left, which is cut once.
graph::Graph split(graph::Graph graph, const schedule::Machine& machine, bool batch_invariant) {
  for (bool rows = true; rows;) {
    rows = false;
    std::vector<rewrite::Split> splits;
    for (const schedule::Parts& p : schedule::choose_parts(graph, machine, batch_invariant)) {
      splits.push_back({p.node, p.axis, p.parts});
      rows |= p.parts == 0;
    }
    graph = rewrite::split_reduction(std::move(graph), splits);
  }
  graph::verify(graph, "split_reduction");
  return graph;
}

/// From a rewritten graph to a legal program; `general`: for all sizes. Empty, and reported, where
/// it cannot run as stated.
std::optional<Variant> compile_variant(const graph::Graph& graph, bool general, const Input& input,
                                       const targets::TargetSpec& spec,
                                       const CompileOptions& options, Sink& sink, Stages& stages) {
  const targets::Target& target = *spec.target;
  Variant result{graph, {}, {}, {}, {}};

  schedule::Machine machine = schedule_machine(spec, input, options);
  // Factors are stored as the matrix units beside them want them.
  if (options.level >= 2 && machine.rounds_operands) {
    result.graph = rewrite::round_factors(std::move(result.graph), [&](graph::ElemType format) {
      return atomics::find(machine.target,
                           atomics::Product{graph::ElemType::f32, format, format}) != nullptr;
    });
    stages.done("round_factors", count_of(result.graph),
                [&] { return graph::to_text(result.graph); });
  }

  // Reductions that need the same products are one, where its sums fit.
  if (options.level >= 1) {
    result.graph = share(std::move(result.graph), machine);
    stages.done("share_contractions", count_of(result.graph),
                [&] { return graph::to_text(result.graph); });
  }

  // Reductions with too few rows for the machine run in parts.
  if (options.level >= 2) {
    result.graph = split(std::move(result.graph), machine, options.batch_invariant);
    stages.done("split_reduction", count_of(result.graph),
                [&] { return graph::to_text(result.graph); });
  }

  // Products of f32 that a budget lets run as sums over parts, where matrix units gain by that.
  SplitProducts splits = split_products(result.graph, general, input, spec, options, machine, sink);
  if (!splits.nodes.empty())
    stages.done("split_precision",
                fmt::format("{} nodes, {}", splits.nodes.size(), plan::name(splits.form)));

  // Which nodes share a kernel, and how each runs: fields that a person can read and change.
  result.plan = schedule::schedule(result.graph, options.level, machine);
  schedule::apply(input.schedule, result.graph, result.plan, machine, general, sink);
  if (!sink.ok()) return std::nullopt;
  if (std::vector<size_t> split = split_nodes(result.plan); !split.empty()) {
    result.graph =
        rewrite::split_precision(std::move(result.graph), split, *plan::pieces_of(splits.form));
    result.errors = std::move(splits.errors);
  }
  stages.done(
      "schedule", fmt::format("{} steps", result.plan.steps.size()),
      [&] { return plan::to_text(result.graph, result.plan); }, "yaml");

  // Blocks, threads and loops over them, the same for every language.
  result.program = lower::lower(result.graph, result.plan, lower_machine(target, input));
  result.program.target = target.name;
  kernel::verify(result.program, "lower");
  stages.done(
      "lower", count_of(result.program), [&] { return kernel::to_text(result.program); }, "spec");

  // What is not proved is not emitted: each read in range or guarded, each output written once.
  auto proved = [&](int proofs) { stages.done("prove", fmt::format("{} proofs", proofs)); };
  proved(kernel::prove(result.program, "lower"));

  if (!check_kernels(result.program, result.graph, target, sink)) return std::nullopt;

  // What the target lacks is taken out, so that printing decides nothing.
  auto after = [&](const legalize::Pass& pass) {
    stages.done(
        pass.name, count_of(result.program), [&] { return kernel::to_text(result.program); },
        "spec");
    if (pass.moves_threads) proved(kernel::prove_coverage(result.program, pass.name));
  };
  legalize::legalize(result.program, legalize::capabilities_of(target), {options.index_bits},
                     after);
  kernel::verify(result.program, "legalize");

  // What no implementation can beat: said above each kernel, and in the report.
  result.bounds = bound::analyze(result.graph, result.plan, may_use_tf32(input, options));
  report::comment_floors(result.program, result.bounds, *spec.device);
  stages.done("bound", fmt::format("{} floors", result.bounds.kernels.size()));
  return result;
}

} // namespace

std::optional<TargetResult> compile_target(std::span<const graph::Graph> graphs, const Input& input,
                                           const targets::TargetSpec& spec,
                                           const CompileOptions& options, Sink& sink,
                                           Stages& stages) {
  const targets::Target& target = *spec.target;
  TargetResult result{&target, {}, {}};
  for_each_variant(graphs.size(), stages, [&](size_t i, Stages& chain) {
    bool general = i + 1 == graphs.size();
    auto variant = compile_variant(graphs[i], general, input, spec, options, sink, chain);
    if (variant) result.variants.push_back(std::move(*variant));
  });
  if (!sink.ok()) return std::nullopt;
  const print::Dialect* dialect = print::dialect_named(target.dialect);
  if (!dialect) {
    sink.report(Kind::target_cannot, {}, "this version cannot write code for target `{}`",
                target.name);
    return std::nullopt;
  }
  std::vector<print::Part> parts;
  for (const Variant& variant : result.variants)
    parts.push_back({&variant.program, &variant.graph});
  auto source = print::print_source(parts, *dialect, print_options(input, options, target), sink);
  if (!source) return std::nullopt;
  result.source = std::move(*source);
  stages.done("print", fmt::format("{} bytes", result.source.text.size()));
  return result;
}

std::optional<std::vector<TargetResult>> compile_targets(std::span<const graph::Graph> graphs,
                                                         const Input& input,
                                                         const CommonOptions& common,
                                                         const CompileOptions& options, Sink& sink,
                                                         Stages& stages) {
  // Each target has a chain, a sink and a place of its own, so that nothing depends on who is
  // first.
  struct Lane {
    Stages stages;
    Sink sink;
    std::optional<TargetResult> result;
    std::exception_ptr failure;
  };
  std::vector<Lane> lanes;
  for (const auto& spec : options.targets)
    lanes.push_back({stages.fork(spec.target->name), Sink(common.warnings), {}, {}});
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < lanes.size(); i = next++) {
      Lane& lane = lanes[i];
      lane.stages.skip_time();
      try {
        lane.result =
            compile_target(graphs, input, options.targets[i], options, lane.sink, lane.stages);
      } catch (...) {
        lane.failure = std::current_exception();
      }
    }
  };
  size_t workers = std::min<size_t>(static_cast<size_t>(options.jobs), lanes.size());
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  threads.clear(); // waits

  std::vector<TargetResult> results;
  for (Lane& lane : lanes) {
    stages.join(lane.stages);
    if (lane.failure) std::rethrow_exception(lane.failure);
    for (const Diagnostic& d : lane.sink.diagnostics()) {
      Diagnostic& copy = sink.report(d.kind, d.span, d.message);
      copy.notes = d.notes, copy.fix = d.fix;
    }
    if (lane.result) results.push_back(std::move(*lane.result));
  }
  stages.skip_time();
  if (results.size() != lanes.size()) return std::nullopt;
  return results;
}

std::string header_text(const Input& input, const CompileOptions& options,
                        std::span<const TargetResult> results) {
  std::vector<std::string> names;
  std::string sessions;
  for (const TargetResult& result : results) {
    names.push_back(result.target->name);
    sessions += result.source.session;
  }
  const Variant& first = results.front().general();
  return print::print_header(first.program, first.graph, names,
                             print_options(input, options, *results.front().target), sessions);
}

print::PrintOptions print_options(const Input& input, const CompileOptions& options,
                                  const targets::Target& target) {
  print::PrintOptions out;
  out.version = TANGC_VERSION;
  out.target = target.name;
  out.options = fmt::format("{}", fmt::join(options.canonical, " "));
  out.input_name = input.name;
  out.input_sha256 = input.sha256;
  out.prefix = !options.prefix.empty()     ? options.prefix
               : !input.graph.name.empty() ? input.graph.name
                                           : input.stem;
  out.stem = input.stem;
  out.extension = target.extension;
  out.checks = options.checks;
  out.fast_math = options.fast_math;
  out.split = options.split;
  return out;
}

} // namespace tang::driver
