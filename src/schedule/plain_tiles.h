#pragma once
// Tiles of contractions without matrix units whose chunks are under way at once, what they need,
// and how long a contraction takes in them.
#include "schedule/shapes.h"

namespace tang::schedule {

struct PlainTile {
  int block_m, block_n, block_k, thread_m, thread_n, warp_m, warp_n, pipeline, raster;
  /// Clocks for a term of the sum: of a block that has a multiprocessor for itself, which waits for
  /// its own chunks, and of each of several that share one. Measured on an H200.
  int alone, shared;
  int threads() const { return (block_m / thread_m) * (block_n / thread_n); }
};

/// From the fewest values read for a product to the smallest blocks, which give few points to many
/// multiprocessors.
inline constexpr PlainTile plain_tiles[] = {
    {128, 128, 8, 16, 8, 64, 64, 4, 8, 175, 156}, {64, 128, 8, 16, 8, 64, 64, 4, 1, 170, 80},
    {128, 64, 16, 8, 8, 32, 64, 3, 1, 98, 82},    {64, 64, 16, 4, 8, 32, 32, 4, 1, 60, 50},
    {32, 64, 16, 4, 4, 16, 32, 4, 1, 42, 37},     {16, 64, 16, 4, 4, 16, 32, 4, 1, 36, 23}};

plan::Fields fields_of(const PlainTile& tile);

struct PlainSizes {
  double rows = 0, cols = 0, batch = 1, depth = 0;
};
/// The model: the blocks of a multiprocessor share it, and none is through sooner than alone.
double clocks(const PlainTile& tile, const PlainSizes& sizes, const Machine& machine);

/// In how many parts a contraction of known sizes is summed soonest, by the same model and what
/// merging them takes; more than one only where that saves a sixth. Empty where sizes or rates are
/// not known.
std::optional<int64_t> plain_parts(const graph::Graph& graph, const graph::Comprehension& node,
                                   const graph::Sides& sides, const Machine& machine);

/// Adds variants with chunks under way at once, for all sizes; none where the target or the
/// operands do not allow it.
void add_plain_variants(const graph::Graph& graph, const graph::Comprehension& node,
                        const graph::Sides& sides, const Machine& machine,
                        plan::KernelPlan& kernel);

} // namespace tang::schedule
