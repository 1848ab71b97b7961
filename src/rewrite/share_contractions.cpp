// share_contractions: reductions over one space that compute the same contraction are one.
//
//   y[p] = ⊕[r | c] e(s(p, r)),  z[p] = ⊗[r | c] f(s(p, r)),   s(p, r) = Σ[k] a(p, k)·b(r, k)
//                                       =>   (y, z)[p] = (⊕, ⊗)[r | c] (e(s), f(s))
//
// s is computed once per point and reduce index, for both. The gradients of attention by keys and
// by values are such a pair: they need the same scores, and one of five products of matrices is
// saved. It comes behind all other laws, because bounds tell that two spaces are equal.
//
// Side conditions: neither needs the other; nothing is stored over what they read or takes the
// place of an input by what they store; what is shared is a considerable part of what both do. A
// schedule asks for it: the state of the product is as large as both states together. Sources: the
// tupling of Burstall, Darlington, "A transformation system for developing recursive programs",
// 1977; the backward pass of Dao, "FlashAttention-2", arXiv:2307.08691.
#include "rewrite/share_contractions.h"
#include "graph/typical.h"
#include "rewrite/blocks.h"
#include "rewrite/links.h"
#include "rewrite/siblings.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tang::rewrite {
using namespace graph;

namespace {

/// One in so many operations, at least, is saved.
constexpr double considerable = 8;

/// Multiplications and additions of contractions and of the state, for one point and reduce index.
double operations(const Graph& graph, const Comprehension& c) {
  double count = 0;
  for (ExprId id : reachable(graph.exprs, c.reduction->body)) {
    const Expr& e = graph.exprs[id];
    if (e.op != Op::fold) continue;
    double length = 1;
    for (size_t k = 2; k < e.operands.size(); ++k) length *= typical(graph, e.operands[k]);
    count += length;
  }
  for (const MonoidField& field : graph[c.reduction->monoid].fields)
    count += typical(graph, field.axes);
  return count;
}

class ContractionSharing {
public:
  ContractionSharing(Graph& graph, const RunsAsOne& runs_as_one)
      : graph_(graph), runs_as_one_(runs_as_one) {
    for (const Tensor& tensor : graph.tensors)
      if (tensor.over) stored_over_.insert(tensor.over);
  }

  /// Merges one pair; false where none is left.
  bool step() {
    Links links(graph_, graph_.nodes);
    std::map<std::vector<uint32_t>, std::vector<size_t>> spaces;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!may_share(n)) continue;
      std::vector<size_t>& earlier = spaces[space_of(node(n))];
      for (size_t m : earlier)
        if (!links.depends(links.reads(n), {m}) && merge(m, n)) return true;
      earlier.push_back(n);
    }
    return false;
  }

private:
  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(graph_.nodes[n].definition);
  }

  bool may_share(size_t n) const {
    const auto* c = std::get_if<Comprehension>(&graph_.nodes[n].definition);
    if (!c || !may_be_sibling(graph_, *c)) return false;
    auto terms = reachable(graph_.exprs, c->reduction->body);
    auto reads = reads_of(graph_, graph_.nodes[n]);
    return std::any_of(terms.begin(), terms.end(),
                       [&](ExprId id) { return graph_.exprs[id].op == Op::fold; }) &&
           std::none_of(c->results.begin(), c->results.end(),
                        [&](const Result& r) { return bool(graph_[r.tensor].over); }) &&
           std::none_of(reads.begin(), reads.end(),
                        [&](TensorId id) { return stored_over_.contains(id); });
  }

  bool merge(size_t m, size_t n) {
    TensorId first = node(m).results[0].tensor, second = node(n).results[0].tensor;
    if (!asked_.insert({first, second}).second) return false;
    Comprehension both = product(graph_, node(m), node(n));
    double apart = operations(graph_, node(m)) + operations(graph_, node(n));
    double saved = apart - operations(graph_, both);
    if (saved * considerable < apart || !runs_as_one_(graph_, node(m), node(n), both)) return false;
    Node &into = graph_.nodes[n], &from = graph_.nodes[m];
    into.definition = std::move(both);
    into.derivation.insert(into.derivation.begin(), from.derivation.begin(), from.derivation.end());
    into.derivation.push_back(
        fmt::format("share_contractions: `{}` and `{}` compute what both need once",
                    graph_[first].name, graph_[second].name));
    graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(m));
    sort_nodes(graph_, graph_.nodes);
    return true;
  }

  Graph& graph_;
  const RunsAsOne& runs_as_one_;
  TensorSet stored_over_;
  std::set<std::pair<TensorId, TensorId>> asked_; ///< pairs, by their first results
};

} // namespace

Graph share_contractions(Graph graph, const RunsAsOne& runs_as_one) {
  bool changed = false;
  for (ContractionSharing sharing(graph, runs_as_one); sharing.step();) changed = true;
  return changed ? compact(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
