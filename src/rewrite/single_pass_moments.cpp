// single_pass_moments: the mean of a row and what is summed around it are one pass.
//
//   s[p] = Σ[j | c] w x(p, j),   v[p] = Σ[j | c] w (x(p, j) - e(s[p]))²
//                                                  =>
//   (n, µ, m) = ⊕[j | c] (w, x, 0),   s = n µ,   v = m + n (µ - e)²
//
// under the monoid of central moments (moments.h), with which parts of a row are joined without the
// cancellation of Σ x² - (Σ x)² / n. Where `e` is the mean itself, s / n, nothing is left of the
// last term. The same for products around several means (covariances), other powers up to
// `max_degree`, weights `w`, and further factors: Σ w (x - e) y. Factors that are the same along
// the row stand outside the sum. A sum that `e` needs besides s, such as a count under a filter,
// becomes part of the state as well.
//
// Variables are compared as linear forms, after putting the bodies of maps that depend on the row's
// sums in their places; `where(c, x, 0)` counts as the filter `c`. Side conditions: equal
// conditions; `e` depends on a sum of x over the same row; nothing else under the sum depends on
// the row's sums. The law fires where it saves a pass (rows.h). Sources: see moments.h.
#include "base/check.h"
#include "rewrite/blocks.h"
#include "rewrite/columns.h"
#include "rewrite/factors.h"
#include "rewrite/moment_row.h"
#include "rewrite/moments.h"
#include "rewrite/passes.h"
#include "rewrite/rows.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace tang::rewrite {
using namespace graph;

namespace {

constexpr size_t max_fields = 16;

class MomentPass {
public:
  MomentPass(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), links_(graph, nodes) {}

  void run() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (gone_.contains(n) || !is_real_sum(graph_, nodes_[n])) continue;
      auto row = moment_row(graph_, nodes_, links_, gone_, n);
      if (!row) continue;
      row_ = std::move(*row), values_.clear();
      if (saves_pass()) combine();
    }
    if (made_.empty()) return;
    for (Node& node : made_) nodes_.push_back(std::move(node));
    sort_nodes(graph_, nodes_);
  }

  bool changed() const { return !gone_.empty(); }

private:
  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(nodes_[n].definition);
  }
  TensorId tensor_of(size_t n) const { return node(n).results[0].tensor; }
  std::optional<size_t> sum_of(ExprId read) const { return row_.sum_of(graph_, nodes_, read); }

  bool saves_pass() const {
    std::set<size_t> group;
    for (const MomentSum& sum : row_.sums) group.insert(sum.node);
    return !held_for_elements(graph_, nodes_, links_, group);
  }

  void combine() {
    Moments moments(s_);
    for (const MomentSum& member : row_.sums)
      for (const Centred& factor : member.factors)
        moments.variable(factor.variable, weight_number(moments, factor.centre));
    for (const MomentSum& member : row_.sums) {
      Degrees degrees;
      for (const Centred& factor : member.factors) {
        size_t v = variable_number(moments, factor);
        if (degrees.size() <= v) degrees.resize(v + 1, 0);
        ++degrees[v];
      }
      moments.need(moments.weight(member.weight), degrees);
    }
    ones_ = moments.weight(s_.real(1));
    if (may_be_empty()) moments.need(ones_, {});
    if (moments.fields() > max_fields) return;
    Comprehension made;
    made.points = row_.points;
    made.reduction = Reduction{};
    Reduction& r = *made.reduction;
    r.axes = row_.axes, r.monoid = graph_.add(moments.monoid()), r.body = moments.body();
    r.field_axes.resize(r.body.size());
    r.filter = row_.filter;
    std::vector<std::string> derivation, names, along;
    for (size_t m : in_order()) {
      const MomentSum& member = row_.sums[m];
      values_[tensor_of(member.node)] = value_of(moments, member);
      define(made, member);
      Node& old = nodes_[member.node];
      derivation.insert(derivation.end(), old.derivation.begin(), old.derivation.end());
      names.push_back(fmt::format("`{}`", graph_[tensor_of(member.node)].name));
    }
    for (const Axis& axis : row_.axes) along.push_back(axis.name);
    derivation.push_back(fmt::format(
        "single_pass_moments: {} are one pass over {}, parts joined by their counts and means",
        fmt::join(names, ", "), fmt::join(along, ", ")));
    Span span = nodes_[row_.sums[0].node].span;
    for (size_t k = 0; k < views_.size(); ++k) {
      auto& [n, view] = views_[k];
      nodes_[n].definition = canonicalize(s_, std::move(view));
      nodes_[n].derivation.clear();
      gone_.insert(n);
    }
    views_.clear();
    made_.push_back({settle(graph_, std::move(made)), span, std::move(derivation)});
  }

  /// Members by position of their nodes: a sum reads only earlier ones.
  std::vector<size_t> in_order() const {
    std::vector<size_t> order(row_.sums.size());
    for (size_t m = 0; m < order.size(); ++m) order[m] = m;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return row_.sums[a].node < row_.sums[b].node; });
    return order;
  }

  size_t weight_number(Moments& moments, size_t centre) const {
    return moments.weight(row_.sums[centre].weight);
  }
  size_t variable_number(Moments& moments, const Centred& factor) const {
    return moments.variable(factor.variable, weight_number(moments, factor.centre));
  }

  /// The member from the final state: its product of (x - µ) + (µ - shift), multiplied out.
  ExprId value_of(Moments& moments, const MomentSum& member) {
    std::map<Degrees, ExprId> sum{{Degrees{}, s_.real(1)}};
    auto add = [&](std::map<Degrees, ExprId>& to, const Degrees& degrees, ExprId term) {
      auto [at, fresh] = to.try_emplace(degrees, term);
      if (!fresh) at->second = s_.binary(Op::add, at->second, term);
    };
    for (const Centred& factor : member.factors) {
      size_t v = variable_number(moments, factor);
      ExprId apart = distance(moments, factor);
      std::map<Degrees, ExprId> next;
      for (const auto& [degrees, coefficient] : sum) {
        Degrees higher = degrees;
        if (higher.size() <= v) higher.resize(v + 1, 0);
        ++higher[v];
        add(next, higher, coefficient);
        if (apart) add(next, degrees, s_.binary(Op::mul, coefficient, apart));
      }
      sum = std::move(next);
    }
    size_t w = moments.weight(member.weight);
    ExprId value;
    // The highest moment first.
    for (auto at = sum.rbegin(); at != sum.rend(); ++at) {
      ExprId moment = moments.moment(w, at->first);
      if (!moment) continue;
      ExprId term = s_.binary(Op::mul, at->second, moment);
      value = value ? s_.binary(Op::add, value, term) : term;
    }
    if (!value) value = s_.real(0);
    std::vector<ExprId> over{s_.real(member.scale), value}, under;
    for (ExprId id : member.over) over.push_back(with_values(id));
    for (ExprId id : member.under) under.push_back(with_values(id));
    value = build(s_, over, under);
    if (!may_be_empty() || !needs_row_value(member)) return value;
    // Without a point the sum is 0, whatever its terms would divide by.
    ExprId none = s_.binary(Op::eq, moments.moment(ones_, {}), s_.real(0));
    return s_.select(none, s_.real(0), value);
  }

  bool needs_row_value(const MomentSum& member) {
    return !member.over.empty() || !member.under.empty() ||
           std::any_of(member.factors.begin(), member.factors.end(), [&](const Centred& factor) {
             return !factor.shift.is_zero() && !is_mean(factor);
           });
  }

  bool may_be_empty() const {
    if (row_.filter) return true;
    Prover prover(graph_);
    prover.add_axes(row_.points);
    return std::any_of(row_.axes.begin(), row_.axes.end(), [&](const Axis& axis) {
      return !prover.less_equal(s_.integer(1), axis.extent);
    });
  }

  /// µ - shift; empty where it is 0.
  ExprId distance(Moments& moments, const Centred& factor) {
    if (is_mean(factor)) return {};
    ExprId mean = moments.mean(variable_number(moments, factor));
    if (factor.shift.is_zero()) return mean;
    return s_.binary(Op::sub, mean, with_values(build(s_, factor.shift)));
  }

  /// True when the shift is the sum of the variable over the number of points, as the program
  /// counts them.
  bool is_mean(const Centred& factor) {
    const MomentSum& centre = row_.sums[factor.centre];
    const auto& terms = factor.shift.coefficients;
    if (!is_one(centre.weight) || factor.shift.constant != 0 || terms.size() != 1) return false;
    double scale = terms.begin()->second * centre.scale;
    Factors factors = factors_of(s_, terms.begin()->first);
    auto take = [&](std::vector<ExprId>& list, auto&& wanted) {
      auto at = std::find_if(list.begin(), list.end(), wanted);
      if (at == list.end()) return false;
      list.erase(at);
      return true;
    };
    bool sum = take(factors.over, [&](ExprId id) { return sum_of(id) == factor.centre; });
    bool divided = take(factors.under, [&](ExprId id) { return counts(id); });
    for (ExprId id : factors.over)
      if (s_[id].op == Op::literal_real)
        scale *= s_[id].real;
      else
        return false;
    if (!sum || !factors.under.empty()) return false;
    auto number = number_of_points();
    auto count = number ? s_.as_integer(*number) : std::nullopt;
    if (!divided && !count) return false;
    return std::abs((divided ? scale : scale * static_cast<double>(*count)) - 1) <= 1e-12;
  }

  bool is_one(ExprId id) const { return s_[id].op == Op::literal_real && s_[id].real == 1; }

  /// True when a term is the number of points of the row.
  bool counts(ExprId id) {
    const Expr e = s_[id]; // a copy: terms are made below
    if (e.op == Op::read) {
      auto m = sum_of(id);
      return m && row_.sums[*m].factors.empty() && is_one(row_.sums[*m].weight) &&
             row_.sums[*m].over.empty() && row_.sums[*m].under.empty();
    }
    auto number = number_of_points();
    return e.op == Op::to_real && number && same_extent(s_, e.operands[0], *number);
  }

  std::optional<ExprId> number_of_points() {
    Comprehension row;
    row.points = row_.points;
    row.reduction = Reduction{};
    row.reduction->axes = row_.axes;
    row.reduction->filter = row_.filter;
    return point_count(graph_, row);
  }

  /// A term of the row with states for reads of the group.
  ExprId with_values(ExprId term) {
    return rewrite_from(s_, term, [&](ExprId original, ExprId rebuilt) {
      auto m = sum_of(original);
      return m ? values_.at(tensor_of(row_.sums[*m].node)) : rebuilt;
    });
  }

  /// Adds a result that holds what the member defines; the old tensor becomes a view of it.
  void define(Comprehension& made, const MomentSum& member) {
    TensorId old = tensor_of(member.node);
    TensorId id = tensor_over(graph_, old, made.points, {});
    made.results.push_back({id, values_.at(old), {}});
    Comprehension view;
    view.points = node(member.node).points;
    std::vector<ExprId> places(row_.points.size());
    for (size_t k = 0; k < row_.points.size(); ++k) {
      auto at =
          std::find(member.places.begin(), member.places.end(), s_.index(row_.points[k].index));
      places[k] = s_.index(view.points[static_cast<size_t>(at - member.places.begin())].index);
    }
    view.results.push_back({old, s_.read(id, Scalar::real, places), {}});
    views_.emplace_back(member.node, std::move(view));
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  Links links_;
  std::vector<Node> made_;
  std::set<size_t> gone_; ///< members of groups, now views
  // Of the row that is visited:
  MomentRow row_;
  std::unordered_map<TensorId, ExprId> values_;
  std::vector<std::pair<size_t, Comprehension>> views_;
  size_t ones_ = 0; ///< the weight 1: its moment of degree 0 counts
};

} // namespace

Graph single_pass_moments(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    MomentPass pass(graph, nodes);
    pass.run();
    changed |= pass.changed();
  });
  // What stood between the sums is gone; views of the results go into their readers.
  return changed ? drop_dead_nodes(substitute_maps(drop_dead_nodes(std::move(graph))))
                 : std::move(graph);
}

} // namespace tang::rewrite
