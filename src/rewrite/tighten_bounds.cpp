// tighten_bounds: affine conditions of a filter become bounds of its indices.
//
//   sum[j where a*j + p >= 0] e   =>   sum[j from ceil(-p / a)] e          for a > 0
//   sum[j where p - a*j >= 0] e   =>   sum[j up to floor(p / a)] e
//   sum[j] x * where(p - a*j >= 0, e, 0)   =>   sum[j up to floor(p / a)] x * e
//
// with p over dims, points, reduce indices before j, and integers read at those (the length of a
// row, where a segment ends). A condition that the axes prove is dropped, and so is a bound that
// the extent implies. What is not of this form stays in the filter: data read at j, disjunctions,
// inequalities (`!=`), products of indices. A choice in the body that the bounds decide is made. A
// contraction whose tiles share operands stays one: its rows would have bounds of their own.
// Source: loop bounds by Fourier-Motzkin
// elimination, one variable at a time (Ancourt, Irigoin, "Scanning polyhedra with DO loops", 1991).
#include "base/check.h"
#include "graph/contraction.h"
#include "graph/reads.h"
#include "graph/text.h"
#include "graph/text_terms.h"
#include "rewrite/blocks.h"
#include "rewrite/factors.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

class Tightening {
public:
  Tightening(Graph& graph, Comprehension& node)
      : graph_(graph), s_(graph.exprs), node_(node), r_(*node.reduction) {}

  void filter() {
    ExprId filter = r_.filter;
    r_.filter = {};
    for (ExprId part : conjuncts(s_, filter)) {
      if (prover().holds(part) || bounds(part)) continue;
      r_.filter = r_.filter ? s_.logical_and(r_.filter, part) : part;
    }
    drop_implied();
  }

  void body() {
    for (ExprId part : of_every_body()) bounds(part);
    for (ExprId& body : r_.body) body = decided(body);
    drop_implied();
  }

private:
  /// A bound may imply conditions that came before it.
  void drop_implied() {
    ExprId filter = r_.filter;
    r_.filter = {};
    for (ExprId part : conjuncts(s_, filter))
      if (!prover().holds(part)) r_.filter = r_.filter ? s_.logical_and(r_.filter, part) : part;
  }

  /// Under a sum a point at which every body is 0 takes no part. Conditions of indices alone.
  std::vector<ExprId> of_every_body() {
    if (!adds(graph_, r_.monoid)) return {};
    std::vector<ExprId> common;
    for (size_t f = 0; f < r_.body.size(); ++f) {
      std::vector<ExprId> parts;
      for (ExprId condition : factors_of(s_, r_.body[f]).conditions)
        for (ExprId part : conjuncts(s_, condition))
          if (of_points(part)) parts.push_back(part);
      if (f == 0)
        common = parts;
      else
        std::erase_if(common, [&](ExprId part) {
          return std::find(parts.begin(), parts.end(), part) == parts.end();
        });
    }
    return common;
  }

  bool of_points(ExprId condition) const {
    const Expr& e = s_[condition];
    return !e.has_read && std::all_of(e.free.begin(), e.free.end(), [&](IndexId index) {
      auto is = [&](const Axis& axis) { return axis.index == index; };
      return std::any_of(node_.points.begin(), node_.points.end(), is) ||
             std::any_of(r_.axes.begin(), r_.axes.end(), is);
    });
  }

  /// The term with the branches that every point takes, and without conditions that always hold.
  ExprId decided(ExprId term) {
    Prover p = prover();
    auto decide = [&](ExprId condition) {
      return s_[condition].has_read ? std::nullopt : p.decide(condition);
    };
    return graph::rewrite(s_, term, [&](ExprId id) {
      const Expr e = s_[id]; // a copy: a proof makes terms
      if (e.op == Op::logical_and && decide(e.operands[0]) == true) return e.operands[1];
      if (e.op == Op::logical_and && decide(e.operands[1]) == true) return e.operands[0];
      if (e.op != Op::select) return id;
      auto truth = decide(e.operands[0]);
      return truth ? e.operands[*truth ? 1 : 2] : id;
    });
  }

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
  if (node.reduction && node.reduction->filter && !node.scan) Tightening(graph, node).filter();
  return node;
}

namespace {

/// `names` are the graph's once a node needs them.
void tighten(Graph& graph, Node& node, std::optional<Names>& names) {
  auto& c = std::get<Comprehension>(node.definition);
  if (!c.reduction || c.scan) return;
  Comprehension tight = tightened(graph, c);
  Tightening(graph, tight).body();
  const Reduction &before = *c.reduction, &after = *tight.reduction;
  auto same = [](const Axis& a, const Axis& b) { return a.lo == b.lo && a.hi == b.hi; };
  bool bounded = !std::equal(after.axes.begin(), after.axes.end(), before.axes.begin(),
                             before.axes.end(), same);
  if (!bounded && after.filter == before.filter && after.body == before.body) return;
  // Tiles that compute the zeros as well reuse what they read; rows under bounds of their own do
  // not.
  if (contraction(graph, c) && !contraction(graph, tight)) return;
  // Proofs that needed the filter as it stood keep it.
  if (!unproved_reads(graph, tight).empty()) return;
  const std::string& name = graph[c.results[0].tensor].name;
  if (before.filter && !names) names.emplace(graph);
  if (before.filter)
    node.derivation.push_back(fmt::format("tighten_bounds: `{}` bounds the indices of `{}`",
                                          to_text(graph, c, before.filter, *names), name));
  else if (bounded)
    node.derivation.push_back(
        fmt::format("tighten_bounds: the indices of `{}` end where its body is 0", name));
  c = canonicalize(graph.exprs, std::move(tight));
}

} // namespace

Graph tighten_bounds(Graph graph) {
  std::optional<Names> names;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    for (Node& node : nodes)
      if (std::holds_alternative<Comprehension>(node.definition)) tighten(graph, node, names);
  });
  return graph;
}

} // namespace tang::rewrite
