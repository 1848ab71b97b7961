#pragma once
// Nodes over common rows: what the parts of their kernel share. A warp or a block runs per row, or
// a loop over rows where there are no threads; a thread visits vectors of its row (row_vectors.h),
// holds in registers what is needed again (row_registers.h), reduces and stores (row.cpp).
#include "lower/emit.h"
#include "lower/row_reads.h"

namespace tang::lower {

struct RowFrame {
  explicit RowFrame(const Emission& emission);
  RowFrame(const RowFrame&) = delete;
  RowFrame& operator=(const RowFrame&) = delete;

  const Emission& e;
  const graph::Graph& g;
  const plan::Fields& f;
  Builder b;
  Terms terms;
  bool serial;           ///< a thread is alone
  bool ordered = false;  ///< a reduction keeps the order of its elements, or one scans them
  bool mirrored = false; ///< elements are dealt out from the end of the row, as scans go
  RowMembers group;
  ValueId extent;              ///< elements of a row
  ValueId thread;              ///< its number among those of the row
  std::vector<ValueId> points; ///< which row it is
};

} // namespace tang::lower
