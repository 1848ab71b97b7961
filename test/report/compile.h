#pragma once
// From a `.tg` text to what a report is made of, as the driver does it.
#include "base/sha256.h"
#include "lower/lower.h"
#include "parse/elaborate/elaborate.h"
#include "report/report.h"
#include "rewrite/passes.h"
#include "schedule/schedule.h"
#include "targets/embedded.h"
#include "targets/find.h"
#include <memory>

namespace tang::report::test {

struct Compiled {
  std::shared_ptr<SourceManager> sources = std::make_shared<SourceManager>();
  Sink sink;
  std::string file, sha256;
  graph::Graph elaborated, graph;
  plan::Plan plan;
  kernel::Program program;
  bound::Analysis bounds;
  targets::TargetSpec target;
  std::vector<BoundDim> dims;

  ReportInput input() const {
    ReportInput out{"0.1.0", {"-O2"}, file,    sha256, *sources, elaborated,
                    graph,   plan,    program, bounds, target};
    out.dims = dims;
    return out;
  }
};

/// From `elaborated` and the target to the rest.
inline void compile(Compiled& out, int level) {
  out.graph =
      rewrite::run_passes(out.elaborated, level, [](const rewrite::Pass&, const graph::Graph&) {});
  schedule::Machine machine;
  lower::Machine emit;
  const targets::Target& target = *out.target.target;
  machine.target = emit.target = atomics::Target(target.name);
  machine.dynamic_shared_bytes = target.has(targets::Feature::dynamic_shared_memory)
                                     ? target.limit(targets::LimitKey::dynamic_shared_bytes)
                                     : target.limit(targets::LimitKey::static_shared_bytes);
  machine.hardware_grid = emit.hardware_grid = target.has(targets::Feature::hardware_grid);
  machine.warp_shuffle = emit.warp_shuffle = target.has(targets::Feature::warp_shuffle);
  out.plan = schedule::schedule(out.graph, level, machine);
  out.program = lower::lower(out.graph, out.plan, emit);
  out.bounds = bound::analyze(out.graph, out.plan, false);
}

/// Empty where the text has errors, which stand in `messages`.
inline std::optional<Compiled> compile(const std::string& name, const std::string& text,
                                       const std::string& target, std::string& messages,
                                       std::vector<BoundDim> dims = {}, int level = 2) {
  Compiled out;
  out.file = name, out.sha256 = sha256_hex(text), out.dims = std::move(dims);
  std::vector<parse::DimBinding> bindings;
  for (const BoundDim& dim : out.dims) bindings.push_back({dim.name, dim.value, dim.value, 1});
  auto graph = parse::elaborate(*out.sources, out.sources->add(name, text),
                                {bindings, targets::embedded_spec("nn.tg"), {}}, out.sink);
  for (const auto& d : out.sink.diagnostics()) messages += d.message + "\n";
  auto spec = targets::find_target(target, messages);
  if (!graph || !spec) return std::nullopt;
  out.target = *spec;
  out.elaborated = std::move(*graph);
  compile(out, level);
  return out;
}

} // namespace tang::report::test
