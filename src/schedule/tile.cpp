// Contractions: how large the tiles are.
#include "schedule/shapes.h"

namespace tang::schedule {

using graph::Comprehension;
using graph::Graph;

namespace {

/// The product of extents when they are fixed.
std::optional<int64_t> fixed_size(const Graph& graph, const Comprehension& node,
                                  const std::vector<size_t>& axes) {
  int64_t product = 1;
  for (size_t i : axes) {
    auto extent = graph.exprs.as_integer(node.points[i].extent);
    if (!extent || *extent > (int64_t{1} << 20)) return std::nullopt;
    product *= *extent;
  }
  return product;
}

} // namespace

bool worth_tiling(const Graph& graph, const Comprehension& c, const graph::Sides& sides) {
  auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n);
  return (!rows || *rows >= 4) && (!cols || *cols >= 4);
}

plan::KernelPlan plan_tile(const Graph& graph, const Comprehension& c, const graph::Sides& sides,
                           const Machine& machine) {
  plan::KernelPlan kernel;
  kernel.emitter = plan::Emitter::tile;
  kernel.reason = "operands that lack rows or columns are reused across a tile";
  plan::Variant v;
  if (!machine.hardware_grid) {
    // Register tile of a core: the accumulators of 4 rows of 16 columns fit 16 vector registers.
    v.fields.block_m = v.fields.thread_m = 4;
    v.fields.block_n = v.fields.thread_n = 16;
    kernel.variants.push_back(v);
    return kernel;
  }
  auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n);
  // Small problems: smaller tiles, so that more blocks share the work.
  bool small = (rows && *rows <= 32) || (cols && *cols <= 32);
  int block = small ? 32 : 64, thread = small ? 2 : 4;
  v.fields.block_m = v.fields.block_n = block;
  v.fields.block_k = 16;
  v.fields.thread_m = v.fields.thread_n = thread;
  v.fields.stage = true;
  v.fields.threads = (block / thread) * (block / thread);
  kernel.variants.push_back(v);
  return kernel;
}

} // namespace tang::schedule
