// stabilize_softmax: a row max and the sums of exponentials over the same scores are one pass.
//
//   m[p] = max[j | c] s(p, j)
//   a[p, d] = Σ[j | c] exp(r * s(p, j) + t(p)) * w(p, j, d)        r > 0
//                                                  =>
//   (m, l, a') = ⊕[j | c] (s, 1, w),   a = exp(r * m + t) * a'
//
// where (m, l, a) ⊕ (m', l', a') rescales the side with the smaller maximum:
//
//   M = max(m, m'),   l * exp(m - M) + l' * exp(m' - M),   a * exp(r (m - M)) + a' * exp(r (m' -
//   M))
//
// A softmax has t = -r*m, so nothing is left of the factor but the rule that a row whose maximum is
// infinite gives NaN; a row in which no point takes part gives 0, and `l` tells (it is 0 only
// then). The column `d` that only `w` uses becomes an index of the field: with scores that are a
// short contraction (nest_contractions) this is flash attention, and nothing of size p × j is
// stored.
//
// Scores are compared as linear forms after putting the bodies of maps that depend on `m` in their
// places, so that it does not matter where scales, masks, divisions and views stand; `where(c, x,
// 0)` under a sum counts as the filter `c`. Sums of exponentials from which no maximum was
// subtracted get one: then a factor exp(r * m) is left, which overflows where the sums did. Side
// conditions: the sum's conditions are those of the max; its weights do not depend on the max;
// columns have constant extents. The law fires where columns would otherwise meet stored scores, or
// where no map over the elements needs the row again. Sources: Milakov, Gimelshein, "Online
// normalizer calculation for softmax", arXiv:1805.02867; Rabe, Staats, "Self-attention does not
// need O(n²) memory", arXiv:2112.05682; Dao et al., "FlashAttention", arXiv:2205.14135.
#include "base/check.h"
#include "rewrite/blocks.h"
#include "rewrite/columns.h"
#include "rewrite/factors.h"
#include "rewrite/passes.h"
#include "rewrite/softmax_rows.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace tang::rewrite {
using namespace graph;

namespace {

class Stabilization {
public:
  Stabilization(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), rows_(graph, nodes) {}

  void run() {
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (auto group = rows_.of_max(n)) combine(std::move(*group));
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (auto group = rows_.without_max(n)) combine(std::move(*group));
    if (made_.empty()) return;
    for (Node& node : made_) nodes_.push_back(std::move(node));
    sort_nodes(graph_, nodes_);
  }

  bool changed() const { return changed_; }

private:
  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(nodes_[n].definition);
  }

  void combine(SoftmaxGroup group) {
    group_ = std::move(group);
    Comprehension made;
    made.points = row_points();
    made.reduction = Reduction{};
    Reduction& r = *made.reduction;
    r.axes = group_.row.axes, r.filter = group_.row.filter;
    next_index_ = first_fresh();
    size_t count = count_field();
    r.monoid = monoid(count);
    add_bodies(r, count);
    values_.clear();
    ExprId row_max = s_.state(Op::acc, 0, Scalar::real);
    std::vector<std::string> derivation, names;
    if (group_.row.max) define(made, *group_.row.max, row_max, {});
    for (const WeightedSum& sum : group_.sums) add_value(made, sum, count);
    for (size_t n : group_.members()) {
      derivation.insert(derivation.end(), nodes_[n].derivation.begin(), nodes_[n].derivation.end());
      names.push_back(fmt::format("`{}`", graph_[node(n).results[0].tensor].name));
    }
    derivation.push_back(
        fmt::format("stabilize_softmax: {} are one pass over {}, rescaled where the maximum grows",
                    fmt::join(names, ", "), fmt::join(axis_names(group_.row.axes), ", ")));
    Node result{settle(graph_, std::move(made)), nodes_[group_.members().front()].span,
                std::move(derivation)};
    redirect();
    made_.push_back(std::move(result));
    changed_ = true;
  }

  static std::vector<std::string> axis_names(const std::vector<Axis>& axes) {
    std::vector<std::string> names;
    for (const Axis& axis : axes) names.push_back(axis.name);
    return names;
  }

  uint32_t first_fresh() const {
    uint32_t next = 0;
    for (const auto* axes : {&group_.row.points, &group_.row.axes})
      for (const Axis& axis : *axes) next = std::max(next, axis.index.value + 1);
    for (ExprId root : {group_.row.score, group_.row.filter})
      if (root)
        for (ExprId id : reachable(s_, {&root, 1}))
          for (IndexId bound : s_[id].bound) next = std::max(next, bound.value + 1);
    return next;
  }

  /// The row's points in the order of the sum with the most columns, so that its result is written
  /// as it is laid out.
  std::vector<Axis> row_points() const {
    const WeightedSum& widest = *std::max_element(group_.sums.begin(), group_.sums.end(),
                                                  [](const WeightedSum& a, const WeightedSum& b) {
                                                    return a.columns.size() < b.columns.size();
                                                  });
    std::vector<Axis> points;
    for (const Axis& axis : node(widest.node).points)
      for (const Axis& point : group_.row.points)
        if (s_[widest.from_row.at(point.index)].ref == axis.index.value) points.push_back(point);
    return points;
  }

  /// The field that counts, in units of the largest element: a sum with weight 1, or one more.
  size_t count_field() {
    size_t fields = 1, count = 0;
    for (WeightedSum& sum : group_.sums) {
      sum.field = fields++;
      const Expr& weight = s_[sum.weight];
      if (count == 0 && sum.columns.empty() && weight.op == Op::literal_real && weight.real == 1)
        count = sum.field;
    }
    return count ? count : fields;
  }

  MonoidId monoid(size_t count) {
    Monoid m;
    m.name = "softmax", m.commutative = true;
    auto state = [&](Op side, size_t field, std::span<const ExprId> places = {}) {
      return s_.state(side, static_cast<uint32_t>(field), Scalar::real, places);
    };
    ExprId earlier = state(Op::lhs, 0), later = state(Op::rhs, 0);
    m.fields.push_back({"m", Scalar::real, {}, s_.real(-std::numeric_limits<double>::infinity())});
    m.combine.push_back(s_.binary(Op::max, earlier, later));
    // The side with the maximum is not rescaled at all, so that two sides at -inf add up.
    auto scale = [&](ExprId side, ExprId other, Op op, double rate) {
      ExprId fall = s_.binary(Op::mul, s_.real(rate), s_.binary(Op::sub, side, other));
      return s_.select(s_.binary(Op::le, other, side), s_.real(1), s_.unary(op, fall));
    };
    auto add = [&](const std::string& name, Op op, double rate, const std::vector<Axis>& columns) {
      std::vector<Axis> axes = columns;
      std::vector<ExprId> places;
      for (size_t k = 0; k < axes.size(); ++k) {
        axes[k].index = IndexId(static_cast<uint32_t>(k));
        places.push_back(s_.index(axes[k].index));
      }
      size_t field = m.fields.size();
      ExprId a = s_.binary(Op::mul, scale(earlier, later, op, rate), state(Op::lhs, field, places));
      ExprId b = s_.binary(Op::mul, scale(later, earlier, op, rate), state(Op::rhs, field, places));
      m.fields.push_back({name, Scalar::real, std::move(axes), s_.real(0)});
      m.combine.push_back(s_.binary(Op::add, a, b));
    };
    for (const WeightedSum& sum : group_.sums)
      add(sum.field == count ? "l" : fmt::format("a{}", sum.field), sum.exponential, sum.rate,
          sum.columns);
    if (count == m.fields.size()) add("l", Op::exp, 1, {});
    for (uint32_t f = 0; f < m.fields.size(); ++f) m.visible.push_back(f);
    return graph_.add(std::move(m));
  }

  /// The sum's indices in terms of the row's, its columns by fresh names.
  IndexTerms to_row(const WeightedSum& sum, std::vector<Axis>& columns) {
    IndexTerms names;
    for (const auto& [theirs, mine] : sum.from_row) names[IndexId(s_[mine].ref)] = s_.index(theirs);
    columns = renamed(s_, sum.columns, next_index_, names);
    return names;
  }

  void add_bodies(Reduction& r, size_t count) {
    r.body.push_back(group_.row.score);
    r.field_axes.emplace_back();
    for (const WeightedSum& sum : group_.sums) {
      std::vector<Axis> columns;
      IndexTerms names = to_row(sum, columns);
      r.body.push_back(substitute(s_, sum.weight, names));
      r.field_axes.push_back(std::move(columns));
    }
    if (count == r.body.size()) r.body.push_back(s_.real(1)), r.field_axes.emplace_back();
  }

  /// Adds a result that holds what `member` defines, in the order of the new node's points.
  void define(Comprehension& made, size_t member, ExprId value, std::vector<Axis> columns) {
    TensorId id = tensor_over(graph_, node(member).results[0].tensor, made.points, columns);
    made.results.push_back({id, value, std::move(columns)});
    // The old tensor is a view of the new one.
    const Comprehension& old = node(member);
    std::vector<ExprId> places;
    if (member == group_.row.max) {
      for (const Axis& axis : made.points) places.push_back(s_.index(axis.index));
    } else {
      const WeightedSum& sum =
          *std::find_if(group_.sums.begin(), group_.sums.end(),
                        [&](const WeightedSum& s) { return s.node == member; });
      for (const Axis& axis : made.points) places.push_back(sum.from_row.at(axis.index));
      for (const Axis& axis : sum.columns) places.push_back(s_.index(axis.index));
    }
    Comprehension view;
    view.points = old.points;
    view.results.push_back(
        {old.results[0].tensor, s_.read(id, Scalar::real, places), std::vector<Axis>()});
    views_.emplace_back(member, std::move(view));
  }

  void add_value(Comprehension& made, const WeightedSum& sum, size_t count) {
    std::vector<Axis> columns;
    IndexTerms names = to_row(sum, columns);
    std::vector<ExprId> places;
    for (const Axis& axis : columns) places.push_back(s_.index(axis.index));
    ExprId row_max = s_.state(Op::acc, 0, Scalar::real);
    ExprId value = s_.state(Op::acc, static_cast<uint32_t>(sum.field), Scalar::real, places);
    auto in_row = [&](ExprId term) { return with_row_values(sum, names, term); };
    std::vector<ExprId> over, under;
    for (ExprId id : sum.over) over.push_back(in_row(id));
    for (ExprId id : sum.under) under.push_back(in_row(id));

    LinearForm left;
    for (const auto& [atom, coefficient] : sum.rest.coefficients)
      left.add(linear_form(s_, in_row(atom)), coefficient);
    left.constant += sum.rest.constant;
    LinearForm largest;
    largest.coefficients[row_max] = 1;
    left.add(largest, sum.rate);
    if (!left.is_zero()) {
      over.insert(over.begin(), s_.unary(sum.exponential, build(s_, left)));
    } else if (std::none_of(over.begin(), over.end(), [&](ExprId id) { return tells(id); }) &&
               std::none_of(under.begin(), under.end(), [&](ExprId id) { return tells(id); })) {
      // exp(s - m) of an infinite maximum is NaN somewhere in the row.
      value = s_.binary(Op::add, value, s_.binary(Op::sub, row_max, row_max));
    }
    over.insert(over.begin(), value);
    value = build(s_, over, under);
    values_[node(sum.node).results[0].tensor] = value;
    if (may_be_empty(made)) {
      ExprId none = s_.binary(Op::eq, s_.state(Op::acc, static_cast<uint32_t>(count), Scalar::real),
                              s_.real(0));
      value = s_.select(none, s_.real(0), value);
    }
    define(made, sum.node, value, std::move(columns));
  }

  /// True when a term is NaN where the maximum is infinite.
  bool tells(ExprId id) const {
    ExprId row_max = ExprId();
    for (ExprId term : reachable(s_, {&id, 1})) {
      const Expr& e = s_[term];
      if (e.op == Op::acc && e.ref == 0) row_max = term;
      if (e.op == Op::sub && row_max && e.operands[0] == row_max && e.operands[1] == row_max)
        return true;
    }
    return false;
  }

  /// A factor of the sum over the new node's indices, with states for reads of the group.
  ExprId with_row_values(const WeightedSum& sum, const IndexTerms& names, ExprId term) {
    return rewrite_from(s_, term, [&](ExprId original, ExprId rebuilt) {
      const Expr& e = s_[original];
      if (e.op == Op::index) {
        auto at = names.find(IndexId(e.ref));
        return at == names.end() ? rebuilt : at->second;
      }
      if (e.op != Op::read || !rows_.is_row_value(group_, sum, original)) return rebuilt;
      TensorId tensor(e.ref);
      if (group_.row.max && tensor == group_.row.tensor) return s_.state(Op::acc, 0, Scalar::real);
      return values_.at(tensor);
    });
  }

  bool may_be_empty(const Comprehension& made) {
    if (made.reduction->filter) return true;
    Prover prover(graph_);
    prover.add_axes(made.points);
    return std::any_of(
        made.reduction->axes.begin(), made.reduction->axes.end(),
        [&](const Axis& axis) { return !prover.less_equal(s_.integer(1), axis.extent); });
  }

  /// The members become views of the new node's results.
  void redirect() {
    for (auto& [member, view] : views_) {
      nodes_[member].definition = canonicalize(s_, std::move(view));
      nodes_[member].derivation.clear();
      rows_.leave(member);
    }
    views_.clear();
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  SoftmaxRows rows_;
  std::vector<Node> made_;
  bool changed_ = false;
  // Of the group that is merged:
  SoftmaxGroup group_;
  uint32_t next_index_ = 0;
  std::unordered_map<TensorId, ExprId> values_; ///< of the sums, where the row has a point
  std::vector<std::pair<size_t, Comprehension>> views_;
};

} // namespace

Graph stabilize_softmax(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    Stabilization pass(graph, nodes);
    pass.run();
    changed |= pass.changed();
  });
  // What stood between scores and sums is gone; views of the results go into their readers.
  return changed ? drop_dead_nodes(substitute_maps(drop_dead_nodes(std::move(graph))))
                 : std::move(graph);
}

} // namespace tang::rewrite
