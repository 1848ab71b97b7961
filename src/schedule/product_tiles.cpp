#include "schedule/product_tiles.h"
#include <algorithm>

namespace tang::schedule {

namespace {

int64_t ceildiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// From a block's start to its first product: a load from memory, and the start itself.
constexpr int64_t start_ns = 1500;

} // namespace

Tile shared_by(Tile t, int sums) {
  if (sums == 1) return t;
  constexpr int least = 16;
  int warps = t.block_n / t.warp_n;
  t.warp_n = std::max(least, t.warp_n / sums / least * least);
  t.block_n = warps * t.warp_n;
  return t;
}

/// Lines are padded by 16 bytes (by 32 where each word is loaded by itself), whichever way their
/// memory lies.
int64_t ring_bytes(const Tile& t, const MatrixProduct& product) {
  int64_t bytes = product.bits() / 8, lines = t.depth / bytes, pad = bytes == 4 ? 32 : 16;
  auto of_one = [&](int points) {
    return std::max(points * (t.depth + pad), lines * (points * bytes + pad));
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
  auto of_one = [&](int64_t amount, int64_t rate) {
    return ceildiv(amount, std::max<int64_t>(1, rate / machine.units)) * 1000;
  };
  // Units take half as long for half the bits.
  int64_t flop = int64_t{2} * t.block_m * t.block_n * sizes.depth * sizes.bits / 16,
          bytes = int64_t{t.block_m + t.block_n} * sizes.depth * sizes.bits / 8;
  int64_t block = std::max(of_one(flop, machine.product_flop_per_us),
                           of_one(bytes, machine.cache_bytes_per_us));
  return ceildiv(blocks_of(t, sizes), machine.units) * (block + start_ns);
}

Tile best_tile(const Tiles& tiles, const ProductSizes& sizes, const Machine& machine) {
  int64_t whole = int64_t{tiles.large.block_m} * tiles.large.block_n,
          points = sizes.rows * sizes.cols * sizes.batch;
  // Most multiprocessors have a block of it, and most of a block has points.
  if (5 * points >= 3 * machine.units * whole &&
      blocks_of(tiles.large, sizes) * whole <= 2 * points)
    return tiles.large;
  return time_ns(tiles.medium, sizes, machine) < time_ns(tiles.small, sizes, machine) ? tiles.medium
                                                                                      : tiles.small;
}

} // namespace tang::schedule
