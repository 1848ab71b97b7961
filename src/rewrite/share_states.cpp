// share_states: a reduction that is a part of another's state is read off that state.
//
//   m[p] = max[j | c] s(p, j),  i[p] = argmax[j | c] s(p, j)   =>   (m, i)[p] = argmax[j | c] s
//   i[p] = argmax[j | c] s,  (v, k)[p, n] = topk[j | c; K] s   =>   (v, k)[p, n] = ..., i = k[p, 0]
//
// An arg-max carries the value it found, and a sorted list of the K largest holds those of every
// shorter list: its first element is the maximum and where it stands. The edge rules are the same
// throughout (NaN first, then the lowest index; -inf and -1 for a row without a point). Side
// conditions: the same space, conditions and terms; the same order, largest or smallest first.
#include "base/interner.h"
#include "rewrite/blocks.h"
#include "rewrite/links.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

namespace {

/// A state that orders values: the best one, it and its index, or a list of the best.
struct Order {
  Op better;    ///< max or min
  int64_t best; ///< how many are kept
  bool has_index;
  bool is_list;

  bool holds(const Order& o) const {
    return better == o.better && best >= o.best && (has_index || !o.has_index);
  }
};

class StateSharing {
public:
  StateSharing(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), gone_(nodes.size(), false) {
    for (Op better : {Op::max, Op::min})
      for (Scalar scalar : {Scalar::integer, Scalar::real})
        for (bool index : {false, true}) {
          std::string name = (index ? "arg" : "") + std::string(info(better).name);
          orders_.emplace_back(*graph.builtin(name, scalar), Order{better, 1, index, false});
        }
  }

  bool run() {
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (auto order = order_of(n)) visit(n, *order);
    if (!changed_) return false;
    size_t next = 0;
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (!gone_[n]) {
        if (next != n) nodes_[next] = std::move(nodes_[n]);
        ++next;
      }
    nodes_.resize(next);
    sort_nodes(graph_, nodes_);
    return true;
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
  struct Row {
    size_t node;
    Order order;
  };

  Comprehension& node(size_t n) { return std::get<Comprehension>(nodes_[n].definition); }

  /// Empty for what is no reduction of this kind, or has results that are more than its state.
  std::optional<Order> order_of(size_t n) {
    const auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
    if (!c || !c->reduction || c->scan) return std::nullopt;
    for (const Result& result : c->results)
      if (s_[result.value].op != Op::acc || graph_[result.tensor].over) return std::nullopt;
    MonoidId id = c->reduction->monoid;
    if (graph_[id].form == Monoid::Form::topk) {
      int64_t k = graph_[id].k;
      return k > 0 ? std::optional(Order{Op::max, k, true, true}) : std::nullopt;
    }
    for (const auto& [monoid, order] : orders_)
      if (monoid == id) return order;
    return std::nullopt;
  }

  void visit(size_t n, const Order& order) {
    const Comprehension& c = node(n);
    const Reduction& r = *c.reduction;
    Key key{static_cast<uint32_t>(order.better), r.filter.value, r.body[0].value};
    if (order.has_index) indices_[n] = r.body[1];
    for (const auto* axes : {&c.points, &r.axes}) {
      key.push_back(static_cast<uint32_t>(axes->size()));
      for (const Axis& axis : *axes)
        for (ExprId id : {axis.extent, axis.lo, axis.hi}) key.push_back(id.value);
    }
    auto [at, fresh] = rows_.try_emplace(std::move(key), Row{n, order});
    if (fresh) return;
    Row& row = at->second;
    if (order.has_index && row.order.has_index && indices_.at(n) != indices_.at(row.node)) return;
    if (row.order.holds(order))
      move(n, row.node, row.order);
    else if (order.holds(row.order)) {
      move(row.node, n, order);
      row = {n, order};
    }
  }

  /// The results of one node become results of the other, which holds its state.
  void move(size_t from, size_t to, const Order& order) {
    Comprehension& wide = node(to);
    for (Result& result : node(from).results) {
      nodes_[to].derivation.push_back(
          fmt::format("share_states: `{}` is a part of the state of `{}`",
                      graph_[result.tensor].name, graph_[wide.results[0].tensor].name));
      const Expr e = s_[result.value]; // a copy: terms are made below
      std::vector<ExprId> places(e.operands.begin(), e.operands.end());
      if (order.is_list && places.empty()) places.push_back(s_.integer(0));
      result.value = s_.state(Op::acc, e.ref, e.scalar, places);
      wide.results.push_back(std::move(result));
    }
    wide = canonicalize(s_, std::move(wide));
    gone_[from] = true, changed_ = true;
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  std::vector<char> gone_;
  std::vector<std::pair<MonoidId, Order>> orders_;
  std::unordered_map<Key, Row, KeyHash> rows_; ///< the node with the widest state
  std::unordered_map<size_t, ExprId> indices_; ///< what an arg-max or a list reports
  bool changed_ = false;
};

} // namespace

Graph share_states(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    changed |= StateSharing(graph, nodes).run();
  });
  return compact(std::move(graph));
}

} // namespace tang::rewrite
