#pragma once
// Monoids whose amounts are kept relative to a reference.
//
// A softmax keeps the largest score m and, relative to it, the sum of exponentials and of values:
// two states combine by bringing their amounts to a common reference. In general
//
//   (r, x) + (s, y) = (R, left(r, s) x + right(r, s) y),   R = r max s (or min, per reference)
//
// with weights that are 1 where r = s. Then many elements combine at once: each may first be
// combined with (R, 0) for any R that has taken in all of them, which changes nothing else, so that
//
//   (r0, x0) + sum_j (r_j, x_j) = (R, left(r0, R) x0 + sum_j right(R, r_j) x_j),
//
// a plain sum of products, which is what matrix units take. Online softmax, arXiv:1805.02867, is
// the case of one maximum; a plain sum is the case of no reference.
#include "graph/graph.h"

namespace tang::graph {

struct ScaledMonoid {
  std::vector<uint32_t> references; ///< fields that combine by `max` or `min`, none indexed
  struct Amount {
    uint32_t field = 0;
    /// Terms over lhs and rhs of the references; empty = 1.
    ExprId left, right;
    /// Where both weights are powers, of 2 or e, of how far a side's reference lies below the other
    /// side's greater one.
    struct Fall {
      uint32_t reference = 0;
      Op power = Op::exp;
      bool operator==(const Fall&) const = default;
    };
    std::optional<Fall> fall;
  };
  std::vector<Amount> amounts; ///< fields that start from 0 and add up
};

/// Empty where some field is neither, or where a weight is not seen to be 1 at equal references.
std::optional<ScaledMonoid> scaled_monoid(const Graph& graph, const Monoid& monoid);

} // namespace tang::graph
