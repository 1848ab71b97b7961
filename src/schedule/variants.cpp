// Variants and the facts about an extent under which a launcher may take them.
#include "base/checked.h"
#include "graph/polynomial.h"
#include "graph/prover.h"
#include "schedule/shapes.h"

namespace tang::schedule {

using graph::ExprId;
using graph::Graph;
using graph::Op;

int64_t known_divisor(const Graph& graph, ExprId term) {
  auto p = graph::polynomial_of(graph.exprs, term);
  if (!p) return 1;
  int64_t divisor = 0;
  for (const auto& [atoms, coefficient] : p->terms()) {
    int64_t factor = coefficient;
    for (ExprId atom : atoms) {
      const graph::Expr& e = graph.exprs[atom];
      int64_t step = e.op == Op::dim ? graph[graph::DimId(e.ref)].step : 1;
      factor = checked_mul(factor, step).value_or(factor);
    }
    divisor = common_divisor(divisor, factor);
  }
  return divisor == 0 ? 0 : std::abs(divisor);
}

namespace {

/// Whether a dim occurs in a term.
bool mentions(const Graph& graph, ExprId term, ExprId dim) {
  for (ExprId id : graph::reachable(graph.exprs, {&term, 1}))
    if (id == dim) return true;
  return false;
}

} // namespace

bool has_solvable_multiples(const Graph& graph, ExprId term) {
  auto p = graph::polynomial_of(graph.exprs, term);
  if (!p) return false;
  auto is_dim = [&](const graph::Polynomial::Monomial& m) {
    return m.size() == 1 && graph.exprs[m[0]].op == Op::dim;
  };
  size_t symbolic = 0;
  for (const auto& [monomial, coefficient] : p->terms()) symbolic += !monomial.empty();
  for (const auto& [monomial, coefficient] : p->terms()) {
    if (!is_dim(monomial)) continue;
    if (symbolic == 1) return true;
    ExprId dim = monomial[0];
    size_t occurrences = 0;
    for (const auto& [other, ignored] : p->terms())
      for (ExprId atom : other) occurrences += mentions(graph, atom, dim);
    bool one = coefficient == 1 || coefficient == -1;
    if (one && occurrences == 1 && graph[graph::DimId(graph.exprs[dim].ref)].step == 1) return true;
  }
  return symbolic == 0;
}

bool add_variant(const Graph& graph, plan::KernelPlan& kernel, const plan::Fields& fields,
                 const Lengths& lengths) {
  plan::Variant variant;
  variant.fields = fields;
  int64_t divisor = known_divisor(graph, lengths.extent);
  graph::IntRange range = graph::Prover(graph).range(lengths.extent);
  if (divisor % lengths.divisor != 0) {
    if (!has_solvable_multiples(graph, lengths.extent)) return true;
    if (graph.exprs.as_integer(lengths.extent)) return true;
    variant.when.push_back({plan::Fact::Kind::divisible, lengths.extent, lengths.divisor});
  }
  if (lengths.most && range.hi > *lengths.most) {
    if (range.lo > *lengths.most) return true;
    variant.when.push_back({plan::Fact::Kind::at_most, lengths.extent, *lengths.most});
  }
  kernel.variants.push_back(std::move(variant));
  return !kernel.variants.back().when.empty();
}

} // namespace tang::schedule
