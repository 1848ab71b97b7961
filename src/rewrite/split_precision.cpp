// split_precision: one f32 product becomes a sum over split parts.
//
//   y[p] = v(Σ[k] a·b)   =>   y[p] = v(Σ[k] ((a₁·b₀ + a₀·b₁) + a₀·b₀))
//
// with x₀ = cut(max(min(x, T), -T)) and x₁ = cut(x - x₀), where cut drops the 13 lower bits of a
// mantissa, as tf32 units do, and T is the largest number that they read. x₀ has 11 significant
// bits and x - x₀, which f32 holds exactly, at most 13. What is left out is x - x₀ - x₁, at most
// 3·2^-23 of x, and a₁·b₁, below 2^-20 of a·b: the error of a sum is at most
//
//   7/4 · 2^-20 · Σ|a·b|    (one product of tf32: 2^-10 · Σ|a·b|)
//
// and that of adding up in f32. Parts are cut towards 0, not rounded to nearest, so that all three
// products have the sign of a·b: where one of them overflows none is its opposite, and large values
// never give NaN. x₀ is finite for every x: an infinity and NaN stand in x₁ alone, which meets the
// other factor's x₀ only, and that is 0 only where the factor is. So inf·b is inf with the sign
// of b, inf·0 is NaN, and NaN stays, as in the product itself. The small products come first, so
// that they are not lost beside the large one.
// Over the reals both sides are the same, and the node stays as it is: what changes is how a
// product rounds, like the format of an accumulator. So it is a field of the plan (`precision:
// tf32x3`), which each variant of a kernel has for itself: sizes that no matrix unit takes run as
// one f32 product, and floors are those of one. The interpreter computes a node by the right side
// (EvalOptions::split_products), which is how its error is predicted.
// Side conditions: a plain sum of products of two real factors, no f64 in the node. Factors below
// 2^-136 count as 0, and below 2^-113 parts lose bits that are subnormal. A schedule asks for it
// under an error budget, on matrix units that make it faster.
// Sources: Dekker, "A floating-point technique for extending the available precision", 1971;
// Markidis et al., "NVIDIA Tensor Core programmability, performance and precision", 2018; Ootomo
// and Yokota, "Recovering single precision accuracy from Tensor Cores", arXiv:2203.03341.
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

Graph split_precision(Graph graph, std::span<const size_t> nodes) {
  for (size_t n : nodes) {
    Node& node = graph.nodes[n];
    TANG_CHECK(can_split_precision(graph, node), "node {} is no sum of products of two factors", n);
    const auto& c = std::get<Comprehension>(node.definition);
    node.derivation.push_back(
        fmt::format("split_precision: each product of `{}` is a sum of three over tf32 parts",
                    graph[c.results[0].tensor].name));
  }
  return graph;
}

} // namespace tang::rewrite
