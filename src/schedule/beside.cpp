// Kernels that do not read each other run beside each other in one launch: each too small to fill
// the machine, they fill it together, and one start is waited for instead of several.
#include "graph/reads.h"
#include "schedule/shapes.h"
#include <algorithm>

namespace tang::schedule {

using namespace graph;

namespace {

/// More kernels in one are code that few blocks run.
constexpr size_t most_beside = 4;

bool one_block_for_all(const plan::KernelPlan& a, const plan::KernelPlan& b) {
  auto equal = [](const plan::Variant& x, const plan::Variant& y) {
    auto same = [](const plan::Fact& f, const plan::Fact& g) {
      return f.kind == g.kind && f.extent == g.extent && f.value == g.value;
    };
    return x.fields == y.fields &&
           std::equal(x.when.begin(), x.when.end(), y.when.begin(), y.when.end(), same);
  };
  return a.emitter == b.emitter && std::equal(a.variants.begin(), a.variants.end(),
                                              b.variants.begin(), b.variants.end(), equal);
}

/// Whether nodes of `b` wait for nodes of `a`, or write over what those read.
bool waits(const Graph& graph, const std::vector<Node>& nodes, const plan::KernelPlan& a,
           const plan::KernelPlan& b) {
  std::set<TensorId> made;
  for (const plan::KernelPlan* kernel : {&a, &b})
    for (uint32_t n : kernel->nodes)
      for (TensorId id : defines_of(nodes[n])) {
        if (graph[id].over) return true;
        if (kernel == &a) made.insert(id);
      }
  return std::any_of(b.nodes.begin(), b.nodes.end(), [&](uint32_t n) {
    auto reads = reads_of(graph, nodes[n]);
    return std::any_of(reads.begin(), reads.end(), [&](TensorId id) { return made.contains(id); });
  });
}

} // namespace

void run_beside(const Graph& graph, const std::vector<Node>& nodes,
                std::vector<plan::Step>& steps) {
  std::vector<plan::Step> out;
  for (plan::Step& step : steps) {
    auto* kernel = std::get_if<plan::KernelPlan>(&step.node);
    auto* before = out.empty() ? nullptr : std::get_if<plan::KernelPlan>(&out.back().node);
    // A row kernel of several nodes computes one after the other.
    bool alone = kernel && kernel->nodes.size() == 1 && before &&
                 (before->beside ? before->nodes.size() < most_beside : before->nodes.size() == 1);
    if (!alone || !one_block_for_all(*before, *kernel) || waits(graph, nodes, *before, *kernel)) {
      out.push_back(std::move(step));
      continue;
    }
    before->beside = true;
    before->name += "_" + kernel->name;
    before->nodes.push_back(kernel->nodes[0]);
  }
  steps = std::move(out);
}

} // namespace tang::schedule
