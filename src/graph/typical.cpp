#include "graph/typical.h"
#include <algorithm>
#include <limits>

namespace tang::graph {

double typical(const Graph& graph, const Polynomial& p) {
  double sum = 0;
  for (const auto& [atoms, coefficient] : p.terms()) {
    double product = static_cast<double>(coefficient);
    for (ExprId atom : atoms) {
      const Expr& e = graph.exprs[atom];
      constexpr int64_t usual = 1024;
      int64_t value = usual;
      if (e.op == Op::dim) {
        const Dim& dim = graph[DimId(e.ref)];
        value = std::max(dim.lo, std::min(dim.hi, usual));
      }
      product *= static_cast<double>(value);
    }
    sum += product;
  }
  return sum;
}

double typical(const Graph& graph, ExprId extent) {
  auto p = polynomial_of(graph.exprs, extent);
  return p ? typical(graph, *p) : std::numeric_limits<double>::infinity();
}

double typical(const Graph& graph, std::span<const Axis> axes) {
  double product = 1;
  for (const Axis& axis : axes) product *= typical(graph, axis.extent);
  return product;
}

} // namespace tang::graph
