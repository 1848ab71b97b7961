// Contractions: how large the tiles are.
#include "atomics/match.h"
#include "schedule/plain_tiles.h"
#include <algorithm>
#include <fmt/format.h>

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

bool is_wide(const Graph& graph, const Comprehension& c) {
  auto all = graph::roots(c);
  bool wide = std::any_of(c.results.begin(), c.results.end(), [&](const graph::Result& r) {
    return graph[r.tensor].type == graph::ElemType::f64;
  });
  for (graph::ExprId id : graph::reachable(graph.exprs, all))
    wide |= graph.exprs[id].op == graph::Op::read &&
            graph[graph::TensorId(graph.exprs[id].ref)].type == graph::ElemType::f64;
  return wide;
}

int64_t staged_bytes(const Graph& graph, const Comprehension& c, const graph::Operands& operands,
                     const plan::Fields& f) {
  const bool wide = is_wide(graph, c);
  auto bytes = [&](const std::vector<graph::ExprId>& list, int size) {
    int64_t sum = 0;
    for (graph::ExprId id : list) {
      bool eight = wide || graph.exprs[id].scalar == graph::Scalar::integer;
      sum += int64_t{f.block_k} * (size + 4) * (eight ? 8 : 4);
    }
    return sum;
  };
  return f.pipeline * (bytes(operands.a, f.block_m) + bytes(operands.b, f.block_n));
}

std::optional<std::string> why_no_ring(const Graph& graph, const Comprehension& c,
                                       const plan::Fields& f, const Machine& machine) {
  if (!atomics::find(machine.target, atomics::GroupShape{atomics::Kind::commit, "cp_async"}))
    return "the target copies nothing asynchronously: `pipeline: 1`";
  for (int own : {f.thread_m, f.thread_n})
    if (own != 1 && own != 2 && own % 4)
      return fmt::format("a thread takes 1 or 2 neighbours, or groups of 4, not {}", own);
  if (f.warp_m < 1 || f.warp_n < 1 || f.warp_m % f.thread_m || f.warp_n % f.thread_n ||
      (f.warp_m / f.thread_m) * (f.warp_n / f.thread_n) != machine.warp)
    return fmt::format("{} threads share a warp's tile: (warp_m / thread_m) * (warp_n / thread_n)",
                       machine.warp);
  if (f.block_m % f.warp_m || f.block_n % f.warp_n)
    return "warps share a block's tile evenly: `block_m % warp_m` and `block_n % warp_n` are 0";
  // A thread's values lie in two buffers in turn, and a chunk begins with the same one.
  if (f.block_k % 2) return "`block_k` is a multiple of 2";
  // A pass of all threads copies whole lines of points or of terms, and whole passes fill a chunk.
  int terms = plan::terms_at_once(f);
  for (int points : {f.block_m, f.block_n}) {
    bool along_sum =
        f.block_k % terms == 0 && f.threads % terms == 0 && points % (f.threads / terms) == 0;
    bool along_points = points <= f.threads
                            ? f.threads % points == 0 && f.block_k % (f.threads / points) == 0
                            : points % f.threads == 0;
    if (!along_sum || !along_points)
      return fmt::format("{} threads do not copy {} points of {} terms evenly", f.threads, points,
                         f.block_k);
  }
  auto sides = graph::sides_of(graph, c);
  int64_t bytes = staged_bytes(graph, c, graph::operands_of(graph, c, sides), f);
  if (bytes > machine.dynamic_shared_bytes)
    return fmt::format("its tiles take {} bytes of shared memory, and a block has {}", bytes,
                       machine.dynamic_shared_bytes);
  return {};
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
  add_plain_variants(graph, c, sides, machine, kernel);
  if (!kernel.variants.empty() && kernel.variants.back().when.empty()) return kernel;
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
