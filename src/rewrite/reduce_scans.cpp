// reduce_scans: a scan of which only the end is read is a reduction.
//
//   h[t, p] = scan ⊕[t] e(t, p),   y[p] = f(h[T - 1, p])   =>   h[p] = ⊕[t] e(t, p),   y[p] =
//   f(h[p])
//
// Nothing of the length of the scan is stored, and the reduction may run in parts. A descending
// scan ends at 0; when its monoid does not commute the reduction counts down. Side conditions: the
// scan is inclusive, each result is a part of its state, and every read names the end, which is
// then there; no output or `store` line needs the rest.
#include "rewrite/blocks.h"
#include "rewrite/links.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

namespace {

class Ends {
public:
  Ends(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept), links_(graph, nodes) {}

  void run() {
    for (Node& node : nodes_) {
      auto* c = std::get_if<Comprehension>(&node.definition);
      if (c && c->scan && only_end_is_read(*c)) reduce(node, *c);
    }
    if (ends_.empty()) return;
    for (Node& node : nodes_)
      if (auto* c = std::get_if<Comprehension>(&node.definition)) shorten_reads(*c);
  }

private:
  bool only_end_is_read(const Comprehension& c) const {
    if (c.scan->exclusive) return false;
    ExprId end = c.scan->descending
                     ? s_.integer(0)
                     : s_.binary(Op::sub, c.points[c.scan->axis].extent, s_.integer(1));
    for (const Result& result : c.results) {
      const Tensor& tensor = graph_[result.tensor];
      if (s_[result.value].op != Op::acc || tensor.store_given || kept_.contains(result.tensor) ||
          tensor.kind != TensorKind::intermediate)
        return false;
      for (size_t reader : links_.readers(result.tensor))
        if (!reads_end(nodes_[reader], result.tensor, c.scan->axis, end)) return false;
    }
    return true;
  }

  bool reads_end(const Node& node, TensorId tensor, uint32_t axis, ExprId end) const {
    const auto* c = std::get_if<Comprehension>(&node.definition);
    if (!c) return false;
    for (ExprId id : reachable(s_, roots(*c))) {
      const Expr& e = s_[id];
      if (e.op == Op::read && TensorId(e.ref) == tensor &&
          (e.guarded || !same_extent(s_, e.operands[axis], end)))
        return false;
    }
    return true;
  }

  void reduce(Node& node, Comprehension& c) {
    const uint32_t at = c.scan->axis;
    Axis axis = c.points[at];
    if (c.scan->descending && !graph_[c.reduction->monoid].commutative) {
      ExprId last = s_.binary(Op::sub, axis.extent, s_.integer(1));
      std::unordered_map<IndexId, ExprId> down{
          {axis.index, canonical(s_, s_.binary(Op::sub, last, s_.index(axis.index)))}};
      for (ExprId& id : c.reduction->body) id = substitute(s_, id, down);
      if (c.reduction->filter) c.reduction->filter = substitute(s_, c.reduction->filter, down);
    }
    c.points.erase(c.points.begin() + at);
    c.reduction->axes = {axis};
    c.scan.reset();
    for (const Result& result : c.results) {
      ends_[result.tensor] = at;
      Tensor& tensor = graph_[result.tensor];
      tensor.shape.erase(tensor.shape.begin() + at);
      tensor.strides.clear();
    }
    node.derivation.push_back(fmt::format("reduce_scans: of `{}` only the end over {} is read",
                                          graph_[c.results[0].tensor].name, axis.name));
    c = canonicalize(s_, std::move(c));
  }

  void shorten_reads(Comprehension& c) {
    for_each_root(c, [&](ExprId root) {
      return graph::rewrite(s_, root, [&](ExprId id) {
        const Expr e = s_[id]; // a copy: terms are made below
        auto at = e.op == Op::read ? ends_.find(TensorId(e.ref)) : ends_.end();
        if (at == ends_.end()) return id;
        std::vector<ExprId> places(e.operands.begin(), e.operands.end());
        places.erase(places.begin() + at->second);
        return s_.read(at->first, e.scalar, places);
      });
    });
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  Links links_;
  std::unordered_map<TensorId, uint32_t> ends_; ///< and the place that goes
};

} // namespace

Graph reduce_scans(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    Ends(graph, nodes, kept).run();
  });
  return graph;
}

} // namespace tang::rewrite
