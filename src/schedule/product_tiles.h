#pragma once
// Tiles of products on matrix units, what they need, and how long a product takes in them.
#include "schedule/shapes.h"
#include <span>

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
/// Of tf32, whose chunks are as deep in bytes and so half as deep in terms.
inline constexpr Tiles tf32_tiles{
    {128, 256, 128, 64, 64, 3, 16}, {128, 128, 128, 64, 64, 3, 8}, {64, 128, 128, 32, 64, 4, 1}};
inline const Tiles& tiles_of(plan::Precision precision) {
  return plan::is_split(precision)            ? split_tiles
         : precision == plan::Precision::tf32 ? tf32_tiles
                                              : whole_tiles;
}
/// Operands whose lines begin anywhere pass through registers, which shallower chunks leave room.
inline constexpr Tile unaligned_tile{128, 128, 64, 64, 32, 2, 8},
    small_unaligned_tile{64, 64, 64, 32, 32, 2, 1};

/// Extents of a product, bits of its factors in memory, and of those that units multiply for one
/// product of two (plan::bits_of_product).
struct ProductSizes {
  int64_t rows = 0, cols = 0, depth = 0, batch = 1;
  int bits = 16, multiplied = 16;
};

/// The tile of each of `sums` sums that share the accumulators of a thread: narrower ones.
Tile shared_by(Tile tile, int sums);
/// Shared memory of all operands' rings.
int64_t ring_bytes(const Tile& tile, const MatrixProduct& product);
/// Makes the ring of a tile smaller until a block has the memory: fewer chunks under way, then
/// shallower ones. False where even the smallest does not fit.
bool fits(Tile& tile, const MatrixProduct& product, const Machine& machine);
int64_t blocks_of(const Tile& tile, const ProductSizes& sizes);
/// The model: a block per multiprocessor at a time, each as slow as the slowest of its products,
/// its copies from the cache, its passes of shared memory and its waits for the memory. A rate of 0
/// is not known and not counted; 0 where nothing is known of products or of the cache.
int64_t time_ns(const Tile& tile, const ProductSizes& sizes, const Machine& machine);
/// Of the few, the large tile where it fills the machine, else which of the smaller ones is through
/// sooner. Of the others, those that are through sooner still, by a hundredth.
Tile best_tile(const Tiles& few, std::span<const Tile> others, const ProductSizes& sizes,
               const Machine& machine);

/// The same of a sum in parts, each in its best tile, with the kernel that adds them up.
int64_t time_in_parts(const Tiles& few, std::span<const Tile> others, const ProductSizes& sizes,
                      int64_t parts, const Machine& machine);
/// In how many parts the sum is through soonest; `usual` where none is sooner, and more than one
/// only where that saves a fifth.
int64_t best_parts(const Tiles& few, std::span<const Tile> others, const ProductSizes& sizes,
                   int64_t usual, const Machine& machine);

/// 32-bit registers of a thread: its sums, two buffers of fragments, places and counters.
int registers_of(const Tile& tile, plan::Precision precision);
/// Tiles of a wider search, those that come first preferred: whatever has a warp for each matrix
/// unit of a multiprocessor, and fits its registers and shared memory.
std::vector<Tile> searched_tiles(const MatrixProduct& product, const Machine& machine);
/// How many blocks along the rows run side by side so that those which run at once touch the fewest
/// lines: g * block_m + (units / g) * block_n is least (the rule of DeepGEMM's selector, sm90.hpp).
int best_raster(const Tile& tile, const ProductSizes& sizes, const Machine& machine);

} // namespace tang::schedule
