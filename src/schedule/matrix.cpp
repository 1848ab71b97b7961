// Products on matrix units: which contractions are such, and how large their tiles are.
#include "atomics/check.h"
#include "atomics/match.h"
#include "graph/reads.h"
#include "schedule/product_tiles.h"
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

/// Sums that share a thread's accumulators at most.
constexpr size_t most_sums = 4;

/// Whether every field is a sum that units can add up.
bool adds_up(const Graph& graph, const Comprehension& c) {
  const graph::Monoid& m = graph[c.reduction->monoid];
  if (m.fields.size() > most_sums) return false;
  for (size_t f = 0; f < m.fields.size(); ++f) {
    // Integers are exact: 32 bits are enough, or it is no product for these units.
    if (m.fields[f].scalar == graph::Scalar::integer) {
      graph::Prover prover(graph);
      prover.add_axes(c.points), prover.add_axes(c.reduction->axes);
      if (!graph::fits_i32(graph, c, f, prover)) return false;
    } else if (m.fields[f].scalar != graph::Scalar::real) {
      return false;
    }
    const graph::Expr& combine = graph.exprs[m.combine[f]];
    auto is = [&](size_t side, Op op) {
      const graph::Expr& e = graph.exprs[combine.operands[side]];
      return e.op == op && e.ref == f;
    };
    if (combine.op != Op::add || !is(0, Op::lhs) || !is(1, Op::rhs)) return false;
  }
  return true;
}

/// Whether a read moves as vectors along an axis to which a part's beginning is added, a multiple
/// of the vector.
bool moves_behind_offset(const Graph& graph, const graph::Expr& read, const Axis& axis, int width) {
  const graph::Expr& last = graph.exprs[read.operands.back()];
  const graph::Tensor& t = graph[graph::TensorId(read.ref)];
  auto extent = graph.exprs.as_integer(t.shape.back());
  if (last.op != Op::add || !extent || *extent % width != 0) return false;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const graph::Expr &index = graph.exprs[last.operands[i]],
                      &offset = graph.exprs[last.operands[1 - i]];
    if (index.op != Op::index || index.ref != axis.index.value || offset.has_read) continue;
    if (known_divisor(graph, last.operands[1 - i]) % width != 0) continue;
    graph::Expr alone = read;
    alone.operands.back() = last.operands[i];
    return graph::moves_as_vector(graph, alone, axis, width);
  }
  return false;
}

/// The axis along which an operand's neighbours lie in memory, `copied` at a time: that of the sum
/// or of its side.
const Axis* contiguous_axis(const Graph& graph, const Comprehension& c, ExprId operand,
                            const std::vector<size_t>& side, int copied) {
  const graph::Expr& read = graph.exprs[operand];
  for (const Axis* axis : {&c.points[side.back()], &c.reduction->axes.back()})
    if (graph::moves_as_vector(graph, read, *axis, copied) ||
        moves_behind_offset(graph, read, *axis, copied))
      return axis;
  return nullptr;
}

/// Whether fragments whose neighbours in memory are points, not terms of the sum, can be loaded:
/// pairs of bytes are transposed by pairs of two, words one by one.
bool loads_along_points(int bits) {
  return bits >= 16;
}

/// Whether operands whose lines begin anywhere can be copied: words by themselves, and pairs of
/// 16-bit elements through registers.
bool copies_any(int bits) {
  return bits >= 16;
}

} // namespace

std::optional<MatrixProduct> matrix_product(const Graph& graph, const Comprehension& c,
                                            const graph::Sides& sides, const Machine& machine) {
  graph::Operands operands = graph::operands_of(graph, c, sides);
  if (!adds_up(graph, c) || graph::products_of(graph, c, operands).empty()) return std::nullopt;
  MatrixProduct product;
  product.sums = static_cast<int>(c.reduction->body.size());
  product.a_tiles = static_cast<int>(operands.a.size());
  product.b_tiles = static_cast<int>(operands.b.size());
  std::vector<std::pair<ExprId, const std::vector<size_t>*>> factors;
  for (ExprId operand : operands.a) factors.emplace_back(operand, &sides.m);
  for (ExprId operand : operands.b) factors.emplace_back(operand, &sides.n);
  std::optional<ElemType> format;
  for (const auto& [operand, side] : factors) {
    const graph::Expr& read = graph.exprs[operand];
    if (read.op != Op::read) return std::nullopt;
    ElemType type = graph[graph::TensorId(read.ref)].type;
    if (format && *format != type) return std::nullopt;
    format = type;
    product.precision = plan::precision_of(type, machine.allow_tf32);
    if (type == ElemType::f32 && product.sums == 1 &&
        machine.may_split.contains(c.results[0].tensor))
      product.precision = machine.split;
    if (product.precision == plan::Precision::full) return std::nullopt;
    const Axis* axis = contiguous_axis(graph, c, operand, *side, product.copied());
    bool along_points = axis && axis != &c.reduction->axes.back();
    if (!axis || (along_points && !loads_along_points(product.bits()))) return std::nullopt;
    if (std::find(product.vectors.begin(), product.vectors.end(), axis->extent) ==
        product.vectors.end())
      product.vectors.push_back(axis->extent);
  }
  bool whole = graph::scalar_of(*format) == graph::Scalar::integer;
  const graph::Pieces* pieces = plan::pieces_of(product.precision);
  ElemType multiplied = pieces ? pieces->held : *format;
  product.row = atomics::find(machine.target,
                              atomics::Product{whole ? ElemType::i32 : ElemType::f32, multiplied,
                                               multiplied, multiplied == ElemType::f32});
  if (!product.row ||
      !atomics::find(machine.target, atomics::GroupShape{atomics::Kind::commit, "cp_async"}))
    return std::nullopt;
  return product;
}

namespace {

/// Neighbours along the columns that one thread stores at once, of which an atom holds a pair.
constexpr int stored = 2;

/// What a variant knows of the extents along which memory lies: enough to copy vectors, and enough
/// to store pairs of results as well.
enum class Known : uint8_t { nothing, vectors, all };

plan::Fields fields_of(const Tile& t, const MatrixProduct& product, Known known,
                       const Machine& machine) {
  plan::Fields f;
  f.precision = product.precision;
  f.block_m = t.block_m, f.block_n = t.block_n, f.block_k = t.depth * 8 / product.bits();
  f.warp_m = t.warp_m, f.warp_n = t.warp_n;
  f.pipeline = t.pipeline, f.raster = t.raster;
  f.vector = known == Known::nothing ? 1 : product.copied();
  f.store = known == Known::all ? stored : 1;
  f.stage = true;
  f.threads = machine.warp * t.warps();
  return f;
}

/// Why a product cannot run with these fields.
std::optional<std::string> fault(const MatrixProduct& product, const plan::Fields& f,
                                 const Machine& machine) {
  if (f.precision != product.precision)
    return fmt::format("its factors are {}, not {}", plan::name(product.precision),
                       plan::name(f.precision));
  int copied = product.copied(), bits = product.bits();
  if (f.vector != copied && !(f.vector == 1 && copies_any(bits)))
    return fmt::format("operands are copied by {} elements: `vector: {}`", copied, copied);
  if (f.store != 1 && f.store != stored)
    return fmt::format("a thread stores 1 or {} neighbours: `store`", stored);
  for (int warp : {f.warp_m, f.warp_n})
    if (warp < 16 || warp % 16) return "`warp_m` and `warp_n` are multiples of 16";
  if (f.block_m % f.warp_m || f.block_n % f.warp_n)
    return "warps share a block's tile evenly: `block_m % warp_m` and `block_n % warp_n` are 0";
  // Fragments lie in two buffers in turn, and a chunk begins with the same one.
  int64_t round = 2 * atomics::extents_by_axis(product.row->operands[1].layout).at("k");
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
  int accumulators = f.warp_m * f.warp_n / machine.warp * product.sums;
  if (accumulators > 128)
    return fmt::format("{} accumulators of a thread are beyond 128", accumulators);
  // A pass of all threads copies whole lines, and whole passes fill a tile.
  int unit = plan::copied_at_once(f);
  for (int lines : {f.block_k, f.block_m, f.block_n})
    for (int length : {f.block_k, f.block_m, f.block_n})
      if (lines != length && (threads % (length / unit) || lines % (threads * unit / length)))
        return fmt::format("{} threads do not copy {} lines of {} elements evenly", threads, lines,
                           length);
  int64_t bytes = ring_bytes(
      {f.block_m, f.block_n, f.block_k * bits / 8, f.warp_m, f.warp_n, f.pipeline, 1}, product);
  if (bytes > machine.dynamic_shared_bytes)
    return fmt::format("its tiles take {} bytes of shared memory, and a block has {}", bytes,
                       machine.dynamic_shared_bytes);
  return {};
}

/// What else than the few of -O2 a wider search looks at, those it likes best first.
std::vector<Tile> others_of(const MatrixProduct& product, const Machine& machine) {
  if (!machine.search) return {};
  std::vector<Tile> tiles = searched_tiles(product, machine);
  std::erase_if(tiles, [&](const Tile& t) {
    // Sums share a tile evenly.
    if (shared_by(t, product.sums).warp_n * product.sums != t.warp_n) return true;
    plan::Fields f = fields_of(shared_by(t, product.sums), product, Known::all, machine);
    return fault(product, f, machine).has_value();
  });
  return tiles;
}

/// Adds a tile for sizes of which `when` holds; returns whether it takes all that are left.
bool add_tile(const Graph& graph, const Comprehension& c, const graph::Sides& sides,
              const MatrixProduct& product, const Machine& machine, Tile t, Known known,
              std::vector<plan::Fact> when, plan::KernelPlan& kernel) {
  t = shared_by(t, product.sums);
  if (!fits(t, product, machine)) return false;
  plan::Variant v;
  v.fields = fields_of(t, product, known, machine);
  v.when = std::move(when);
  std::vector<ExprId> multiples;
  if (known != Known::nothing) multiples = product.vectors;
  if (ExprId cols = c.points[sides.n.back()].extent;
      known == Known::all && std::find(multiples.begin(), multiples.end(), cols) == multiples.end())
    multiples.push_back(cols);
  for (ExprId extent : multiples) {
    if (known_divisor(graph, extent) % product.copied() == 0) continue;
    if (graph.exprs.as_integer(extent) || !has_solvable_multiples(graph, extent)) return false;
    v.when.push_back({plan::Fact::Kind::divisible, extent, product.copied()});
  }
  kernel.variants.push_back(std::move(v));
  return kernel.variants.back().when.empty();
}

std::optional<ProductSizes> sizes_of(const Graph& graph, const Comprehension& c,
                                     const graph::Sides& sides, const MatrixProduct& product) {
  auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n),
       batch = fixed_size(graph, c, sides.batch);
  if (!rows || !cols || !batch) return std::nullopt;
  // Sums that share a tile are columns of one.
  ProductSizes sizes{*rows,  *cols * product.sums, 1,
                     *batch, product.bits(),       plan::bits_of_product(product.precision)};
  for (const Axis& axis : c.reduction->axes)
    sizes.depth *= std::clamp<int64_t>(graph.exprs.as_integer(axis.extent).value_or(1024), 1,
                                       int64_t{1} << 20);
  return sizes;
}

/// The tile of a wider search, and what the model says of it beside that of -O2.
struct Searched {
  Tile tile;
  int64_t ns = 0;
  std::string text;
};
Searched search(const Tiles& few, const ProductSizes& sizes, const MatrixProduct& product,
                const Machine& machine) {
  std::vector<Tile> others = others_of(product, machine);
  auto fitted = [&](Tile t) {
    Tile each = shared_by(t, product.sums);
    fits(each, product, machine);
    t.depth = each.depth, t.pipeline = each.pipeline;
    return time_ns(t, sizes, machine);
  };
  Tile usual = best_tile(few, {}, sizes, machine), tile = best_tile(few, others, sizes, machine);
  int64_t ns = fitted(tile), before = fitted(usual);
  if (ns == before)
    return {usual, before,
            fmt::format("none of {} other tiles has a modelled time below its {:.1f} us",
                        others.size(), 0.001 * double(before))};
  tile.raster = best_raster(tile, sizes, machine);
  return {tile, ns,
          fmt::format("of {} tiles the one of the least modelled time, {:.1f} us, where {} x {} of "
                      "-O2 has {:.1f}",
                      others.size(), 0.001 * double(ns), usual.block_m, usual.block_n,
                      0.001 * double(before))};
}

} // namespace

void add_matrix_variants(const Graph& graph, const Comprehension& c, const graph::Sides& sides,
                         const MatrixProduct& product, const Machine& machine,
                         plan::KernelPlan& kernel) {
  auto add = [&](const Tile& tile, Known known, std::vector<plan::Fact> when) {
    return add_tile(graph, c, sides, product, machine, tile, known, std::move(when), kernel);
  };
  const Tiles& tiles = tiles_of(product.precision);
  auto sizes = sizes_of(graph, c, sides, product);
  // A launcher asks about one extent at a time.
  if (!sizes && sides.m.size() == 1 && sides.n.size() == 1) {
    auto rows = fixed_size(graph, c, sides.m), cols = fixed_size(graph, c, sides.n);
    ExprId m = c.points[sides.m[0]].extent, n = c.points[sides.n[0]].extent;
    auto at_most = [&](ExprId extent, int64_t most) {
      return plan::Fact{plan::Fact::Kind::at_most, extent, most};
    };
    if (!rows) add(tiles.small, Known::all, {at_most(m, 256)});
    if (!rows && !cols) add(tiles.small, Known::all, {at_most(m, 1024), at_most(n, 2304)});
  }
  Searched searched{sizes ? best_tile(tiles, {}, *sizes, machine) : tiles.large, 0, ""};
  if (sizes && machine.search) searched = search(tiles, *sizes, product, machine);
  bool columns_known = std::find(product.vectors.begin(), product.vectors.end(),
                                 c.points[sides.n.back()].extent) != product.vectors.end();
  if (add(searched.tile, Known::all, {}) ||
      (!columns_known && add(searched.tile, Known::vectors, {}))) {
    kernel.modelled_ns = searched.ns;
    if (searched.ns) kernel.reason += "; " + searched.text;
    return;
  }
  if (!copies_any(product.bits()) || plan::is_split(product.precision)) return;
  bool few = sizes && 5 * blocks_of(unaligned_tile, *sizes) < 3 * int64_t{machine.units};
  add(few ? small_unaligned_tile : unaligned_tile, Known::nothing, {});
}

std::optional<int64_t> matrix_parts(const Graph& graph, const Comprehension& c,
                                    const graph::Sides& sides, const MatrixProduct& product,
                                    const Machine& machine) {
  const Tiles& tiles = tiles_of(product.precision);
  auto sizes = sizes_of(graph, c, sides, product);
  if (!sizes || c.reduction->axes.size() != 1) return std::nullopt;
  auto depth = graph.exprs.as_integer(c.reduction->axes[0].extent);
  if (!depth || time_ns(tiles.small, *sizes, machine) == 0) return std::nullopt;
  // What the model computes with stays within 64 bits.
  if (*depth > int64_t{1} << 36) return std::nullopt;
  sizes->depth = *depth;
  int64_t few = best_parts(tiles, {}, *sizes, 1, machine);
  return machine.search ? best_parts(tiles, others_of(product, machine), *sizes, few, machine)
                        : few;
}

std::optional<std::string> why_no_matrix(const Graph& graph, const Comprehension& c,
                                         const plan::Fields& f, const Machine& machine) {
  auto sides = graph::sides_of(graph, c);
  auto product = matrix_product(graph, c, sides, machine);
  if (plan::is_split(f.precision) && !machine.may_split.contains(c.results[0].tensor))
    return fmt::format("`precision: {}` needs an error budget that the prediction keeps",
                       plan::name(f.precision));
  if (!product) return "it is no product of two factors in one format that matrix units take";
  return fault(*product, f, machine);
}

} // namespace tang::schedule
