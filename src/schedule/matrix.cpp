// Products on matrix units: which contractions are such, and how large their tiles are.
#include "atomics/match.h"
#include "graph/reads.h"
#include "schedule/shapes.h"
#include <algorithm>

namespace tang::schedule {

using graph::Axis;
using graph::Comprehension;
using graph::ElemType;
using graph::ExprId;
using graph::Graph;
using graph::Op;

namespace {

/// Elements that one asynchronous copy moves: 16 bytes.
constexpr int copied = 8;

/// Both factors, when the body is their product and nothing else.
std::optional<std::pair<ExprId, ExprId>> factors(const Graph& graph, const Comprehension& c,
                                                 const graph::Sides& sides) {
  const graph::Monoid& m = graph[c.reduction->monoid];
  if (m.fields.size() != 1 || m.fields[0].scalar != graph::Scalar::real) return std::nullopt;
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

/// The axis along which an operand's neighbours lie in memory: that of the sum or of its side.
const Axis* contiguous_axis(const Graph& graph, const Comprehension& c, ExprId operand,
                            const std::vector<size_t>& side) {
  const graph::Expr& read = graph.exprs[operand];
  if (read.op != Op::read) return nullptr;
  for (const Axis* axis : {&c.points[side.back()], &c.reduction->axes.back()})
    if (graph::moves_as_vector(graph, read, *axis, copied)) return axis;
  return nullptr;
}

/// A tile of a block and of its warps.
struct Tile {
  int block_m, block_n, block_k, warp_m, warp_n, pipeline;
};
/// Largest first. Measured on an H200 in mma.sync code: 8 warps of 64 x 64 reach the most; smaller
/// tiles serve problems that would leave multiprocessors idle.
constexpr Tile tiles[] = {{256, 128, 64, 64, 64, 3}, {128, 128, 64, 64, 64, 3}, {64, 64, 64, 32, 32, 4}};

int64_t shared_bytes(const Tile& t) {
  // Padded by 16 bytes along the longer way that memory may have.
  int64_t a = std::max(t.block_m * (t.block_k + copied), t.block_k * (t.block_m + copied));
  int64_t b = std::max(t.block_n * (t.block_k + copied), t.block_k * (t.block_n + copied));
  return int64_t{t.pipeline} * (a + b) * 2;
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
    const Axis* axis = contiguous_axis(graph, c, operand, *side);
    if (!axis) return std::nullopt;
    ElemType type = graph[graph::TensorId(graph.exprs[operand].ref)].type;
    if (format && *format != type) return std::nullopt;
    format = type;
    if (std::find(product.vectors.begin(), product.vectors.end(), axis->extent) ==
        product.vectors.end())
      product.vectors.push_back(axis->extent);
  }
  product.precision = plan::precision_of(*format);
  if (product.precision == plan::Precision::full ||
      !atomics::find_matmul(machine.target, ElemType::f32, *format, *format) ||
      !atomics::find_commit(machine.target, "cp_async"))
    return std::nullopt;
  return product;
}

void add_matrix_variants(const Graph& graph, const Comprehension& c, const graph::Sides& sides,
                         const MatrixProduct& product, const Machine& machine,
                         plan::KernelPlan& kernel) {
  (void)c, (void)sides;
  for (const Tile& t : tiles) {
    if (shared_bytes(t) > machine.dynamic_shared_bytes) continue;
    plan::Variant v;
    v.fields.precision = product.precision;
    v.fields.block_m = t.block_m, v.fields.block_n = t.block_n, v.fields.block_k = t.block_k;
    v.fields.warp_m = t.warp_m, v.fields.warp_n = t.warp_n, v.fields.pipeline = t.pipeline;
    v.fields.vector = copied;
    v.fields.stage = true;
    v.fields.threads = machine.warp * (t.block_m / t.warp_m) * (t.block_n / t.warp_n);
    bool possible = true;
    for (ExprId extent : product.vectors) {
      if (known_divisor(graph, extent) % copied == 0) continue;
      possible &= !graph.exprs.as_integer(extent);
      v.when.push_back({plan::Fact::Kind::divisible, extent, copied});
    }
    if (!possible) continue;
    kernel.variants.push_back(std::move(v));
    break;
  }
}

} // namespace tang::schedule
