// merge_siblings: reductions over one space with the same readers are one under the product monoid.
//
//   g[p] = ⊕[r | c] e,  u[p] = ⊗[r | c] f,  y[p] = h(g[p], u[p])
//                                       =>   (g, u)[p] = (⊕, ⊗)[r | c] (e, f),  y[p] = h(g, u)
//
// What both bodies read is read once (the input of a gate and of its values is staged for both),
// and the map behind them needs no second kernel. Side conditions: neither needs the other; they
// read a common element; the same nodes read them; few enough states stay in registers. Source: the
// tupling of Burstall, Darlington, "A transformation system for developing recursive programs",
// 1977; horizontal fusion of Kennedy, McKinley, 1993.
#include "base/interner.h"
#include "rewrite/blocks.h"
#include "rewrite/cost.h"
#include "rewrite/links.h"
#include "rewrite/passes.h"
#include "rewrite/siblings.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace tang::rewrite {
using namespace graph;

namespace {

constexpr size_t max_states = 4;

class Siblings {
public:
  Siblings(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), links_(graph, nodes), home_(nodes.size()) {
    for (size_t n = 0; n < nodes.size(); ++n) home_[n] = n;
  }

  void run() {
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (may_merge(n)) visit(n);
    if (!changed_) return;
    size_t next = 0;
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (home_[n] == n) {
        if (next != n) nodes_[next] = std::move(nodes_[n]);
        ++next;
      }
    nodes_.resize(next);
    sort_nodes(graph_, nodes_);
  }

private:
  using Key = std::vector<uint32_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const {
      size_t seed = key.size();
      for (uint32_t word : key) hash_combine(seed, word);
      return seed;
    }
  };

  /// Where the node is now that was at position `n`.
  size_t home(size_t n) {
    size_t top = n;
    while (home_[top] != top) top = home_[top];
    while (home_[n] != top) n = std::exchange(home_[n], top);
    return top;
  }
  Comprehension& node(size_t n) { return std::get<Comprehension>(nodes_[n].definition); }

  bool may_merge(size_t n) const {
    const auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
    if (!c || !may_be_sibling(graph_, *c)) return false;
    const Monoid& monoid = graph_[c->reduction->monoid];
    bool scalars = std::all_of(monoid.fields.begin(), monoid.fields.end(),
                               [](const MonoidField& f) { return f.axes.empty(); });
    return scalars && std::all_of(c->results.begin(), c->results.end(), [&](const Result& r) {
             const Tensor& t = graph_[r.tensor];
             return r.extra.empty() && t.kind == TensorKind::intermediate && !t.accumulate;
           });
  }

  /// The space of a reduction and who reads it.
  Key key_of(size_t n) {
    Key key = space_of(node(n));
    for (size_t reader : readers_of(n)) key.push_back(static_cast<uint32_t>(reader));
    return key;
  }

  std::set<size_t> readers_of(size_t n) {
    std::set<size_t> readers;
    for (const Result& r : node(n).results)
      for (size_t reader : links_.readers(r.tensor)) readers.insert(home(reader));
    return readers;
  }

  void visit(size_t n) {
    if (readers_of(n).empty()) return;
    auto [at, fresh] = first_.try_emplace(key_of(n), n);
    if (fresh) return;
    size_t earlier = at->second;
    at->second = n;
    if (shares_elements(earlier, n) && fits(earlier, n) && !needs(n, earlier)) merge(earlier, n);
  }

  bool shares_elements(size_t a, size_t b) {
    auto reads = [&](size_t n) {
      std::set<ExprId> found;
      for (ExprId id : reachable(s_, node(n).reduction->body))
        if (s_[id].op == Op::read && !s_[id].free.empty()) found.insert(id);
      return found;
    };
    auto left = reads(a), right = reads(b);
    return std::any_of(left.begin(), left.end(), [&](ExprId id) { return right.contains(id); });
  }

  bool fits(size_t a, size_t b) {
    const Reduction &x = *node(a).reduction, &y = *node(b).reduction;
    uint32_t terms = 0;
    for (const Reduction* r : {&x, &y})
      for (ExprId id : r->body) terms += cost_of(s_, id).terms;
    return graph_[x.monoid].fields.size() + graph_[y.monoid].fields.size() <= max_states &&
           terms <= max_body_terms;
  }

  /// True when node `n` needs what node `from` computes, through the nodes between them.
  bool needs(size_t n, size_t from) {
    std::vector<size_t> open{n};
    std::set<size_t> seen;
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      for (TensorId id : reads_of(graph_, nodes_[at])) {
        auto producer = links_.producer(id);
        if (!producer) continue;
        size_t place = home(*producer);
        if (place == from) return true;
        if (place > from && place < n && seen.insert(place).second) open.push_back(place);
      }
    }
    return false;
  }

  void merge(size_t a, size_t b) {
    Comprehension made = product(graph_, node(a), node(b));
    auto& derivation = nodes_[b].derivation;
    derivation.insert(derivation.begin(), nodes_[a].derivation.begin(), nodes_[a].derivation.end());
    derivation.push_back(fmt::format("merge_siblings: `{}` and `{}` read the same elements once",
                                     graph_[made.results.front().tensor].name,
                                     graph_[made.results.back().tensor].name));
    nodes_[b].definition = std::move(made);
    home_[a] = b;
    changed_ = true;
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  Links links_;
  std::vector<size_t> home_; ///< a node that was merged points to where it went
  std::unordered_map<Key, size_t, KeyHash> first_;
  bool changed_ = false;
};

} // namespace

Graph merge_siblings(Graph graph) {
  for_each_block(graph,
                 [&](std::vector<Node>& nodes, const TensorSet&) { Siblings(graph, nodes).run(); });
  return compact(std::move(graph));
}

} // namespace tang::rewrite
