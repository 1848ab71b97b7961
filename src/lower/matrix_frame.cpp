#include "lower/matrix_frame.h"
#include "atomics/check.h"
#include "base/check.h"

namespace tang::lower {

using layout::Layout;

MatrixFrame::MatrixFrame(const Emission& emission)
    : e(emission), g(e.graph), f(e.fields),
      c(std::get<graph::Comprehension>(e.nodes[0]->definition)), b(e.graph, e.name),
      terms(b, compute_type(e.graph, e.nodes)), axes(terms, c),
      format(plan::format_of(f.precision)), pieces(plan::pieces_of(f.precision)) {
  graph::ElemType held = pieces ? pieces->held : format;
  tf32 = held == graph::ElemType::f32, paired = pieces && !tf32;
  for (const auto& [step, last] : e.steps) b.declare_step(step, last);
  graph::Sides sides = graph::sides_of(g, c);
  batch = sides.batch, rows.axes = sides.m, cols.axes = sides.n;
  bool whole = graph::scalar_of(format) == graph::Scalar::integer;
  sum = whole ? Type::i32 : Type::f32;
  product = ask(b, e.machine, atomics::Product{element_type(sum), held, held, tf32});
  TANG_CHECK(product, "`{}` is no product for matrix units", e.name);
  const Layout& d = product->operands[0].layout;
  atom_m = extent_along(d, "m"), atom_n = extent_along(d, "n");
  atom_k = extent_along(product->operands[1].layout, "k");
}

void MatrixFrame::place() {
  auto& v = b.values();
  // The lane's digits are those of the accumulators, which every point has one of.
  Lanes lanes = add_lanes(b, product->operands[0].layout.parts()[0]);
  lane_digits = lanes.digits;
  int warps_m = f.block_m / f.warp_m, warps_n = f.block_n / f.warp_n;
  ValueId warp_m = thread_mode(b, "warp_m", warps_m), warp_n = thread_mode(b, "warp_n", warps_n);
  lane = b.let("lane", lanes.number);
  ValueId warp = v.add(warp_m, v.mul(warp_n, v.integer(warps_m)));
  thread = b.let("thread", v.add(lane, v.mul(warp, v.integer(lanes.count))));
  thread_count = lanes.count * warps_m * warps_n;
  rows.warp_first = v.mul(warp_m, v.integer(f.warp_m));
  cols.warp_first = v.mul(warp_n, v.integer(f.warp_n));

  rows.count = axes.size_of(rows.axes), cols.count = axes.size_of(cols.axes);
  // Blocks that run side by side share rows and columns of the operands (`raster`).
  ValueId in_group = axes.block_mode("bm", v.integer(f.raster)),
          bn = axes.block_mode("bn", v.ceildiv(cols.count, f.block_n)),
          group = axes.block_mode("group", v.ceildiv(rows.count, int64_t{f.block_m} * f.raster)),
          each = axes.block_mode("batch", axes.size_of(batch));
  ValueId bm = v.add(v.mul(group, v.integer(f.raster)), in_group);
  axes.bind_points(batch, each);
  rows.first = v.mul(bm, v.integer(f.block_m)), cols.first = v.mul(bn, v.integer(f.block_n));
  depth = axes.depth();
}

} // namespace tang::lower
