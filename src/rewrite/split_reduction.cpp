// split_reduction: any associative monoid splits into partial results and a merge.
//
//   y[p] = v(⊕[j: N] e(j))
//        =>   s[p, c] = ⊕[t: L where c*L + t < N] e(c*L + t),   y[p] = v(⊕[c: C] s[p, c])
//
// with C parts of length L = ⌈N / C⌉. Where rows are few, the parts give every thread work: split-K
// of a matrix product, split-KV of decoding, trees of sums. All state fields are kept, so that the
// online softmax of a part is a partial result like any other, and parts without a term are the
// identity. Parts are contiguous and merge in order, so that commutativity is not needed for the
// outermost axis. The lists of a top-k merge as their elements do one by one, each with the index
// that it has in the whole row, and places that are empty take no part. The number of parts is
// fixed at compile time: the same bits on every run. Side conditions: no scan; another axis than
// the outermost only under a commutative monoid.
// Sources: Blelloch, "Prefix sums and their applications", 1990; Dao et al., "Flash-Decoding",
// 2023; Osama et al., "Stream-K", arXiv:2301.03598.
//
// The parts of a product lie one behind the other, each a whole matrix, and their merge is a map
// that adds a known number of values: both move neighbours at once.
#include "rewrite/split_reduction.h"
#include "base/check.h"
#include "graph/contraction.h"
#include "rewrite/blocks.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

class Splitting {
public:
  Splitting(Graph& graph, Node& node, const Split& split)
      : graph_(graph), s_(graph.exprs), node_(node),
        whole_(std::get<Comprehension>(node.definition)), split_(split) {}

  /// The partial results; the node becomes their merge.
  Node run() {
    TANG_CHECK(!whole_.scan && (split_.axis == 0 || graph_[whole_.reduction->monoid].commutative),
               "a reduction that does not split");
    next_ = fresh_index(s_, whole_).value;
    outermost_ = split_.parts > 0 && is_product(whole_);
    Comprehension partial = parts();
    Comprehension merge = outermost_ ? added(partial) : merged(partial);
    Node first{settle(graph_, std::move(partial)), node_.span, node_.derivation};
    first.derivation.push_back(fmt::format("split_reduction: `{}` in parts over {}",
                                           graph_[whole_.results[0].tensor].name,
                                           whole_.reduction->axes[split_.axis].name));
    node_.derivation.push_back(first.derivation.back());
    node_.definition = canonicalize(s_, std::move(merge));
    return first;
  }

private:
  /// The reduction over one part, the part as the last point.
  Comprehension parts() {
    Comprehension c = whole_;
    Reduction& r = *c.reduction;
    Axis axis = r.axes[split_.axis];
    part_ = axis;
    if (split_.parts == 0) {
      // The index is the part; its own bounds become conditions on the point.
      r.axes.erase(r.axes.begin() + static_cast<ptrdiff_t>(split_.axis));
      part_.lo = part_.hi = {};
      bound(r, axis, s_.index(axis.index));
    } else {
      divide(c, axis);
    }
    c.points.insert(outermost_ ? c.points.begin() : c.points.end(), part_);
    keep_states(c);
    return c;
  }

  void divide(Comprehension& c, const Axis& axis) {
    Reduction& r = *c.reduction;
    ExprId parts = s_.integer(split_.parts);
    ExprId length = canonical(
        s_, s_.binary(Op::floordiv, s_.binary(Op::add, axis.extent, s_.integer(split_.parts - 1)),
                      parts));
    part_ = {IndexId(next_++), parts, axis.name + "_part", {}, {}};
    Axis inner{IndexId(next_++), length, axis.name, {}, {}};
    ExprId place =
        canonical(s_, s_.binary(Op::add, s_.binary(Op::mul, s_.index(part_.index), length),
                                s_.index(inner.index)));
    std::unordered_map<IndexId, ExprId> at{{axis.index, place}};
    ExprId inside = s_.binary(Op::lt, place, axis.extent);
    auto fixed = s_.as_integer(axis.extent);
    bool exact = fixed && *fixed % split_.parts == 0;
    bool product = !exact && is_product(c);
    auto operands =
        product ? std::optional(operands_of(graph_, c, sides_of(graph_, c))) : std::nullopt;
    for (ExprId& id : r.body) {
      if (product)
        id = guarded(id, *operands, s_.binary(Op::lt, s_.index(axis.index), axis.extent));
      id = substitute(s_, id, at);
    }
    r.filter = substitute(s_, r.filter, at);
    for (Axis& other : r.axes)
      other.lo = substitute(s_, other.lo, at), other.hi = substitute(s_, other.hi, at);
    r.axes[split_.axis] = inner;
    Axis bounds = axis;
    bounds.lo = substitute(s_, axis.lo, at), bounds.hi = substitute(s_, axis.hi, at);
    bound(r, bounds, place);
    // First: what follows reads under it.
    if (!exact && !product) r.filter = both(inside, r.filter);
  }

  ExprId both(ExprId a, ExprId b) { return a && b ? s_.logical_and(a, b) : a ? a : b; }

  void bound(Reduction& r, const Axis& axis, ExprId place) {
    if (axis.hi) r.filter = both(s_.binary(Op::lt, place, axis.hi), r.filter);
    if (axis.lo) r.filter = both(s_.binary(Op::le, axis.lo, place), r.filter);
  }

  /// A contraction stays one: what lies behind the end is a product of zeros, not a condition.
  bool is_product(const Comprehension& c) const {
    if (!is_sum(graph_, c.reduction->monoid)) return false;
    auto sides = contraction(graph_, c);
    if (!sides) return false;
    Operands operands = operands_of(graph_, c, *sides);
    std::vector<ExprId> stack{c.reduction->body[0]};
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      bool operand = std::binary_search(operands.a.begin(), operands.a.end(), id) ||
                     std::binary_search(operands.b.begin(), operands.b.end(), id);
      if (operand) continue;
      if (s_[id].op != Op::mul) return false;
      stack.insert(stack.end(), s_[id].operands.begin(), s_[id].operands.end());
    }
    return true;
  }

  ExprId guarded(ExprId body, const Operands& operands, ExprId inside) {
    return rewrite_from(s_, body, [&](ExprId original, ExprId rebuilt) {
      bool operand = std::binary_search(operands.a.begin(), operands.a.end(), original) ||
                     std::binary_search(operands.b.begin(), operands.b.end(), original);
      if (!operand) return rebuilt;
      return s_.select(inside, rebuilt, zero(s_, s_[rebuilt].scalar));
    });
  }

  /// Every field of the state is a result.
  void keep_states(Comprehension& c) {
    const Monoid m = graph_[c.reduction->monoid]; // a copy: tensors are made below
    c.results.clear();
    for (uint32_t f = 0; f < m.fields.size(); ++f) {
      std::vector<Axis> extra;
      std::vector<ExprId> places;
      for (const Axis& axis : m.fields[f].axes) {
        extra.push_back(axis);
        extra.back().index = IndexId(next_++);
        places.push_back(s_.index(extra.back().index));
      }
      Tensor tensor;
      tensor.name = graph_[whole_.results[0].tensor].name + "_part";
      if (!m.fields[f].name.empty()) tensor.name += "_" + m.fields[f].name;
      tensor.type = state_type(graph_, whole_, m.fields[f].scalar);
      tensor.accumulate = graph_[whole_.results[0].tensor].accumulate;
      for (const auto* axes : {&c.points, &extra})
        for (const Axis& axis : *axes) tensor.shape.push_back(axis.extent);
      tensor.span = node_.span;
      c.results.push_back({graph_.add(std::move(tensor)),
                           s_.state(Op::acc, f, m.fields[f].scalar, places), std::move(extra)});
    }
  }

  Comprehension merged(const Comprehension& partial) {
    Comprehension c = whole_;
    Reduction& r = *c.reduction;
    r.axes = {part_};
    r.filter = {};
    const Monoid& m = graph_[r.monoid];
    r.field_axes.assign(m.fields.size(), {});
    if (m.form == Monoid::Form::topk) return merged_lists(std::move(c), partial);
    for (uint32_t f = 0; f < m.fields.size(); ++f) {
      std::vector<ExprId> places;
      for (const Axis& axis : whole_.points) places.push_back(s_.index(axis.index));
      places.push_back(s_.index(part_.index));
      for (const Axis& axis : m.fields[f].axes) {
        r.field_axes[f].push_back(axis);
        r.field_axes[f].back().index = IndexId(next_++);
        places.push_back(s_.index(r.field_axes[f].back().index));
      }
      r.body[f] = s_.read(partial.results[f].tensor, m.fields[f].scalar, places);
    }
    return c;
  }

  /// The parts of a sum in order, without a reduction.
  Comprehension added(const Comprehension& partial) {
    Comprehension c = whole_;
    Scalar scalar = graph_[c.reduction->monoid].fields[0].scalar;
    ExprId sum;
    for (int64_t part = 0; part < split_.parts; ++part) {
      std::vector<ExprId> places{s_.integer(part)};
      for (const Axis& axis : whole_.points) places.push_back(s_.index(axis.index));
      ExprId one = s_.read(partial.results[0].tensor, scalar, places);
      sum = sum ? s_.binary(Op::add, sum, one) : one;
    }
    c.reduction.reset();
    for (Result& result : c.results)
      result.value = rewrite_from(s_, result.value, [&](ExprId original, ExprId rebuilt) {
        return s_[original].op == Op::acc ? sum : rebuilt;
      });
    return c;
  }

  Comprehension merged_lists(Comprehension c, const Comprehension& partial) {
    Reduction& r = *c.reduction;
    const Monoid& m = graph_[r.monoid];
    Axis place = m.fields[0].axes[0];
    place.index = IndexId(next_++);
    r.axes.push_back(place);
    std::vector<ExprId> places;
    for (const Axis& axis : whole_.points) places.push_back(s_.index(axis.index));
    for (const Axis& axis : r.axes) places.push_back(s_.index(axis.index));
    for (uint32_t f = 0; f < m.fields.size(); ++f)
      r.body[f] = s_.read(partial.results[f].tensor, m.fields[f].scalar, places);
    r.filter = s_.binary(Op::le, s_.integer(0), r.body[1]);
    return c;
  }

  Graph& graph_;
  ExprStore& s_;
  Node& node_;
  const Comprehension whole_;
  Split split_;
  Axis part_;
  bool outermost_ = false; ///< the part is the first point, not the last
  uint32_t next_ = 0;
};

} // namespace

Graph split_reduction(Graph graph, std::span<const Split> splits) {
  if (splits.empty()) return graph;
  std::vector<Node> nodes = std::move(graph.nodes), all;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!splits.empty() && splits.front().node == n) {
      all.push_back(Splitting(graph, nodes[n], splits.front()).run());
      splits = splits.subspan(1);
    }
    all.push_back(std::move(nodes[n]));
  }
  graph.nodes = std::move(all);
  return tighten_bounds(std::move(graph));
}

} // namespace tang::rewrite
