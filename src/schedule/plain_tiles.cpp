#include "schedule/plain_tiles.h"
#include "graph/typical.h"
#include <algorithm>
#include <cmath>

namespace tang::schedule {

using graph::Comprehension;
using graph::ExprId;
using graph::Graph;
using plan::Fact;

namespace {

/// Products of f32 that a multiprocessor starts in a clock (the vendor's programming guide, compute
/// capabilities 8.6 to 9.0): its clocks are the rate of f32 by this.
constexpr double lanes = 128;

/// Whether a thread's registers hold its state, two buffers of values, a chunk of what is computed
/// on its way with its addresses, and what a body needs that is more than a product.
bool holds(const Graph& graph, const Comprehension& c, const graph::Operands& operands,
           const PlainTile& t, const Machine& machine) {
  constexpr int most = 240, places = 45, body = 20, held_element = 3;
  bool wide = is_wide(graph, c);
  auto of_side = [&](const std::vector<ExprId>& side, int own, int block) {
    int sum = 0;
    for (ExprId id : side) {
      const graph::Expr& e = graph.exprs[id];
      wide |= e.scalar == graph::Scalar::integer;
      bool held =
          e.op != graph::Op::read || graph::info(graph[graph::TensorId(e.ref)].type).bits < 32;
      sum += 2 * own + (held ? held_element * block * t.block_k / t.threads() : 0);
    }
    return sum;
  };
  const int values = of_side(operands.a, t.thread_m, t.block_m) +
                     of_side(operands.b, t.thread_n, t.block_n),
            words = wide ? 2 : 1;
  int fields = static_cast<int>(graph[c.reduction->monoid].fields.size());
  int registers = words * (fields * t.thread_m * t.thread_n + values) + places;
  if (graph::products_of(graph, c, operands).empty()) registers += body;
  return registers <= std::min(most, machine.registers / t.threads());
}

bool usable(const Graph& graph, const Comprehension& c, const graph::Operands& operands,
            const PlainTile& t, const Machine& machine) {
  return t.threads() <= machine.max_threads && holds(graph, c, operands, t, machine) &&
         !why_no_ring(graph, c, fields_of(t), machine);
}

/// The usable tile that is through soonest; null where none is usable.
const PlainTile* best_tile(const Graph& graph, const Comprehension& c,
                           const graph::Operands& operands, const PlainSizes& sizes,
                           const Machine& machine) {
  const PlainTile* best = nullptr;
  for (const PlainTile& t : plain_tiles)
    if (usable(graph, c, operands, t, machine) &&
        (!best || clocks(t, sizes, machine) < clocks(*best, sizes, machine)))
      best = &t;
  return best;
}

/// Positions in plain_tiles.
constexpr size_t plain_large = 0, plain_medium = 1, plain_small = 2, plain_low = 4;

/// Tiles for sizes that are known only to the launcher: the first whose bounds hold.
struct Rung {
  PlainTile tile;
  int64_t rows, cols; ///< at most; 0 = any
};
constexpr Rung ladder[] = {
    {plain_tiles[plain_low], 64, 0},        {plain_tiles[plain_low], 0, 64},
    {plain_tiles[plain_small], 256, 0},     {plain_tiles[plain_small], 0, 256},
    {plain_tiles[plain_small], 1024, 2304}, {plain_tiles[plain_medium], 2304, 0},
    {plain_tiles[plain_large], 0, 0}};

} // namespace

plan::Fields fields_of(const PlainTile& t) {
  plan::Fields f;
  f.block_m = t.block_m, f.block_n = t.block_n, f.block_k = t.block_k;
  f.thread_m = t.thread_m, f.thread_n = t.thread_n;
  f.warp_m = t.warp_m, f.warp_n = t.warp_n;
  f.pipeline = t.pipeline, f.raster = t.raster;
  f.threads = t.threads();
  f.stage = true;
  return f;
}

double clocks(const PlainTile& t, const PlainSizes& sizes, const Machine& machine) {
  double blocks =
      std::ceil(sizes.rows / t.block_m) * std::ceil(sizes.cols / t.block_n) * sizes.batch;
  return sizes.depth * std::max<double>(t.alone, std::ceil(blocks / machine.units) * t.shared);
}

std::optional<int64_t> plain_parts(const Graph& graph, const Comprehension& c,
                                   const graph::Sides& sides, const Machine& machine) {
  constexpr int64_t most = 64, chunk = 16;
  constexpr double launch_us = 2;
  auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n),
       batch = fixed_size(graph, c, sides.batch);
  if (!rows || !cols || !batch || c.reduction->axes.size() != 1) return std::nullopt;
  auto depth = graph.exprs.as_integer(c.reduction->axes[0].extent);
  if (!depth || machine.flop_per_us <= 0 || machine.cache_bytes_per_us <= 0) return std::nullopt;
  graph::Operands operands = graph::operands_of(graph, c, sides);
  double clocks_per_us = double(machine.flop_per_us) / (2 * lanes * machine.units);
  double points = double(*rows) * double(*cols) * double(*batch);
  double bytes = double(graph[c.reduction->monoid].fields.size()) * (is_wide(graph, c) ? 8 : 4);
  auto time = [&](int64_t parts) -> double {
    PlainSizes sizes{double(*rows), double(*cols), double(*batch * parts), double(*depth / parts)};
    const PlainTile* tile = best_tile(graph, c, operands, sizes, machine);
    if (!tile) return 0;
    // Each part is written and read again.
    double merge =
        launch_us + double(parts) * points * 2 * bytes / double(machine.cache_bytes_per_us);
    return clocks(*tile, sizes, machine) + (parts > 1 ? merge * clocks_per_us : 0);
  };
  double whole = time(1), least = whole;
  if (whole == 0) return std::nullopt;
  int64_t best = 1;
  for (int64_t parts = 2; parts <= most; ++parts) {
    if (*depth % parts || *depth / parts % chunk) continue;
    if (double t = time(parts); t * 6 < whole * 5 && t < least) best = parts, least = t;
  }
  return best;
}

void add_plain_variants(const Graph& graph, const Comprehension& c, const graph::Sides& sides,
                        const Machine& machine, plan::KernelPlan& kernel) {
  graph::Operands operands = graph::operands_of(graph, c, sides);
  auto add = [&](const PlainTile& t, std::vector<Fact> when) {
    kernel.variants.push_back({fields_of(t), std::move(when)});
    return kernel.variants.back().when.empty();
  };
  auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n);
  bool one_row_axis = sides.m.size() == 1, one_col_axis = sides.n.size() == 1;
  // A launcher asks about one extent at a time.
  bool asks = (!rows || !cols) && (rows || one_row_axis) && (cols || one_col_axis) &&
              std::all_of(std::begin(plain_tiles), std::end(plain_tiles), [&](const PlainTile& t) {
                return usable(graph, c, operands, t, machine);
              });
  if (asks) {
    for (const Rung& rung : ladder) {
      // What is bounded by its columns alone is looked for only where they are known.
      if (rung.rows == 0 && rung.cols != 0 && !cols) continue;
      if ((rows && rung.rows && *rows > rung.rows) || (cols && rung.cols && *cols > rung.cols))
        continue;
      std::vector<Fact> when;
      auto at_most = [&](size_t axis, int64_t most) {
        when.push_back({Fact::Kind::at_most, c.points[axis].extent, most});
      };
      if (!rows && rung.rows) at_most(sides.m[0], rung.rows);
      if (!cols && rung.cols) at_most(sides.n[0], rung.cols);
      // A condition that makes no difference is not asked.
      while (when.empty() && !kernel.variants.empty() &&
             kernel.variants.back().fields == fields_of(rung.tile))
        kernel.variants.pop_back();
      if (add(rung.tile, std::move(when))) return;
    }
    return;
  }
  auto size = [&](const std::vector<size_t>& axes) {
    double product = 1;
    for (size_t axis : axes) product *= std::max(1.0, graph::typical(graph, c.points[axis].extent));
    return product;
  };
  PlainSizes sizes{size(sides.m), size(sides.n), size(sides.batch), 1};
  const PlainTile* best = best_tile(graph, c, operands, sizes, machine);
  if (!best) return;
  PlainTile tile = *best;
  // Blocks of a group that have no rows are few.
  auto groups = [&] { return std::ceil(sizes.rows / (double(tile.block_m) * tile.raster)); };
  while (tile.raster > 1 &&
         groups() * tile.raster * tile.block_m * 8 > (sizes.rows + tile.block_m) * 9)
    tile.raster /= 2;
  add(tile, {});
}

} // namespace tang::schedule
