#pragma once
// f32 as a sum of pieces in a format that matrix units read, and a product of two as a sum of
// products of pieces (the law split_precision in rewrite/ says what that leaves out, and why
// these).
#include "graph/type.h"
#include <span>
#include <string_view>

namespace tang::graph {

/// Which piece of the first factor is multiplied with which of the second; 0 is the head.
struct PieceProduct {
  int a, b;
};

struct Pieces {
  std::string_view name; ///< of the format: tf32, bf16
  ElemType held;         ///< in what a register holds a piece: f32, of which a tf32 unit reads less
  int count;             ///< of a factor
  std::span<const PieceProduct> products; ///< small ones first, so that they are not lost
};

inline constexpr PieceProduct products_of_two[] = {{1, 0}, {0, 1}, {0, 0}};
inline constexpr Pieces all_pieces[] = {{"tf32", ElemType::f32, 2, products_of_two},
                                        {"bf16", ElemType::bf16, 2, products_of_two}};
inline constexpr const Pieces &tf32x3 = all_pieces[0], &bf16x3 = all_pieces[1];

} // namespace tang::graph
