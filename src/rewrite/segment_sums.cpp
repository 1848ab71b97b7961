// segment_sums: a condition on sorted keys is a range of indices.
//
//   ⊕[t | id[t] == v & c] e   =>   ⊕[t | start[v] <= t & t < start[v + 1] & c] e
//   start[v] = #[t] id[t] < v
//
// where `id` is declared sorted. tighten_bounds makes loop bounds of the range, so that the
// gradient of a gathered table costs O(V log T + T) and not V × T. The counts are found by binary
// search, one step after the other in one map. The same for inequalities, for any other bound than
// an index (then the two ends are counted separately), and for keys in rows, each of which is
// sorted: id[b, t]. `where(id[t] == v, e, 0)` under a sum counts as the condition.
//
// Side conditions: the key is read along its last axis at the reduce index plus what does not
// depend on it; nothing else in the comparison depends on that index. Keys that are not declared
// sorted keep their condition, and `-Wperf` says so. Source: the segmented sums of Blelloch,
// "Prefix sums and their applications", 1990.
#include "base/check.h"
#include "graph/reads.h"
#include "graph/text.h"
#include "graph/text_terms.h"
#include "rewrite/blocks.h"
#include "rewrite/factors.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::rewrite {
using namespace graph;

namespace {

/// key ⋚ bound, where only `key` moves with the reduce index.
struct Comparison {
  ExprId key;
  ExprId bound;
  bool below = false, above = false; ///< bounds the key from above, from below; both: equality
  bool strict = false;
};

class Segments {
public:
  Segments(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes) {}

  void run() {
    std::vector<Node> all;
    for (Node& node : nodes_) {
      made_.clear();
      auto* c = std::get_if<Comprehension>(&node.definition);
      if (c && c->reduction && !c->scan) visit(node, *c);
      for (Node& made : made_) all.push_back(std::move(made));
      all.push_back(std::move(node));
    }
    nodes_ = std::move(all);
  }

private:
  void visit(Node& node, Comprehension& c) {
    node_ = &c;
    Reduction& r = *c.reduction;
    std::vector<ExprId> parts = conjuncts(s_, r.filter);
    ExprId body = chosen(r, parts);
    bool changed = false;
    ExprId filter;
    for (ExprId part : parts) {
      const ExprId written = part;
      if (auto range = range_of(part)) {
        node.derivation.push_back(
            fmt::format("segment_sums: `{}` is a range, because `{}` is sorted", text(written),
                        graph_[TensorId(s_[range->key].ref)].name));
        part = range->condition, changed = true;
      } else if (unsorted_) {
        graph_.remarks.push_back(
            {node.span, fmt::format("segment_sums looks everywhere for `{}`: `{}` is not declared "
                                    "sorted",
                                    text(written), graph_[unsorted_].name)});
      }
      filter = filter ? s_.logical_and(filter, part) : part;
    }
    if (!changed) return;
    r.filter = filter;
    if (body) r.body[0] = body;
    c = canonicalize(s_, std::move(c));
  }

  /// A term that the node was written with.
  std::string text(ExprId id) {
    if (!names_) names_.emplace(graph_);
    return to_text(graph_, *node_, id, *names_);
  }

  /// The value of `where(c, e, 0)` under a sum, its conditions added to `parts`; empty for another
  /// body.
  ExprId chosen(const Reduction& r, std::vector<ExprId>& parts) {
    if (!is_sum(graph_, r.monoid)) return {};
    const Expr e = s_[r.body[0]];
    if (e.op != Op::select || e.operands[2] != zero(s_, e.scalar)) return {};
    for (ExprId part : conjuncts(s_, e.operands[0])) parts.push_back(part);
    return e.operands[1];
  }

  // ---- recognising

  struct Range {
    ExprId key, condition;
  };

  std::optional<Range> range_of(ExprId part) {
    unsorted_ = {};
    auto comparison = comparison_of(part);
    if (!comparison) return std::nullopt;
    const Expr key = s_[comparison->key]; // a copy: terms are made below
    ExprId place = key.operands.back();
    auto upto = [&](bool inclusive) { return count(key, comparison->bound, inclusive); };
    ExprId condition;
    auto also = [&](ExprId more) {
      condition = condition ? s_.logical_and(condition, more) : more;
    };
    if (comparison->above) {
      ExprId first = upto(comparison->strict);
      if (!first) return std::nullopt;
      also(s_.binary(Op::le, first, place));
    }
    if (comparison->below) {
      ExprId last = upto(!comparison->strict);
      if (!last) return std::nullopt;
      also(s_.binary(Op::lt, place, last));
    }
    return Range{comparison->key, condition};
  }

  std::optional<Comparison> comparison_of(ExprId part) {
    const Expr outer = s_[part];
    bool negated = outer.op == Op::logical_not;
    const Expr e = negated ? s_[outer.operands[0]] : outer;
    bool equal = negated ? e.op == Op::ne : e.op == Op::eq;
    if ((!equal && e.op != Op::lt && e.op != Op::le) || s_[e.operands[0]].scalar != Scalar::integer)
      return std::nullopt;
    auto a = polynomial_of(s_, e.operands[0]), b = polynomial_of(s_, e.operands[1]);
    auto difference = a && b ? a->minus(*b) : std::nullopt;
    if (!difference) return std::nullopt;
    for (const auto& [atoms, coefficient] : difference->terms()) {
      if (atoms.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
      const Axis* axis = moving_axis(atoms[0]);
      auto rest = axis ? difference->split(atoms[0]) : std::nullopt;
      if (!rest || uses(rest->second, axis->index)) continue;
      if (!graph_[TensorId(s_[atoms[0]].ref)].sorted) {
        if (equal && !s_[build(s_, rest->second)].free.empty())
          unsorted_ = TensorId(s_[atoms[0]].ref);
        continue;
      }
      // coefficient * key + rest ⋚ 0
      bool positive = coefficient == 1;
      auto bound = positive ? Polynomial().minus(rest->second) : rest->second;
      if (!bound) continue;
      Comparison found{atoms[0], build(s_, *bound), equal, equal, false};
      if (!equal) {
        (positive != negated ? found.below : found.above) = true;
        found.strict = (e.op == Op::lt) != negated;
      }
      return found;
    }
    return std::nullopt;
  }

  /// The reduce axis along which a read moves through the last place of its tensor, step by step,
  /// while all other places stay.
  const Axis* moving_axis(ExprId atom) const {
    const Expr& e = s_[atom];
    if (e.op != Op::read || e.guarded || e.operands.empty()) return nullptr;
    auto last = polynomial_of(s_, e.operands.back());
    if (!last) return nullptr;
    for (const Axis& axis : node_->reduction->axes) {
      auto split = last->split(s_.index(axis.index));
      if (!split || split->first.as_constant() != 1 || uses(split->second, axis.index)) continue;
      bool stay = std::none_of(e.operands.begin(), e.operands.end() - 1,
                               [&](ExprId place) { return uses(place, axis.index); });
      if (stay) return &axis;
    }
    return nullptr;
  }

  bool uses(ExprId id, IndexId index) const {
    return std::binary_search(s_[id].free.begin(), s_[id].free.end(), index);
  }
  bool uses(const Polynomial& p, IndexId index) const {
    return std::any_of(p.terms().begin(), p.terms().end(), [&](const auto& term) {
      return std::any_of(term.first.begin(), term.first.end(),
                         [&](ExprId atom) { return uses(atom, index); });
    });
  }

  // ---- counting

  /// A read of the number of keys below `bound`, or up to it; empty where the axes do not allow it.
  ExprId count(const Expr& key, ExprId bound, bool inclusive) {
    std::vector<ExprId> terms(key.operands.begin(), key.operands.end() - 1);
    terms.push_back(bound);
    std::set<IndexId> used;
    for (ExprId id : terms) used.insert(s_[id].free.begin(), s_[id].free.end());
    std::optional<IndexId> stepped = stepping(terms);
    Comprehension map;
    std::vector<ExprId> places;
    std::unordered_map<IndexId, ExprId> names;
    auto take = [&](const std::vector<Axis>& axes) {
      for (const Axis& axis : axes) {
        if (!used.erase(axis.index)) continue;
        IndexId own(static_cast<uint32_t>(map.points.size()));
        ExprId place = s_.index(axis.index), extent = axis.extent;
        // Up to v is below v + 1.
        if (axis.index == stepped) extent = s_.binary(Op::add, extent, s_.integer(1));
        if (axis.index == stepped && inclusive) place = s_.binary(Op::add, place, s_.integer(1));
        places.push_back(place);
        names[axis.index] = s_.index(own);
        map.points.push_back({own, canonical(s_, extent), axis.name, {}, {}});
      }
    };
    take(node_->points), take(node_->reduction->axes);
    if (!used.empty() || !comes_last(key)) return {};
    for (ExprId& id : terms) id = substitute(s_, id, names);
    bound = terms.back(), terms.pop_back();
    ExprId value = search(key, terms, bound, inclusive && !stepped);
    return s_.read(counted(std::move(map), value, graph_[TensorId(key.ref)]), Scalar::integer,
                   places);
  }

  /// The index by whose next value the bound is one more, when the rows of keys do not depend on
  /// it.
  std::optional<IndexId> stepping(const std::vector<ExprId>& terms) const {
    auto bound = polynomial_of(s_, terms.back());
    for (IndexId index : s_[terms.back()].free) {
      auto split = bound ? bound->split(s_.index(index)) : std::nullopt;
      if (split && split->first.as_constant() == 1 && !uses(split->second, index) &&
          std::none_of(terms.begin(), terms.end() - 1,
                       [&](ExprId place) { return uses(place, index); }))
        return index;
    }
    return std::nullopt;
  }

  /// A loop's bounds may use indices of the loops around it only: the axis moves inward.
  bool comes_last(const Expr& key) {
    auto& axes = node_->reduction->axes;
    const Axis* moving = nullptr;
    for (const Axis& axis : axes)
      if (uses(key.operands.back(), axis.index)) moving = &axis;
    if (!moving) return false;
    auto at = axes.begin() + (moving - axes.data());
    if (at + 1 == axes.end()) return true;
    bool needed =
        std::any_of(at + 1, axes.end(), [&](const Axis& axis) { return axis.lo || axis.hi; });
    if (needed || !graph_[node_->reduction->monoid].commutative) return false;
    std::rotate(at, at + 1, axes.end());
    return true;
  }

  /// The number of keys below the bound: steps by falling powers of two, each taken when the key
  /// before its end is still below.
  ExprId search(const Expr& key, std::vector<ExprId> places, ExprId bound, bool inclusive) {
    const Tensor& tensor = graph_[TensorId(key.ref)];
    ExprId length = tensor.shape.back();
    int64_t most = greatest_length(tensor), width = 1;
    while (width <= most / 2) width *= 2;
    ExprId position = s_.integer(0);
    places.emplace_back();
    for (; width > 0; width /= 2) {
      ExprId end = s_.binary(Op::add, position, s_.integer(width));
      places.back() = s_.binary(Op::sub, end, s_.integer(1));
      ExprId last = s_.read(TensorId(key.ref), Scalar::integer, places, s_.integer(0));
      ExprId below = s_.binary(inclusive ? Op::le : Op::lt, last, bound);
      ExprId taken = s_.logical_and(s_.binary(Op::le, end, length), below);
      position = s_.select(taken, end, position);
    }
    return position;
  }

  int64_t greatest_length(const Tensor& tensor) const {
    return std::max<int64_t>(Prover(graph_).range(tensor.shape.back()).hi, 1);
  }

  /// The tensor of counts; equal ones are one.
  TensorId counted(Comprehension map, ExprId value, const Tensor& key) {
    std::vector<uint32_t> same{value.value};
    for (const Axis& axis : map.points) same.push_back(axis.extent.value);
    auto [at, fresh] = counts_.try_emplace(same);
    if (!fresh) return at->second;
    Tensor tensor;
    tensor.name = key.name + "_start";
    int64_t most = greatest_length(key);
    tensor.type = most <= graph::range_of(ElemType::i32).hi ? ElemType::i32 : ElemType::i64;
    tensor.range = IntRange{0, most};
    for (const Axis& axis : map.points) tensor.shape.push_back(axis.extent);
    std::string sentence =
        fmt::format("segment_sums: where the keys of `{}` reach a bound", key.name);
    map.results.push_back({graph_.add(std::move(tensor)), value, {}});
    at->second = map.results[0].tensor;
    made_.push_back({settle(graph_, std::move(map)), {}, {std::move(sentence)}});
    return at->second;
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  std::vector<Node> made_;        ///< what stands before the node at hand
  Comprehension* node_ = nullptr; ///< at hand
  TensorId unsorted_;             ///< whose order the condition at hand would need
  std::map<std::vector<uint32_t>, TensorId> counts_;
  std::optional<Names> names_; ///< of what the nodes were written with
};

} // namespace

Graph segment_sums(Graph graph) {
  for_each_block(graph,
                 [&](std::vector<Node>& nodes, const TensorSet&) { Segments(graph, nodes).run(); });
  return graph;
}

} // namespace tang::rewrite
