#include "schedule/schedule.h"
#include "base/check.h"
#include "schedule/shapes.h"

namespace tang::schedule {

using graph::Comprehension;
using graph::Graph;
using graph::Node;

namespace {

std::string kernel_name(const Graph& graph, const Node& node) {
  return graph[graph::defines_of(node).front()].name;
}

std::vector<plan::Step> schedule_nodes(const Graph& graph, const std::vector<Node>& nodes,
                                       int level, const Machine& machine) {
  std::vector<plan::Step> steps;
  for (uint32_t n = 0; n < nodes.size();) {
    if (const auto* recur = std::get_if<graph::Recur>(&nodes[n].definition)) {
      // Nesting of recurrences is bounded by the language's nesting limit.
      steps.push_back({plan::RecurPlan{n, schedule_nodes(graph, recur->body, level, machine)}});
      ++n;
      continue;
    }
    const auto& c = std::get<Comprehension>(nodes[n].definition);
    plan::KernelPlan kernel;
    uint32_t count = 1;
    if (level > 0) {
      kernel = plan_stream(graph, c, machine);
      if (!kernel.variants.empty()) {
        // Scores and amounts in one pass.
      } else if (auto rows = row_group(graph, nodes, n, machine)) {
        kernel = plan_row(graph, nodes, *rows, machine);
        count = static_cast<uint32_t>(rows->nodes.size());
      } else if (auto sides = graph::contraction(graph, c);
                 sides && worth_tiling(graph, c, *sides)) {
        kernel = plan_tile(graph, c, *sides, machine);
      }
    }
    if (kernel.variants.empty()) kernel = plan_point(graph, c, level, machine);
    if (kernel.nodes.empty()) kernel.nodes = {n};
    kernel.name = kernel_name(graph, nodes[kernel.nodes.back()]);
    steps.push_back({std::move(kernel)});
    n += count;
  }
  return steps;
}

} // namespace

plan::Plan schedule(const Graph& graph, int level, const Machine& machine) {
  plan::Plan plan{schedule_nodes(graph, graph.nodes, level, machine)};
  // Not in a recurrence, whose tensors share memory from one step to the next.
  if (level > 1 && machine.hardware_grid) run_beside(graph, graph.nodes, machine, plan.steps);
  return plan;
}

} // namespace tang::schedule
