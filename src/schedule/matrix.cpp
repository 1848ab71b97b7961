// Products on matrix units: which contractions are such, and how large their tiles are.
#include "atomics/check.h"
#include "atomics/match.h"
#include "graph/reads.h"
#include "schedule/shapes.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::schedule {

using graph::Axis;
using graph::Comprehension;
using graph::ElemType;
using graph::ExprId;
using graph::Graph;
using graph::Op;

namespace {

/// Both factors, when the body is their product and nothing else.
std::optional<std::pair<ExprId, ExprId>> factors(const Graph& graph, const Comprehension& c,
                                                 const graph::Sides& sides) {
  const graph::Monoid& m = graph[c.reduction->monoid];
  if (m.fields.size() != 1) return std::nullopt;
  // Integers are exact: 32 bits are enough, or it is no product for these units.
  if (m.fields[0].scalar == graph::Scalar::integer) {
    graph::Prover prover(graph);
    prover.add_axes(c.points), prover.add_axes(c.reduction->axes);
    if (!graph::fits_i32(graph, c, 0, prover)) return std::nullopt;
  } else if (m.fields[0].scalar != graph::Scalar::real) {
    return std::nullopt;
  }
  const graph::Expr& combine = graph.exprs[m.combine[0]];
  const graph::Expr& body = graph.exprs[c.reduction->body[0]];
  bool adds = combine.op == Op::add && graph.exprs[combine.operands[0]].op == Op::lhs &&
              graph.exprs[combine.operands[1]].op == Op::rhs;
  if (!adds || body.op != Op::mul) return std::nullopt;
  graph::Operands operands = graph::operands_of(graph, c, sides);
  if (operands.a.size() != 1 || operands.b.size() != 1) return std::nullopt;
  ExprId a = operands.a[0], b = operands.b[0];
  bool both = (body.operands[0] == a && body.operands[1] == b) ||
              (body.operands[0] == b && body.operands[1] == a);
  return both ? std::optional(std::pair(a, b)) : std::nullopt;
}

/// The axis along which an operand's neighbours lie in memory, `copied` at a time: that of the sum
/// or of its side.
const Axis* contiguous_axis(const Graph& graph, const Comprehension& c, ExprId operand,
                            const std::vector<size_t>& side, int copied) {
  const graph::Expr& read = graph.exprs[operand];
  for (const Axis* axis : {&c.points[side.back()], &c.reduction->axes.back()})
    if (graph::moves_as_vector(graph, read, *axis, copied)) return axis;
  return nullptr;
}

/// A tile of a block and of its warps; `depth` in bytes of a line. 8 warps of 64 x 64 reach the
/// most (measured on an H200 in code for sm_80); smaller tiles serve problems that would leave
/// multiprocessors idle.
struct Tile {
  int block_m, block_n, depth, warp_m, warp_n, pipeline, raster;
};
constexpr Tile large_whole{256, 128, 128, 64, 64, 3, 8}, small_whole{64, 128, 128, 32, 64, 4, 1};
/// Of split factors, which need twice the registers beside the accumulators.
constexpr Tile large_split{128, 128, 128, 64, 32, 3, 8}, small_split{64, 64, 128, 32, 32, 4, 1};

/// Of both operands' rings, padded by 16 bytes a line (by 32 where each word is loaded by itself),
/// whichever way their memory lies.
int64_t shared_bytes(const Tile& t, int bits) {
  int64_t bytes = bits / 8, lines = t.depth / bytes, pad = bits == 32 ? 32 : 16;
  int64_t a = std::max(t.block_m * (t.depth + pad), lines * (t.block_m * bytes + pad));
  int64_t b = std::max(t.block_n * (t.depth + pad), lines * (t.block_n * bytes + pad));
  return int64_t{t.pipeline} * (a + b);
}

/// Whether fragments whose neighbours in memory are points, not terms of the sum, can be loaded:
/// pairs of bytes are transposed by pairs of two, words one by one.
bool loads_along_points(int bits) {
  return bits >= 16;
}

} // namespace

std::optional<MatrixProduct> matrix_product(const Graph& graph, const Comprehension& c,
                                            const graph::Sides& sides, const Machine& machine) {
  auto operands = factors(graph, c, sides);
  if (!operands) return std::nullopt;
  MatrixProduct product;
  const std::pair<ExprId, const std::vector<size_t>*> both[] = {{operands->first, &sides.m},
                                                                {operands->second, &sides.n}};
  std::optional<ElemType> format;
  for (const auto& [operand, side] : both) {
    const graph::Expr& read = graph.exprs[operand];
    if (read.op != Op::read) return std::nullopt;
    ElemType type = graph[graph::TensorId(read.ref)].type;
    if (format && *format != type) return std::nullopt;
    format = type;
    product.precision = plan::precision_of(type, machine.allow_tf32);
    if (type == ElemType::f32 && machine.may_split.contains(c.results[0].tensor))
      product.precision = plan::Precision::tf32x3;
    if (product.precision == plan::Precision::full) return std::nullopt;
    const Axis* axis = contiguous_axis(graph, c, operand, *side, product.copied());
    bool along_points = axis && axis != &c.reduction->axes.back();
    if (!axis || (along_points && !loads_along_points(product.bits()))) return std::nullopt;
    if (std::find(product.vectors.begin(), product.vectors.end(), axis->extent) ==
        product.vectors.end())
      product.vectors.push_back(axis->extent);
  }
  bool whole = graph::scalar_of(*format) == graph::Scalar::integer;
  product.row = atomics::find(
      machine.target, atomics::Product{whole ? ElemType::i32 : ElemType::f32, *format, *format,
                                       product.precision == plan::Precision::tf32 ||
                                           product.precision == plan::Precision::tf32x3});
  if (!product.row ||
      !atomics::find(machine.target, atomics::GroupShape{atomics::Kind::commit, "cp_async"}))
    return std::nullopt;
  return product;
}

namespace {

/// Makes the ring of a tile smaller until a block has the memory: fewer chunks under way, then
/// shallower ones. False where even the smallest does not fit.
bool fits(Tile& t, int bits, const Machine& machine) {
  while (shared_bytes(t, bits) > machine.dynamic_shared_bytes) {
    if (t.pipeline > 3)
      --t.pipeline;
    else if (t.depth > 64)
      t.depth /= 2;
    else
      return false;
  }
  return true;
}

/// Adds a tile for sizes of which `when` holds; returns whether it takes all that are left.
bool add_tile(const Graph& graph, const MatrixProduct& product, const Machine& machine, Tile t,
              std::vector<plan::Fact> when, plan::KernelPlan& kernel) {
  if (!fits(t, product.bits(), machine)) return false;
  int copied = product.copied();
  plan::Variant v;
  v.fields.precision = product.precision;
  v.fields.block_m = t.block_m, v.fields.block_n = t.block_n,
  v.fields.block_k = t.depth * 8 / product.bits();
  v.fields.warp_m = t.warp_m, v.fields.warp_n = t.warp_n;
  v.fields.pipeline = t.pipeline, v.fields.raster = t.raster;
  v.fields.vector = copied;
  v.fields.stage = true;
  v.fields.threads = machine.warp * (t.block_m / t.warp_m) * (t.block_n / t.warp_n);
  v.when = std::move(when);
  for (ExprId extent : product.vectors) {
    if (known_divisor(graph, extent) % copied == 0) continue;
    if (graph.exprs.as_integer(extent)) return false;
    v.when.push_back({plan::Fact::Kind::divisible, extent, copied});
  }
  kernel.variants.push_back(std::move(v));
  return kernel.variants.back().when.empty();
}

} // namespace

void add_matrix_variants(const Graph& graph, const Comprehension& c, const graph::Sides& sides,
                         const MatrixProduct& product, const Machine& machine,
                         plan::KernelPlan& kernel) {
  bool split = plan::is_split(product.precision);
  const Tile &large = split ? large_split : large_whole, &small = split ? small_split : small_whole;
  auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n);
  if (rows && cols) {
    int64_t blocks =
        (*rows + large.block_m - 1) / large.block_m * ((*cols + large.block_n - 1) / large.block_n);
    add_tile(graph, product, machine, 5 * blocks < 3 * machine.units ? small : large, {}, kernel);
    return;
  }
  // A launcher asks about one extent at a time.
  if (sides.m.size() == 1 && sides.n.size() == 1) {
    ExprId m = c.points[sides.m[0]].extent, n = c.points[sides.n[0]].extent;
    auto at_most = [&](ExprId extent, int64_t most) {
      return plan::Fact{plan::Fact::Kind::at_most, extent, most};
    };
    if (!rows) add_tile(graph, product, machine, small, {at_most(m, 256)}, kernel);
    if (!rows && !cols)
      add_tile(graph, product, machine, small, {at_most(m, 1024), at_most(n, 2304)}, kernel);
  }
  add_tile(graph, product, machine, large, {}, kernel);
}

std::optional<std::string> why_no_matrix(const Graph& graph, const Comprehension& c,
                                         const plan::Fields& f, const Machine& machine) {
  auto sides = graph::sides_of(graph, c);
  auto product = matrix_product(graph, c, sides, machine);
  if (plan::is_split(f.precision) && !machine.may_split.contains(c.results[0].tensor))
    return fmt::format("`precision: {}` needs an error budget that the prediction keeps",
                       plan::name(f.precision));
  if (!product) return "it is no product of two factors in one format that matrix units take";
  if (f.precision != product->precision)
    return fmt::format("its factors are {}, not {}", plan::name(product->precision),
                       plan::name(f.precision));
  int copied = product->copied(), bits = product->bits();
  if (f.vector != copied)
    return fmt::format("operands are copied by {} elements: `vector: {}`", copied, copied);
  for (int warp : {f.warp_m, f.warp_n})
    if (warp < 16 || warp % 16) return "`warp_m` and `warp_n` are multiples of 16";
  if (f.block_m % f.warp_m || f.block_n % f.warp_n)
    return "warps share a block's tile evenly: `block_m % warp_m` and `block_n % warp_n` are 0";
  // Fragments lie in two buffers in turn, and a chunk begins with the same one.
  int64_t round = 2 * atomics::extents_by_axis(product->row->operands[1].layout).at("k");
  if (f.block_k < round || f.block_k % round)
    return fmt::format("`block_k` is a multiple of {}", round);
  if (f.pipeline < 2) return "at least 2 chunks are under way: `pipeline: 2`";
  int threads = machine.warp * (f.block_m / f.warp_m) * (f.block_n / f.warp_n);
  if (f.threads != threads)
    return fmt::format("the tile has {} threads, not {}: {} * (block_m / warp_m) * (block_n / "
                       "warp_n)",
                       threads, f.threads, machine.warp);
  if (threads > machine.max_threads)
    return fmt::format("a block of {} threads is beyond the target's {}", threads,
                       machine.max_threads);
  if (f.warp_m * f.warp_n / machine.warp > 128)
    return fmt::format("{} accumulators of a thread are beyond 128",
                       f.warp_m * f.warp_n / machine.warp);
  // A pass of all threads copies whole lines, and whole passes fill a tile.
  for (int lines : {f.block_k, f.block_m, f.block_n})
    for (int length : {f.block_k, f.block_m, f.block_n})
      if (lines != length && (threads % (length / copied) || lines % (threads * copied / length)))
        return fmt::format("{} threads do not copy {} lines of {} elements evenly", threads, lines,
                           length);
  int64_t bytes = shared_bytes(
      {f.block_m, f.block_n, f.block_k * bits / 8, f.warp_m, f.warp_n, f.pipeline, 1}, bits);
  if (bytes > machine.dynamic_shared_bytes)
    return fmt::format("its tiles take {} bytes of shared memory, and a block has {}", bytes,
                       machine.dynamic_shared_bytes);
  return {};
}

} // namespace tang::schedule
