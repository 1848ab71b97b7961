// merge_common_nodes: nodes with equal definitions are one node.
//
//   a[i] = e,  b[i] = e   =>   readers of b read a;   an output b becomes a second result of a's
//   node
//
// Equal means equal after renumbering (graph.h, `canonicalize`) and after the same law on what they
// read. Reductions with one body but different values share the reduction. Side conditions: a
// tensor with a `store`, `accumulate` or `budget` line of its own, or stored over an input, is not
// merged away. One pass over the nodes with a hash table. Source: Click, "Global code motion,
// global value numbering", 1995.
#include "base/check.h"
#include "base/interner.h"
#include "graph/reads.h"
#include "rewrite/blocks.h"
#include "rewrite/passes.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

using Key = std::vector<uint32_t>;
struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t seed = key.size();
    for (uint32_t word : key) hash_combine(seed, word);
    return seed;
  }
};

class Merge {
public:
  Merge(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept,
        std::unordered_map<TensorId, TensorId>& same)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept), same_(same) {}

  void run() {
    size_t next = 0;
    for (Node& node : nodes_) {
      bool gone = std::visit(Overload{[&](Comprehension& c) {
                                        redirect(c);
                                        c = canonicalize(s_, std::move(c));
                                        return merge(c, next);
                                      },
                                      [&](Recur& r) {
                                        redirect(r);
                                        return false;
                                      },
                                      [](Gradient& g) -> bool { reject(g); }},
                             node.definition);
      if (gone) continue;
      if (&nodes_[next] != &node) nodes_[next] = std::move(node);
      ++next;
    }
    nodes_.resize(next);
  }

private:
  TensorId representative(TensorId id) const {
    auto at = same_.find(id);
    return at == same_.end() ? id : at->second;
  }

  void redirect(Comprehension& c) {
    if (same_.empty()) return;
    for_each_root(c, [&](ExprId root) {
      return graph::rewrite(s_, root, [&](ExprId id) {
        const Expr& e = s_[id];
        if (e.op != Op::read || !same_.contains(TensorId(e.ref))) return id;
        Expr copy = e;
        return s_.read(representative(TensorId(copy.ref)), copy.scalar, places_of(copy),
                       copy.guarded ? copy.operands.back() : ExprId());
      });
    });
  }

  void redirect(Recur& r) {
    for (Carry& carry : r.carries) {
      carry.init = representative(carry.init), carry.next = representative(carry.next);
    }
    for (Collect& collect : r.collects) collect.value = representative(collect.value);
    for (Node& node : r.body)
      std::visit(Overload{[&](Comprehension& c) { redirect(c); }, [&](Recur& x) { redirect(x); },
                          [](Gradient& g) { reject(g); }},
                 node.definition);
  }

  bool may_vanish(TensorId id) const {
    const Tensor& t = graph_[id];
    return !kept_.contains(id) && t.kind == TensorKind::intermediate && !t.store_given &&
           !t.accumulate && !t.budget_rel && !t.budget_abs;
  }

  /// What the node computes before its results' values.
  Key key_of(const Comprehension& c) const {
    Key key;
    auto axes = [&](const std::vector<Axis>& list) {
      key.push_back(static_cast<uint32_t>(list.size()));
      for (const Axis& axis : list)
        for (ExprId id : {axis.extent, axis.lo, axis.hi}) key.push_back(id.value);
    };
    axes(c.points);
    key.push_back(c.scan ? c.scan->axis * 4 + c.scan->exclusive * 2 + c.scan->descending
                         : Id<int>::none);
    if (c.reduction) {
      key.push_back(c.reduction->monoid.value);
      axes(c.reduction->axes);
      key.push_back(c.reduction->filter.value);
      for (ExprId id : c.reduction->body) key.push_back(id.value);
      for (const auto& list : c.reduction->field_axes) axes(list);
      auto accumulate = graph_[c.results[0].tensor].accumulate;
      key.push_back(accumulate ? static_cast<uint32_t>(*accumulate) : Id<int>::none);
    } else {
      for (const Result& result : c.results) key.push_back(result.value.value);
    }
    return key;
  }

  /// The result of `c` that computes the same as `wanted`.
  const Result* equal_result(const Comprehension& c, const Result& wanted) const {
    auto at = std::find_if(c.results.begin(), c.results.end(), [&](const Result& r) {
      return r.value == wanted.value && graph_[r.tensor].type == graph_[wanted.tensor].type &&
             r.extra.size() == wanted.extra.size() && may_vanish(r.tensor) &&
             std::equal(r.extra.begin(), r.extra.end(), wanted.extra.begin(),
                        [](const Axis& a, const Axis& b) { return a.index == b.index; });
    });
    return at == c.results.end() ? nullptr : &*at;
  }

  /// True when an earlier node took over every result of `c`.
  bool merge(Comprehension& c, size_t position) {
    for (const Result& result : c.results)
      if (graph_[result.tensor].over) return false;
    auto [at, fresh] = first_.try_emplace(key_of(c), position);
    if (fresh) return false;
    Node& node = nodes_[at->second];
    auto& earlier = std::get<Comprehension>(node.definition);
    if (std::any_of(earlier.results.begin(), earlier.results.end(),
                    [&](const Result& r) { return static_cast<bool>(graph_[r.tensor].over); }))
      return false;
    for (Result& result : c.results) {
      const Result* equal = may_vanish(result.tensor) ? equal_result(earlier, result) : nullptr;
      if (equal)
        same_[result.tensor] = equal->tensor;
      else
        earlier.results.push_back(result);
      node.derivation.push_back(fmt::format("merge_common_nodes: `{}` is computed with `{}`",
                                            graph_[result.tensor].name,
                                            graph_[earlier.results[0].tensor].name));
    }
    return true;
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  std::unordered_map<TensorId, TensorId>& same_;
  std::unordered_map<Key, size_t, KeyHash> first_;
};

} // namespace

Graph merge_common_nodes(Graph graph) {
  std::unordered_map<TensorId, TensorId> same;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    Merge(graph, nodes, kept, same).run();
  });
  return compact(std::move(graph));
}

} // namespace tang::rewrite
