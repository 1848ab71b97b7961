#pragma once
// Tiles of contractions without matrix units whose chunks are under way at once, what they need,
// and how long a contraction takes in them.
#include "schedule/shapes.h"

namespace tang::schedule {

struct PlainTile {
  int block_m, block_n, block_k, thread_m, thread_n, warp_m, warp_n, pipeline, raster;
  int percent; ///< of a multiprocessor's products a clock that it reaches, measured on an H200
  int threads() const { return (block_m / thread_m) * (block_n / thread_n); }
};

/// From the fewest values read for a product to the smallest blocks, which give few points to many
/// multiprocessors.
inline constexpr PlainTile plain_tiles[] = {
    {128, 128, 8, 16, 8, 64, 64, 4, 8, 85}, {64, 128, 8, 16, 8, 64, 64, 4, 1, 83},
    {128, 64, 16, 8, 8, 32, 64, 3, 1, 80},  {64, 64, 16, 4, 8, 32, 32, 4, 1, 70},
    {32, 64, 16, 4, 4, 16, 32, 4, 1, 65},   {16, 64, 16, 4, 4, 16, 32, 4, 1, 60}};
enum PlainSize { plain_large, plain_medium, plain_small };

plan::Fields fields_of(const PlainTile& tile);

struct PlainSizes {
  double rows = 0, cols = 0, batch = 1, depth = 0;
};
/// The model, in clocks: the blocks of a multiprocessor share its lanes, and no term of a sum is
/// through before its chunk has come.
double clocks(const PlainTile& tile, const PlainSizes& sizes, const Machine& machine);

/// Adds variants with chunks under way at once, for all sizes; none where the target or the
/// operands do not allow it.
void add_plain_variants(const graph::Graph& graph, const graph::Comprehension& node,
                        const graph::Sides& sides, const Machine& machine,
                        plan::KernelPlan& kernel);

} // namespace tang::schedule
