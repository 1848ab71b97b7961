#include "schedule/product_tiles.h"
#include "base/checked.h"
#include <algorithm>

namespace tang::schedule {

namespace {

/// From a block's start to its first product: a load from memory, and the start itself.
constexpr int64_t start_ns = 1500;
/// Of a multiprocessor, each beside one scheduler of warps (the vendor's programming guide, compute
/// capabilities 7.5 to 9.0: four schedulers).
constexpr int matrix_units = 4;

} // namespace

Tile shared_by(Tile t, int sums) {
  if (sums == 1) return t;
  constexpr int least = 16;
  int warps = t.block_n / t.warp_n;
  t.warp_n = std::max(least, t.warp_n / sums / least * least);
  t.block_n = warps * t.warp_n;
  return t;
}

/// Whichever way their memory lies: lines along the sum, and lines along the points, of which each
/// word is loaded by itself where it is no pair, are padded as the emitter does.
int64_t ring_bytes(const Tile& t, const MatrixProduct& product) {
  int64_t bytes = product.bits() / 8, lines = t.depth / bytes, pad = bytes == 4 ? 32 : 16;
  auto of_one = [&](int points) {
    return std::max(int64_t{points} * (t.depth + 16), lines * (points * bytes + pad));
  };
  return t.pipeline * (product.a_tiles * of_one(t.block_m) + product.b_tiles * of_one(t.block_n));
}

bool fits(Tile& t, const MatrixProduct& product, const Machine& machine) {
  while (ring_bytes(t, product) > machine.dynamic_shared_bytes) {
    if (t.pipeline > 3)
      --t.pipeline;
    else if (t.depth > 64)
      t.depth /= 2;
    else
      return false;
  }
  return true;
}

int64_t blocks_of(const Tile& t, const ProductSizes& sizes) {
  return ceildiv(sizes.rows, t.block_m) * ceildiv(sizes.cols, t.block_n) * sizes.batch;
}

int64_t time_ns(const Tile& t, const ProductSizes& sizes, const Machine& machine) {
  if (machine.cache_bytes_per_us <= 0 || machine.product_flop_per_us <= 0) return 0;
  // The few tiles are told apart by whole microseconds of a block.
  int64_t step = machine.search ? 1 : 1000;
  auto of_one = [&](int64_t amount, int64_t rate) {
    int64_t one = std::max<int64_t>(1, rate / machine.units);
    return rate > 0 ? ceildiv(amount * (1000 / step), one) * step : 0;
  };
  // A warp uses one unit: those that have none are idle. Units take half as long for half the bits,
  // and one product after the other where factors are split.
  int64_t warps = ceildiv(t.warps(), matrix_units) * matrix_units,
          flop = 2 * warps * t.warp_m * t.warp_n * sizes.depth * sizes.multiplied / 16;
  // Each line is copied once, and read by every warp that multiplies it.
  int64_t line = sizes.depth * sizes.bits / 8, copied = (t.block_m + t.block_n) * line,
          read = t.warps() * int64_t{t.warp_m + t.warp_n} * line;
  // A copy is under way while the other chunks of the ring are multiplied.
  int64_t waits = ceildiv(line, t.depth) * machine.load_ns / (t.pipeline - 1);
  int64_t block = std::max({of_one(flop, machine.product_flop_per_us),
                            of_one(copied, machine.cache_bytes_per_us),
                            of_one(copied + read, machine.shared_bytes_per_us), waits});
  return ceildiv(blocks_of(t, sizes), machine.units) * (block + start_ns);
}

Tile best_tile(const Tiles& few, std::span<const Tile> others, const ProductSizes& sizes,
               const Machine& machine) {
  int64_t whole = int64_t{few.large.block_m} * few.large.block_n,
          points = sizes.rows * sizes.cols * sizes.batch;
  // Most multiprocessors have a block of it, and most of a block has points.
  bool large =
      5 * points >= 3 * machine.units * whole && blocks_of(few.large, sizes) * whole <= 2 * points;
  bool medium = time_ns(few.medium, sizes, machine) < time_ns(few.small, sizes, machine);
  Tile best = large ? few.large : medium ? few.medium : few.small;
  int64_t least = time_ns(best, sizes, machine);
  // No model is exact to a hundredth.
  for (const Tile& other : others)
    if (int64_t ns = time_ns(other, sizes, machine); ns * 100 < least * 99)
      best = other, least = ns;
  return best;
}

int64_t time_in_parts(const Tiles& few, std::span<const Tile> others, const ProductSizes& sizes,
                      int64_t parts, const Machine& machine) {
  constexpr int64_t launch_ns = 2000;
  ProductSizes part = sizes;
  part.depth /= parts, part.batch *= parts;
  int64_t ns = time_ns(best_tile(few, others, part, machine), part, machine);
  if (parts == 1) return ns;
  // Each part is written and read again.
  int64_t merged = parts * sizes.rows * sizes.cols * sizes.batch * 8;
  return ns + launch_ns + merged / std::max<int64_t>(1, machine.cache_bytes_per_us / 1000);
}

int64_t best_parts(const Tiles& few, std::span<const Tile> others, const ProductSizes& sizes,
                   int64_t usual, const Machine& machine) {
  constexpr int64_t most = 64;
  int64_t whole = time_in_parts(few, others, sizes, 1, machine), best = usual,
          least = time_in_parts(few, others, sizes, usual, machine);
  for (int64_t parts = 1; parts <= most; ++parts) {
    // Parts end where chunks of every tile do.
    if (parts > 1 && (sizes.depth % parts || sizes.depth / parts % (1024 / sizes.bits))) continue;
    int64_t ns = time_in_parts(few, others, sizes, parts, machine);
    if ((parts == 1 || ns * 5 < whole * 4) && ns < least) best = parts, least = ns;
  }
  return best;
}

int registers_of(const Tile& t, plan::Precision precision) {
  // Rows of atomics/: 4 registers of 16 rows, 2 of 8 columns. Pieces of factors that are split lie
  // beside one buffer of words (heads of f32 in the place of words, of which there are two), and so
  // do the sums of a chunk.
  const graph::Pieces* pieces = plan::pieces_of(precision);
  int buffers = pieces ? 2 + pieces->count - (pieces->held == graph::ElemType::f32) : 2;
  int sums = t.warp_m * t.warp_n / 32, fragments = t.warp_m / 16 * 4 + t.warp_n / 8 * 2;
  constexpr int others = 40;
  return (pieces ? 2 : 1) * sums + buffers * fragments + others;
}

std::vector<Tile> searched_tiles(const MatrixProduct& product, const Machine& machine) {
  constexpr int most_registers = 255; // that an instruction can name
  std::vector<Tile> tiles;
  auto add_rings = [&](Tile t) {
    int threads = t.warps() * machine.warp;
    if (t.warps() < matrix_units || threads > machine.max_threads ||
        registers_of(t, product.precision) > std::min(most_registers, machine.registers / threads))
      return;
    for (int depth : {128, 64})
      for (int pipeline : {4, 3, 5, 6, 2}) {
        t.depth = depth, t.pipeline = pipeline;
        if (ring_bytes(shared_by(t, product.sums), product) <= machine.dynamic_shared_bytes)
          tiles.push_back(t);
      }
  };
  constexpr int sides[] = {256, 128, 64, 32, 16}, warp_sides[] = {64, 32, 16};
  for (int block_m : sides)
    for (int block_n : sides)
      for (int warp_m : warp_sides)
        for (int warp_n : warp_sides)
          if (warp_m <= block_m && warp_n <= block_n)
            add_rings({block_m, block_n, 0, warp_m, warp_n, 0, 1});
  return tiles;
}

int best_raster(const Tile& t, const ProductSizes& sizes, const Machine& machine) {
  if (blocks_of(t, sizes) <= machine.units) return 1;
  int best = 1;
  auto lines = [&](int64_t g) { return g * t.block_m + ceildiv(machine.units, g) * t.block_n; };
  for (int g : {2, 4, 8, 16})
    if (ceildiv(sizes.rows, t.block_m) >= g && lines(g) < lines(best)) best = g;
  return best;
}

} // namespace tang::schedule
