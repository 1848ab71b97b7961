// Fields of point kernels: how many threads, and whether maps move vectors.
#include "schedule/shapes.h"
#include <algorithm>

namespace tang::schedule {

using graph::Comprehension;
using graph::Graph;

namespace {

/// Neighbours per thread so that the narrowest tensor still moves in 16-byte vectors, at most 8.
int vector_width(const Graph& graph, const Comprehension& node, const Machine& machine) {
  int bits = 64;
  auto all = graph::roots(node);
  for (graph::ExprId id : graph::reachable(graph.exprs, all))
    if (graph.exprs[id].op == graph::Op::read)
      bits = std::min(bits, graph::info(graph[graph::TensorId(graph.exprs[id].ref)].type).bits);
  for (const graph::Result& result : node.results) {
    if (graph::is_packed(graph[result.tensor].type)) return 1;
    bits = std::min(bits, graph::info(graph[result.tensor].type).bits);
  }
  return std::clamp(machine.vector_bytes * 8 / std::max(bits, 8), 1, 8);
}

} // namespace

plan::KernelPlan plan_point(const Graph& graph, const Comprehension& node, int level,
                            const Machine& machine) {
  plan::KernelPlan kernel;
  kernel.emitter = plan::Emitter::point;
  kernel.reason = "one thread per point";
  plan::Variant plain;
  plain.fields.serial_inner = !machine.hardware_grid;
  plain.fields.threads = machine.hardware_grid ? 256 : 1;
  bool map = !node.reduction && !node.points.empty() &&
             std::all_of(node.results.begin(), node.results.end(),
                         [](const graph::Result& r) { return r.extra.empty(); });
  int width = level > 0 && map && machine.hardware_grid ? vector_width(graph, node, machine) : 1;
  if (width > 1) {
    plan::Fields vector = plain.fields;
    vector.vector = width;
    if (!add_variant(graph, kernel, vector, {node.points.back().extent, width, {}})) return kernel;
  }
  kernel.variants.push_back(plain);
  return kernel;
}

} // namespace tang::schedule
