// split_precision: one f32 product becomes a sum over split parts (pieces).
//
//   y[p] = v(Σ[k] a·b)   =>   y[p] = v(Σ[k] ((a₁·b₀ + a₀·b₁) + a₀·b₀))
//
// with x₀ = cut(max(min(x, T), -T)), where cut drops the lower bits that the format has not, and T
// is its largest number; and x₁ = fit(x - x₀), where f32 holds x - x₀ exactly. The formats are rows
// of graph/pieces.h:
//
//            bits of x₀   fit           T               time of one product of f32
//   tf32x3   11           cut           (2 - 2^-10)·2^127   3 of tf32
//   bf16x3   8            to nearest    (2 - 2^-7)·2^127    3 of bf16, half of that
//
// What is left out is x - x₀ - x₁ and a₁·b₁. For tf32 these are at most 3·2^-23 of x, and below
// 2^-20 of a·b; for bf16 2^-16 of x (half of the last place of x₁, which is below 2^-7 of x), and
// 2^-14 of a·b, in the mean 2^-16. The error of a sum is at most
//
//   tf32x3   7/4 · 2^-20 · Σ|a·b|    (one product of tf32: 2^-10 · Σ|a·b|)
//   bf16x3   3/2 · 2^-14 · Σ|a·b|    (one product of bf16: 2^-7 · Σ|a·b|)
//
// and that of adding up in f32. Heads are cut towards 0, not rounded to nearest, so that all three
// products have the sign of a·b: where one of them overflows none is its opposite, and large values
// never give NaN. (Heads of bf16 to nearest would be off by half of that, and by less in the mean,
// but inf·b would be NaN where b₁ has the other sign.) x₀ is finite for every x: an infinity and
// NaN stand in x₁ alone, which meets the other factor's x₀ only, and that is 0 only where the
// factor is. So inf·b is inf with the sign of b, inf·0 is NaN, and NaN stays, as in the product
// itself. The small products come first, so that they are not lost beside the large one.
// Three pieces of bf16, with the six products above 2^-21, are no row: they leave out as much as
// tf32x3 does, take as long in the units, and hold 20 registers for 16 rows and a round of products
// (12 of pieces, 8 of the words they are made of), where tf32x3 holds 12.
// Over the reals both sides are the same, and the node stays as it is: what changes is how a
// product rounds, like the format of an accumulator. So it is a field of the plan (`precision:
// tf32x3`), which each variant of a kernel has for itself: sizes that no matrix unit takes run as
// one f32 product, and floors are those of one. The interpreter computes a node by the right side
// (EvalOptions::split_products), which is how its error is predicted.
// Side conditions: a plain sum of products of two real factors, no f64 in the node. Factors below
// 2^-136 count as 0 (bf16: 2^-133), and below 2^-113 parts lose bits that are subnormal (bf16:
// 2^-118); of bf16, products within 2^-16 of the largest f32 may be infinite. A schedule asks for
// it under an error budget, on matrix units that make it faster. Sources: Dekker, "A floating-point
// technique for extending the available precision", 1971; Markidis et al., "NVIDIA Tensor Core
// programmability, performance and precision", 2018; Ootomo and Yokota, "Recovering single
// precision accuracy from Tensor Cores", arXiv:2203.03341.
#include "rewrite/split_precision.h"
#include "base/check.h"
#include "rewrite/monoids.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

bool can_split_precision(const Graph& graph, const Node& node) {
  const auto* c = std::get_if<Comprehension>(&node.definition);
  if (!c || !c->reduction || c->scan || !is_sum(graph, c->reduction->monoid)) return false;
  const Expr& body = graph.exprs[c->reduction->body[0]];
  if (body.op != Op::mul || body.scalar != Scalar::real) return false;
  std::vector<TensorId> tensors = reads_of(graph, node);
  for (const Result& result : c->results) tensors.push_back(result.tensor);
  return std::none_of(tensors.begin(), tensors.end(),
                      [&](TensorId id) { return graph[id].type == ElemType::f64; });
}

Graph split_precision(Graph graph, std::span<const size_t> nodes, const Pieces& pieces) {
  for (size_t n : nodes) {
    Node& node = graph.nodes[n];
    TANG_CHECK(can_split_precision(graph, node), "node {} is no sum of products of two factors", n);
    const auto& c = std::get<Comprehension>(node.definition);
    node.derivation.push_back(
        fmt::format("split_precision: each product of `{}` is a sum of {} over {} parts",
                    graph[c.results[0].tensor].name, pieces.products.size(), pieces.name));
  }
  return graph;
}

} // namespace tang::rewrite
