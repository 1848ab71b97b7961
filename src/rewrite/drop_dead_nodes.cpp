// drop_dead_nodes: what no output needs is not computed.
//
// A node lives if a result of it lives; what a living node reads lives. Results that nobody reads
// leave their node, carried tensors that only feed themselves leave their recurrence. Inputs stay:
// they are the interface.
#include "base/check.h"
#include "rewrite/blocks.h"
#include "rewrite/passes.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

class DeadNodeSweep {
public:
  explicit DeadNodeSweep(Graph& graph) : graph_(graph) {}

  /// Marks from the back; `live_` holds what is needed behind the list.
  void mark(const std::vector<Node>& nodes) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      auto defined = defines_of(*node);
      if (std::none_of(defined.begin(), defined.end(), [&](TensorId t) { return alive(t); }))
        continue;
      std::visit(Overload{[&](const Comprehension& c) { mark_reads(c); },
                          [&](const Recur& r) { mark(r); }, [](const Gradient& g) { reject(g); }},
                 node->definition);
    }
  }

  void sweep(std::vector<Node>& nodes) {
    std::erase_if(nodes, [&](Node& node) {
      return std::visit(Overload{[&](Comprehension& c) { return sweep(c); },
                                 [&](Recur& r) { return sweep(r); },
                                 [](Gradient& g) -> bool { reject(g); }},
                        node.definition);
    });
  }

  void need(TensorId id) { live_.insert(id); }

private:
  bool alive(TensorId id) const { return live_.contains(id); }

  void mark_reads(const Comprehension& c) {
    Comprehension needed = c;
    std::erase_if(needed.results, [&](const Result& r) { return !alive(r.tensor); });
    for (ExprId id : reachable(graph_.exprs, roots(needed)))
      if (graph_.exprs[id].op == Op::read) need(TensorId(graph_.exprs[id].ref));
  }

  void mark(const Recur& r) {
    for (const Collect& collect : r.collects)
      if (alive(collect.stacked)) need(collect.value);
    // A carry lives if its last value does or a living equation of the body reads it; each round
    // can only add carries.
    for (size_t before = live_.size() + 1; before != live_.size();) {
      before = live_.size();
      for (const Carry& carry : r.carries)
        if (alive(carry.last) || alive(carry.current)) {
          need(carry.next), need(carry.init);
          need(carry.current), need(carry.last);
        }
      mark(r.body);
    }
  }

  /// True when the node goes.
  bool sweep(Comprehension& c) {
    std::erase_if(c.results, [&](const Result& r) { return !alive(r.tensor); });
    return c.results.empty();
  }

  bool sweep(Recur& r) {
    std::erase_if(r.collects, [&](const Collect& c) { return !alive(c.stacked); });
    std::erase_if(r.carries, [&](const Carry& c) { return !alive(c.last); });
    sweep(r.body);
    return r.collects.empty() && r.carries.empty();
  }

  Graph& graph_;
  TensorSet live_;
};

} // namespace

Graph drop_dead_nodes(Graph graph) {
  DeadNodeSweep sweep(graph);
  for (TensorId id : graph.outputs) sweep.need(id);
  sweep.mark(graph.nodes);
  sweep.sweep(graph.nodes);
  return compact(std::move(graph));
}

} // namespace tang::rewrite
