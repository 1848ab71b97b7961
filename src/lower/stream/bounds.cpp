#include "lower/stream/bounds.h"
#include "graph/polynomial.h"
#include "lower/emit.h"
#include <algorithm>

namespace tang::lower {

using graph::Op;

bool bounds_grow(const graph::Graph& graph, const graph::Comprehension& node,
                 const graph::Streaming& streaming) {
  graph::IndexId row = node.points[streaming.rows.front()].index;
  auto grows = [&](ExprId bound) {
    auto p = bound ? graph::polynomial_of(graph.exprs, bound) : std::nullopt;
    if (!p) return false;
    for (const auto& [monomial, factor] : p->terms())
      if (monomial.size() == 1 && factor > 0 && graph.exprs[monomial[0]].op == Op::index &&
          graph.exprs[monomial[0]].ref == row.value)
        return true;
    return false;
  };
  const graph::Axis& axis = node.reduction->axes[0];
  return grows(axis.hi) && !grows(axis.lo);
}

StreamBounds::StreamBounds(Terms& terms, const graph::Comprehension& node,
                           const graph::Streaming& streaming, ValueId first, ValueId rows,
                           int block_m, int block_n)
    : terms_(terms), b_(terms.builder()), c_(node), axis_(node.reduction->axes[0]), s_(streaming),
      first_(first), block_n_(block_n) {
  auto& v = b_.values();
  extent_ = b_.extent(axis_.extent);
  last_ = v.sub(v.binary(Op::min, v.add(first, v.integer(block_m)), rows), v.integer(1));
  ValueId begin = v.integer(0), end = extent_;
  low_ = begin, high_ = end;
  if (axis_.lo) {
    if (auto least = over_rows(axis_.lo, false)) begin = v.binary(Op::max, begin, *least);
    low_ = over_rows(axis_.lo, true);
  }
  if (axis_.hi) {
    if (auto greatest = over_rows(axis_.hi, true)) end = v.binary(Op::min, end, *greatest);
    high_ = over_rows(axis_.hi, false);
    if (high_) high_ = v.binary(Op::min, extent_, *high_);
  }
  begin_ = b_.let("begin", v.binary(Op::floordiv, begin, v.integer(block_n)));
  end_ = b_.let("end", v.ceildiv(end, block_n));
  for (auto* bound : {&low_, &high_})
    if (*bound) *bound = b_.let("whole", **bound);
}

std::optional<ValueId> StreamBounds::over_rows(ExprId bound, bool greatest) {
  auto& v = b_.values();
  const auto& store = b_.graph().exprs;
  auto p = graph::polynomial_of(store, bound);
  if (!p) return std::nullopt;
  ValueId value;
  bool seen = true;
  terms_.scope([&] {
    // The slowest axis of the rows moves least over a block.
    ValueId inner = v.integer(1);
    for (size_t n = s_.rows.size(); n-- > 0 && seen;) {
      const graph::Axis& axis = c_.points[s_.rows[n]];
      ValueId extent = b_.extent(axis.extent), least = v.integer(0),
              most = v.sub(extent, v.integer(1));
      if (n == 0) {
        least = v.binary(Op::floordiv, first_, inner);
        most = v.binary(Op::floordiv, last_, inner);
      }
      inner = v.mul(inner, extent);
      int64_t coefficient = 0;
      for (const auto& [monomial, factor] : p->terms())
        for (ExprId atom : monomial) {
          const auto& free = store[atom].free;
          if (!std::binary_search(free.begin(), free.end(), axis.index)) continue;
          seen &= store[atom].op == Op::index && monomial.size() == 1;
          coefficient = factor;
        }
      terms_.bind(axis.index, (coefficient > 0) == greatest ? most : least);
    }
    if (!seen) return;
    // Data is compared before it is narrowed to an index.
    value = clamped(terms_, Op::max, v.integer(0), bound, extent_);
  });
  return seen ? std::optional(value) : std::nullopt;
}

ValueId StreamBounds::edge(ValueId place) {
  auto& v = b_.values();
  if (!low_ || !high_ || c_.reduction->filter) return {};
  return b_.let("edge", v.binary(Op::logical_or, v.less(place, *low_),
                                 v.less(*high_, v.add(place, v.integer(block_n_)))));
}

ValueId StreamBounds::takes_part(ValueId place) {
  auto& v = b_.values();
  ValueId holds = v.less(place, extent_);
  if (axis_.lo)
    holds = v.both(
        holds, v.binary(Op::le, clamped(terms_, Op::max, v.integer(0), axis_.lo, extent_), place));
  if (axis_.hi)
    holds = v.both(holds, v.less(place, clamped(terms_, Op::min, extent_, axis_.hi, extent_)));
  if (c_.reduction->filter) holds = v.both(holds, terms_.lower(c_.reduction->filter));
  return holds;
}

} // namespace tang::lower
