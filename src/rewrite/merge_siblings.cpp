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
#include "base/check.h"
#include "base/interner.h"
#include "rewrite/blocks.h"
#include "rewrite/cost.h"
#include "rewrite/links.h"
#include "rewrite/passes.h"
#include <algorithm>
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
    if (!c || !c->reduction || c->scan) return false;
    const Monoid& monoid = graph_[c->reduction->monoid];
    bool scalars = std::all_of(monoid.fields.begin(), monoid.fields.end(),
                               [](const MonoidField& f) { return f.axes.empty(); });
    return monoid.form == Monoid::Form::expressions && scalars &&
           std::all_of(c->results.begin(), c->results.end(), [&](const Result& r) {
             const Tensor& t = graph_[r.tensor];
             return r.extra.empty() && t.kind == TensorKind::intermediate && !t.accumulate;
           });
  }

  /// The space of a reduction and who reads it. Nodes number their indices alike, so that equal
  /// spaces have equal terms.
  Key key_of(size_t n) {
    const Comprehension& c = node(n);
    Key key;
    for (const auto* axes : {&c.points, &c.reduction->axes}) {
      key.push_back(static_cast<uint32_t>(axes->size()));
      for (const Axis& axis : *axes)
        for (ExprId id : {axis.extent, axis.lo, axis.hi}) key.push_back(id.value);
    }
    key.push_back(c.reduction->filter.value);
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

  /// The state of the second behind that of the first.
  ExprId shifted(ExprId term, uint32_t by) {
    return graph::rewrite(s_, term, [&](ExprId id) {
      const Expr e = s_[id];
      bool state = e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs;
      return state ? s_.state(e.op, e.ref + by, e.scalar, e.operands) : id;
    });
  }

  MonoidId product(MonoidId first, MonoidId second) {
    Monoid m = graph_[first];
    const Monoid other = graph_[second];
    auto by = static_cast<uint32_t>(m.fields.size());
    m.name = "product", m.builtin = false;
    m.commutative = m.commutative && other.commutative;
    m.fields.insert(m.fields.end(), other.fields.begin(), other.fields.end());
    for (ExprId id : other.combine) m.combine.push_back(shifted(id, by));
    // The same names in every layer, so that equal layers stay equal.
    m.visible.clear();
    for (uint32_t f = 0; f < m.fields.size(); ++f) {
      m.fields[f].name = std::string(1, static_cast<char>('a' + f));
      m.visible.push_back(f);
    }
    return graph_.add(std::move(m));
  }

  void merge(size_t a, size_t b) {
    Comprehension &first = node(a), &second = node(b);
    auto by = static_cast<uint32_t>(graph_[first.reduction->monoid].fields.size());
    Comprehension made = first;
    Reduction &r = *made.reduction, &other = *second.reduction;
    r.monoid = product(r.monoid, other.monoid);
    r.body.insert(r.body.end(), other.body.begin(), other.body.end());
    r.field_axes.resize(r.body.size());
    for (Result& result : second.results) {
      result.value = shifted(result.value, by);
      made.results.push_back(std::move(result));
    }
    auto& derivation = nodes_[b].derivation;
    derivation.insert(derivation.begin(), nodes_[a].derivation.begin(), nodes_[a].derivation.end());
    derivation.push_back(fmt::format("merge_siblings: `{}` and `{}` read the same elements once",
                                     graph_[made.results.front().tensor].name,
                                     graph_[made.results.back().tensor].name));
    nodes_[b].definition = canonicalize(s_, std::move(made));
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
