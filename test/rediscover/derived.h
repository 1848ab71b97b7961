#pragma once
// Known algorithms fall out of the laws: what a naive program becomes, counted.
#include "../rewrite/run.h"
#include "schedule/schedule.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::rediscover {

using namespace graph;
using rewrite::test::difference;
using rewrite::test::graph_of;

struct Derived {
  Graph graph;
  plan::Plan gpu, core;

  size_t kernels_on(const plan::Plan& plan) const {
    size_t count = 0;
    for (const plan::Step& step : plan.steps)
      count += std::holds_alternative<plan::KernelPlan>(step.node);
    return count;
  }

  /// Tensors that are stored between kernels.
  std::vector<TensorId> intermediates() const {
    std::vector<TensorId> found;
    for (const Node& node : graph.nodes)
      for (TensorId id : defines_of(node))
        if (graph[id].kind != TensorKind::output) found.push_back(id);
    return found;
  }

  /// Those that one kernel of a plan stores for another.
  std::vector<TensorId> stored_by(const plan::Plan& plan) const {
    std::map<uint32_t, size_t> kernel;
    for (size_t k = 0; k < plan.steps.size(); ++k)
      if (const auto* p = std::get_if<plan::KernelPlan>(&plan.steps[k].node))
        for (uint32_t n : p->nodes) kernel[n] = k;
    std::map<TensorId, size_t> made;
    for (const auto& [n, k] : kernel)
      for (TensorId id : defines_of(graph.nodes[n])) made[id] = k;
    std::set<TensorId> found;
    for (const auto& [n, k] : kernel)
      for (TensorId id : reads_of(graph, graph.nodes[n]))
        if (auto at = made.find(id); at != made.end() && at->second != k) found.insert(id);
    return {found.begin(), found.end()};
  }

  /// `tile row point`: the emitters of a plan, in order.
  static std::string emitters(const plan::Plan& plan) {
    std::string text;
    for (const plan::Step& step : plan.steps)
      if (const auto* p = std::get_if<plan::KernelPlan>(&step.node))
        text += (text.empty() ? "" : " ") + std::string(plan::name(p->emitter));
    return text;
  }

  /// The highest number of symbolic extents in the shape of one of them: 2 for S × S.
  size_t degree() const {
    size_t most = 0;
    for (TensorId id : intermediates()) {
      auto symbolic = std::count_if(graph[id].shape.begin(), graph[id].shape.end(),
                                    [&](ExprId extent) { return !graph.exprs.as_integer(extent); });
      most = std::max(most, static_cast<size_t>(symbolic));
    }
    return most;
  }

  /// Elements of the largest one when the dims have these values.
  int64_t largest(const std::vector<int64_t>& dims) const {
    Graph fixed = graph;
    for (size_t d = 0; d < dims.size(); ++d) fixed.dims[d].lo = fixed.dims[d].hi = dims[d];
    Prover prover(fixed);
    int64_t most = 0;
    for (TensorId id : intermediates()) {
      int64_t elements = 1;
      for (ExprId extent : fixed[id].shape) elements *= prover.range(extent).hi;
      most = std::max(most, elements);
    }
    return most;
  }
};

/// The laws and the schedules of a program, equal to the naive program (gradients are its nodes) at
/// each of `sizes`.
inline Derived derive(const std::string& text, const std::vector<std::vector<int64_t>>& sizes) {
  Graph naive = rewrite::differentiate(graph_of(text));
  Derived derived{rewrite::test::rewritten(naive), {}, {}};
  INFO(text << "\nbecomes\n" << to_text(derived.graph));
  for (const auto& dims : sizes) {
    INFO("dims " << Catch::StringMaker<std::vector<int64_t>>::convert(dims));
    CHECK(difference(naive, derived.graph, dims) == "");
  }
  schedule::Machine core;
  core.hardware_grid = false, core.max_threads = core.warp = 1, core.vector_bytes = 64;
  derived.gpu = schedule::schedule(derived.graph, 2, {});
  derived.core = schedule::schedule(derived.graph, 2, core);
  return derived;
}

} // namespace tang::rediscover
