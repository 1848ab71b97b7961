#pragma once
// Tiles of products on matrix units, what they need, and how long a product takes in them.
#include "schedule/shapes.h"

namespace tang::schedule {

/// A tile of a block and of its warps; `depth` in bytes of a line of one chunk.
struct Tile {
  int block_m, block_n, depth, warp_m, warp_n, pipeline, raster;
  int warps() const { return (block_m / warp_m) * (block_n / warp_n); }
};

/// The large one where it fills the machine; the others serve problems that would leave
/// multiprocessors idle.
struct Tiles {
  Tile large, medium, small;
};
/// 8 warps of 64 x 64 reach the most (measured on an H200 in code for sm_80).
inline constexpr Tiles whole_tiles{
    {256, 128, 128, 64, 64, 3, 16}, {128, 128, 128, 64, 32, 4, 1}, {64, 128, 128, 32, 64, 4, 1}};
/// Of split factors, which need twice the registers beside the accumulators.
inline constexpr Tiles split_tiles{
    {128, 128, 128, 64, 32, 3, 16}, {128, 128, 128, 64, 32, 3, 1}, {64, 64, 128, 32, 32, 4, 1}};
inline const Tiles& tiles_of(plan::Precision precision) {
  return plan::is_split(precision) ? split_tiles : whole_tiles;
}
/// Operands whose lines begin anywhere pass through registers, which shallower chunks leave room.
inline constexpr Tile unaligned_tile{128, 128, 64, 64, 32, 2, 8},
    small_unaligned_tile{64, 64, 64, 32, 32, 2, 1};

/// Extents of a product, and bits of its factors.
struct ProductSizes {
  int64_t rows = 0, cols = 0, depth = 0, batch = 1;
  int bits = 16;
};

/// The tile of each of `sums` sums that share the accumulators of a thread: narrower ones.
Tile shared_by(Tile tile, int sums);
/// Shared memory of all operands' rings.
int64_t ring_bytes(const Tile& tile, const MatrixProduct& product);
/// Makes the ring of a tile smaller until a block has the memory: fewer chunks under way, then
/// shallower ones. False where even the smallest does not fit.
bool fits(Tile& tile, const MatrixProduct& product, const Machine& machine);
int64_t blocks_of(const Tile& tile, const ProductSizes& sizes);
/// A block per multiprocessor at a time, each as slow as the slower of its products and its copies.
/// 0 where the machine's rates are not known.
int64_t time_ns(const Tile& tile, const ProductSizes& sizes, const Machine& machine);
/// The large tile where it fills the machine, else which of the smaller ones is through sooner.
Tile best_tile(const Tiles& tiles, const ProductSizes& sizes, const Machine& machine);

} // namespace tang::schedule
