// Contractions: how large the tiles are.
#include "schedule/shapes.h"
#include <algorithm>

namespace tang::schedule {

using graph::Comprehension;
using graph::Graph;

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

int64_t staged_bytes(const Graph& graph, const Comprehension& c, const graph::Operands& operands,
                     const plan::Fields& f) {
  auto all = graph::roots(c);
  bool wide = std::any_of(c.results.begin(), c.results.end(), [&](const graph::Result& r) {
    return graph[r.tensor].type == graph::ElemType::f64;
  });
  for (graph::ExprId id : graph::reachable(graph.exprs, all))
    wide |= graph.exprs[id].op == graph::Op::read &&
            graph[graph::TensorId(graph.exprs[id].ref)].type == graph::ElemType::f64;
  auto bytes = [&](const std::vector<graph::ExprId>& list, int size) {
    int64_t sum = 0;
    for (graph::ExprId id : list) {
      bool eight = wide || graph.exprs[id].scalar == graph::Scalar::integer;
      sum += int64_t{f.block_k} * (size + 4) * (eight ? 8 : 4);
    }
    return sum;
  };
  return bytes(operands.a, f.block_m) + bytes(operands.b, f.block_n);
}

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
    // Register tile of a core: the accumulators of 4 rows of 16 columns fit 16 vector registers;
    // several fields share them.
    int fields = static_cast<int>(graph[c.reduction->monoid].fields.size());
    v.fields.block_m = v.fields.thread_m = std::max(1, 4 / fields);
    v.fields.block_n = v.fields.thread_n = 16;
    kernel.variants.push_back(v);
    return kernel;
  }
  auto product = matrix_product(graph, c, sides, machine);
  if (product && (!plan::is_split(product->precision) || machine.split_pays)) {
    add_matrix_variants(graph, c, sides, *product, machine, kernel);
    if (!kernel.variants.empty() && kernel.variants.back().when.empty()) return kernel;
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
  // A body of many operands: shallower stages, or no tile at all.
  auto operands = graph::operands_of(graph, c, sides);
  while (v.fields.block_k > 4 && staged_bytes(graph, c, operands, v.fields) > machine.shared_bytes)
    v.fields.block_k /= 2;
  if (staged_bytes(graph, c, operands, v.fields) <= machine.shared_bytes)
    kernel.variants.push_back(v);
  return kernel;
}

} // namespace tang::schedule
