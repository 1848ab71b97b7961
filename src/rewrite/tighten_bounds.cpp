// tighten_bounds: affine conditions of a filter become bounds of its indices.
//
//   sum[j where a*j + p >= 0] e   =>   sum[j from ceil(-p / a)] e          for a > 0
//   sum[j where p - a*j >= 0] e   =>   sum[j up to floor(p / a)] e
//
// with p over dims, points, reduce indices before j, and integers read at those (the length of a
// row, where a segment ends). A condition that the axes prove is dropped, and so is a bound that
// the extent implies. What is not of this form stays in the filter: data read at j, disjunctions,
// inequalities (`!=`), products of indices. Source: loop bounds by Fourier-Motzkin
// elimination, one variable at a time (Ancourt, Irigoin, "Scanning polyhedra with DO loops", 1991).
#include "base/check.h"
#include "graph/reads.h"
#include "graph/text.h"
#include "rewrite/blocks.h"
#include "rewrite/factors.h"
#include "rewrite/passes.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

class Tightening {
public:
  Tightening(Graph& graph, Comprehension& node)
      : graph_(graph), s_(graph.exprs), node_(node), r_(*node.reduction) {}

  void run() {
    ExprId filter = r_.filter;
    r_.filter = {};
    for (ExprId part : conjuncts(s_, filter)) {
      if (prover().holds(part) || bounds(part)) continue;
      r_.filter = r_.filter ? s_.logical_and(r_.filter, part) : part;
    }
  }

private:
  /// What holds whatever the filter says, with the bounds so far.
  Prover prover() const {
    Prover p(graph_);
    p.add_axes(node_.points);
    p.add_axes(r_.axes);
    return p;
  }

  /// Moves the condition into bounds; false when it is not of the form.
  bool bounds(ExprId part) {
    const Expr e = s_[part];
    bool negated = e.op == Op::logical_not;
    const Expr c = negated ? s_[e.operands[0]] : e;
    if (c.operands.size() != 2 || s_[c.operands[0]].scalar != Scalar::integer) return false;
    auto a = polynomial_of(s_, c.operands[0]), b = polynomial_of(s_, c.operands[1]);
    if (!a || !b) return false;
    auto difference = [&](const Polynomial& x, const Polynomial& y, int64_t slack) {
      auto d = x.minus(y);
      return d ? d->minus(Polynomial::constant(slack)) : std::nullopt;
    };
    int64_t strict = c.op == Op::lt;
    if (c.op == Op::lt || c.op == Op::le)
      return bound(negated ? difference(*a, *b, 1 - strict) : difference(*b, *a, strict));
    if ((c.op != Op::eq || negated) && (c.op != Op::ne || !negated)) return false;
    auto before = r_.axes;
    if (bound(difference(*a, *b, 0)) && bound(difference(*b, *a, 0))) return true;
    r_.axes = std::move(before);
    return false;
  }

  /// p >= 0 as a bound of the last reduce index in it.
  bool bound(const std::optional<Polynomial>& p) {
    if (!p) return false;
    size_t last = r_.axes.size();
    for (const auto& [atoms, coefficient] : p->terms())
      for (ExprId atom : atoms)
        for (size_t k = 0; k < r_.axes.size(); ++k)
          if (std::binary_search(s_[atom].free.begin(), s_[atom].free.end(), r_.axes[k].index))
            last = last == r_.axes.size() ? k : std::max(last, k);
    if (last == r_.axes.size()) return false;
    ExprId index = s_.index(r_.axes[last].index);
    auto parts = p->split(index);
    auto factor = parts ? parts->first.as_constant() : std::nullopt;
    if (!factor || *factor == 0 || *factor == std::numeric_limits<int64_t>::min()) return false;
    // The index also inside a floordiv or mod: not affine.
    for (const auto& [atoms, coefficient] : parts->second.terms())
      for (ExprId atom : atoms)
        if (std::binary_search(s_[atom].free.begin(), s_[atom].free.end(), r_.axes[last].index))
          return false;
    return *factor > 0 ? bound_below(last, parts->second, *factor)
                       : bound_above(last, parts->second, -*factor);
  }

  /// factor*index + rest >= 0: index >= ceil(-rest / factor)
  bool bound_below(size_t axis, const Polynomial& rest, int64_t factor) {
    auto p = Polynomial::constant(factor - 1).minus(rest);
    if (!p) return false;
    ExprId lo = divided(*p, factor);
    Axis& a = r_.axes[axis];
    if (prover().less_equal(lo, s_.integer(0)) || (a.lo && prover().less_equal(lo, a.lo)))
      return true;
    if (a.lo && !prover().less_equal(a.lo, lo)) lo = s_.binary(Op::max, a.lo, lo);
    a.lo = lo;
    return true;
  }

  /// rest - factor*index >= 0: index < floor(rest / factor) + 1
  bool bound_above(size_t axis, const Polynomial& rest, int64_t factor) {
    auto p = rest.plus(Polynomial::constant(factor));
    if (!p) return false;
    ExprId hi = divided(*p, factor);
    Axis& a = r_.axes[axis];
    if (prover().less_equal(a.extent, hi) || (a.hi && prover().less_equal(a.hi, hi))) return true;
    if (a.hi && !prover().less_equal(hi, a.hi)) hi = s_.binary(Op::min, a.hi, hi);
    a.hi = hi;
    return true;
  }

  ExprId divided(const Polynomial& p, int64_t factor) {
    return canonical(s_, s_.binary(Op::floordiv, build(s_, p), s_.integer(factor)));
  }

  Graph& graph_;
  ExprStore& s_;
  Comprehension& node_;
  Reduction& r_;
};

} // namespace

Comprehension tightened(Graph& graph, Comprehension node) {
  if (node.reduction && node.reduction->filter && !node.scan) Tightening(graph, node).run();
  return node;
}

namespace {

void tighten(Graph& graph, Node& node) {
  auto& c = std::get<Comprehension>(node.definition);
  Comprehension tight = tightened(graph, c);
  if (!c.reduction || tight.reduction->filter == c.reduction->filter) return;
  // Proofs that needed the filter as it stood keep it.
  if (!unproved_reads(graph, tight).empty()) return;
  node.derivation.push_back(fmt::format("tighten_bounds: `{}` bounds the indices of `{}`",
                                        to_text(graph, c, c.reduction->filter),
                                        graph[c.results[0].tensor].name));
  c = canonicalize(graph.exprs, std::move(tight));
}

} // namespace

Graph tighten_bounds(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    for (Node& node : nodes)
      if (std::holds_alternative<Comprehension>(node.definition)) tighten(graph, node);
  });
  return graph;
}

} // namespace tang::rewrite
