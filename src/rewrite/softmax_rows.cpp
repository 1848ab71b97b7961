#include "rewrite/softmax_rows.h"
#include "base/check.h"
#include "graph/text.h"
#include "rewrite/columns.h"
#include "rewrite/cost.h"
#include "rewrite/factors.h"
#include "rewrite/monoids.h"
#include "rewrite/rows.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

namespace {

constexpr size_t max_searched = 256;

} // namespace

std::vector<size_t> SoftmaxGroup::members() const {
  std::vector<size_t> all;
  if (row.max) all.push_back(*row.max);
  for (const WeightedSum& sum : sums) all.push_back(sum.node);
  return all;
}

SoftmaxRows::SoftmaxRows(Graph& graph, const std::vector<Node>& nodes)
    : graph_(graph), s_(graph.exprs), nodes_(nodes), links_(graph, nodes) {}

const Comprehension& SoftmaxRows::node(size_t n) const {
  return std::get<Comprehension>(nodes_[n].definition);
}

std::optional<SoftmaxGroup> SoftmaxRows::of_max(size_t n) {
  const Reduction* r = plain_reduction(graph_, nodes_[n], Op::max);
  if (!r || s_[r->body[0]].scalar != Scalar::real) return std::nullopt;
  return collect({node(n).points, r->axes, r->filter, r->body[0], n, node(n).results[0].tensor});
}

std::optional<SoftmaxGroup> SoftmaxRows::without_max(size_t n) {
  if (!plain_reduction(graph_, nodes_[n], Op::add)) return std::nullopt;
  auto row = row_of(n);
  return row ? collect(std::move(*row)) : std::nullopt;
}

std::optional<SoftmaxGroup> SoftmaxRows::collect(SoftmaxRow row) {
  group_ = {std::move(row), {}}, maps_.clear(), others_.clear();
  std::vector<Remark> stopped;
  for (size_t candidate : candidates()) {
    why_.clear();
    if (auto sum = match(candidate))
      group_.sums.push_back(std::move(*sum));
    else if (!why_.empty() && group_.row.max)
      stopped.push_back({nodes_[candidate].span,
                         fmt::format("stabilize_softmax stops at `{}`: {}",
                                     graph_[node(candidate).results[0].tensor].name, why_)});
  }
  graph_.remarks.insert(graph_.remarks.end(), stopped.begin(), stopped.end());
  return !group_.sums.empty() && worthwhile() ? std::optional(group_) : std::nullopt;
}

/// The row of Σ exp(score), where no weight and nothing else is in the sum.
std::optional<SoftmaxRow> SoftmaxRows::row_of(size_t n) {
  const Comprehension& c = node(n);
  if (s_[c.reduction->body[0]].scalar != Scalar::real) return std::nullopt;
  group_ = {}, maps_.clear();
  for (TensorId id : links_.reads(n))
    if (auto producer = links_.producer(id); producer && plain_map(graph_, nodes_[*producer]))
      maps_.insert(*producer);
  Factors factors = factors_of(s_, c.reduction->body[0], [&](ExprId id) { return expanded(id); });
  if (factors.over.size() != 1 || !factors.under.empty()) return std::nullopt;
  const Expr e = s_[factors.over[0]];
  if (e.op != Op::exp && e.op != Op::exp2) return std::nullopt;
  ExprId filter = c.reduction->filter;
  for (ExprId condition : factors.conditions)
    filter = filter ? s_.logical_and(filter, condition) : condition;
  return SoftmaxRow{c.points, c.reduction->axes, filter, e.operands[0], {}, {}};
}

/// The sums that read the max, or what the scores are made of, themselves or through maps; notes
/// those maps.
std::vector<size_t> SoftmaxRows::candidates() {
  std::set<size_t> found, seen;
  std::vector<TensorId> open;
  if (group_.row.max) {
    seen.insert(*group_.row.max);
    open.push_back(group_.row.tensor);
  } else {
    for (ExprId id : reachable(s_, {&group_.row.score, 1}))
      if (s_[id].op == Op::read) open.push_back(TensorId(s_[id].ref));
  }
  while (!open.empty() && seen.size() < max_searched) {
    TensorId id = open.back();
    open.pop_back();
    for (size_t reader : links_.readers(id)) {
      if (!seen.insert(reader).second) continue;
      bool map = plain_map(graph_, nodes_[reader]);
      // What divides by a sum is found behind it.
      if (!map && !plain_reduction(graph_, nodes_[reader], Op::add)) {
        others_.insert(reader);
        continue;
      }
      (map ? maps_ : found).insert(reader);
      open.push_back(node(reader).results[0].tensor);
    }
  }
  return {found.begin(), found.end()};
}

/// The body of a map that depends on the max in the place of a read of it.
ExprId SoftmaxRows::expanded(ExprId read) {
  const Expr& e = s_[read];
  auto producer = links_.producer(TensorId(e.ref));
  if (e.guarded || !producer || !maps_.contains(*producer)) return read;
  const Comprehension& map = node(*producer);
  if (cost_of(s_, map.results[0].value).terms > max_body_terms) return read;
  return body_at(s_, map, read);
}

bool SoftmaxRows::uses(ExprId id, const std::vector<Axis>& axes) const {
  const auto& free = s_[id].free;
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return std::binary_search(free.begin(), free.end(), axis.index);
  });
}

std::optional<WeightedSum> SoftmaxRows::match(size_t n) {
  const Comprehension& c = node(n);
  const std::vector<Axis>& axes = c.reduction->axes;
  if (axes.size() != group_.row.axes.size()) return std::nullopt;
  Factors factors = factors_of(s_, c.reduction->body[0], [&](ExprId id) { return expanded(id); });
  for (size_t k = 0; k < factors.over.size(); ++k) {
    const Expr e = s_[factors.over[k]];
    if ((e.op != Op::exp && e.op != Op::exp2) || !uses(factors.over[k], axes)) continue;
    WeightedSum sum;
    sum.node = n, sum.exponential = e.op;
    if (!name_indices(sum, e.operands[0])) continue;
    if (!match_exponent(sum, e.operands[0])) {
      why_ = "its exponent is not a multiple of what the maximum is taken of";
      continue;
    }
    factors.over.erase(factors.over.begin() + static_cast<ptrdiff_t>(k));
    if (!same_conditions(sum, factors.conditions))
      why_ = "its filter is not that of the maximum";
    else if (!split_weights(sum, factors))
      why_ = "its other factors depend on the maximum";
    else
      return sum;
    return std::nullopt;
  }
  return std::nullopt;
}

/// An extent that the state of a row cannot have: one that no number is known of, or too many.
std::string SoftmaxRows::why_no_columns(const Comprehension& c,
                                        const std::set<IndexId>& rows) const {
  for (const Axis& axis : c.points)
    if (!rows.contains(axis.index) && !s_.as_integer(axis.extent))
      return fmt::format("the extent {} of its column `{}` is no number; `-D` or `--specialize` "
                         "makes it one",
                         to_text(graph_, axis.extent), axis.name);
  return fmt::format("its columns are more than {}", max_columns);
}

/// Which of the sum's indices the row's are: by a read in the exponent of the max, or else of a
/// tensor that the scores read.
bool SoftmaxRows::name_indices(WeightedSum& sum, ExprId exponent) {
  const Comprehension& c = node(sum.node);
  std::vector<ExprId> places;
  TensorId lead = lead_read(places);
  exponent = unfolded(exponent);
  auto terms = reachable(s_, {&exponent, 1});
  auto at = std::find_if(terms.begin(), terms.end(), [&](ExprId id) {
    return s_[id].op == Op::read && s_[id].ref == lead.value;
  });
  if (!lead || at == terms.end()) return false;
  for (size_t k = 0; k < places.size(); ++k) {
    if (s_[places[k]].op != Op::index) continue;
    auto [name, fresh] = sum.from_row.try_emplace(IndexId(s_[places[k]].ref), s_[*at].operands[k]);
    if (!fresh && name->second != s_[*at].operands[k]) return false;
  }
  std::set<IndexId> taken;
  for (const Axis& point : group_.row.points) {
    auto place = sum.from_row.find(point.index);
    if (place == sum.from_row.end()) return false;
    const Expr& e = s_[place->second];
    auto axis = std::find_if(c.points.begin(), c.points.end(), [&](const Axis& a) {
      return e.op == Op::index && IndexId(e.ref) == a.index;
    });
    if (axis == c.points.end() || !taken.insert(axis->index).second ||
        !same_extent(s_, axis->extent, point.extent))
      return false;
  }
  for (size_t k = 0; k < group_.row.axes.size(); ++k) {
    const Axis &mine = c.reduction->axes[k], &theirs = group_.row.axes[k];
    if (!same_extent(s_, mine.extent, theirs.extent)) return false;
    sum.from_row[theirs.index] = s_.index(mine.index);
  }
  auto columns = columns_of(s_, c.points, {taken.begin(), taken.end()});
  if (!columns) {
    why_ = why_no_columns(c, taken);
    return false;
  }
  sum.columns = std::move(*columns);
  return true;
}

/// The tensor by whose reads indices are named, and its places in the row's own terms.
TensorId SoftmaxRows::lead_read(std::vector<ExprId>& places) const {
  if (group_.row.max) {
    for (const Axis& axis : group_.row.points) places.push_back(s_.index(axis.index));
    return group_.row.tensor;
  }
  for (ExprId id : reachable(s_, {&group_.row.score, 1}))
    if (s_[id].op == Op::read && uses(id, group_.row.axes)) {
      places.assign(s_[id].operands.begin(), s_[id].operands.end());
      return TensorId(s_[id].ref);
    }
  return {};
}

/// A term with the maps that depend on the max put in.
ExprId SoftmaxRows::unfolded(ExprId term) {
  return rewrite::unfolded(s_, term, [&](ExprId id) { return expanded(id); });
}

/// exponent = rate * score + rest with a rate > 0 and a rest that is the same along the row.
bool SoftmaxRows::match_exponent(WeightedSum& sum, ExprId exponent) {
  const Comprehension& c = node(sum.node);
  LinearForm wanted = linear_form(s_, unfolded(exponent));
  LinearForm score = linear_form(s_, substitute(s_, group_.row.score, sum.from_row));
  auto varies = [&](const auto& part) { return uses(part.first, c.reduction->axes); };
  auto lead = std::find_if(score.coefficients.begin(), score.coefficients.end(), varies);
  if (lead == score.coefficients.end()) return false;
  auto same = wanted.coefficients.find(lead->first);
  if (same == wanted.coefficients.end()) return false;
  sum.rate = same->second / lead->second;
  if (!(sum.rate > 0) || !std::isfinite(sum.rate)) return false;
  sum.rest = wanted;
  sum.rest.add(score, -sum.rate);
  // Rounding of the coefficients themselves may leave a trace where nothing is meant to be left.
  for (const auto& [atom, coefficient] : score.coefficients)
    if (auto left = sum.rest.coefficients.find(atom);
        left != sum.rest.coefficients.end() &&
        std::abs(left->second) <= 1e-12 * std::abs(sum.rate * coefficient))
      sum.rest.coefficients.erase(left);
  return std::none_of(
      sum.rest.coefficients.begin(), sum.rest.coefficients.end(),
      [&](const auto& part) { return varies(part) || uses(part.first, sum.columns); });
}

bool SoftmaxRows::same_conditions(const WeightedSum& sum, const std::vector<ExprId>& more) {
  std::set<ExprId> mine, theirs;
  for (ExprId id : conjuncts(s_, node(sum.node).reduction->filter)) mine.insert(id);
  for (ExprId condition : more)
    for (ExprId id : conjuncts(s_, condition)) mine.insert(id);
  for (ExprId id : conjuncts(s_, substitute(s_, group_.row.filter, sum.from_row)))
    theirs.insert(id);
  return mine == theirs;
}

bool SoftmaxRows::split_weights(WeightedSum& sum, const Factors& factors) {
  const auto& axes = node(sum.node).reduction->axes;
  std::vector<ExprId> over, under;
  for (ExprId id : factors.over)
    uses(id, axes) ? over.push_back(id) : sum.over.push_back(unfolded(id));
  for (ExprId id : factors.under)
    uses(id, axes) ? under.push_back(id) : sum.under.push_back(unfolded(id));
  sum.weight = build(s_, over, under);
  if (depends_on_row({sum.weight})) return false;
  for (const auto* list : {&sum.over, &sum.under})
    for (ExprId id : *list)
      for (ExprId term : reachable(s_, {&id, 1}))
        if (s_[term].op == Op::read && !is_row_value(group_, sum, term) && depends_on_row({term}))
          return false;
  return true;
}

bool SoftmaxRows::is_row_value(const SoftmaxGroup& group, const WeightedSum& sum,
                               ExprId read) const {
  const Expr& e = s_[read];
  TensorId tensor(e.ref);
  const SoftmaxRow& row = group.row;
  if (row.max && tensor == row.tensor) {
    for (size_t k = 0; k < e.operands.size(); ++k)
      if (e.operands[k] != sum.from_row.at(row.points[k].index)) return false;
    return true;
  }
  auto other = std::find_if(group.sums.begin(), group.sums.end(), [&](const WeightedSum& s) {
    return node(s.node).results[0].tensor == tensor && s.columns.empty();
  });
  if (other == group.sums.end()) return false;
  for (const Axis& point : row.points) {
    // The other sum's point for this row, and where it stands among its points.
    ExprId theirs = other->from_row.at(point.index), mine = sum.from_row.at(point.index);
    const auto& points = node(other->node).points;
    auto at = std::find_if(points.begin(), points.end(),
                           [&](const Axis& a) { return s_[theirs].ref == a.index.value; });
    if (e.operands[static_cast<size_t>(at - points.begin())] != mine) return false;
  }
  return true;
}

/// True when a term reads what needs the max or a sum of the group.
bool SoftmaxRows::depends_on_row(const std::vector<ExprId>& terms) {
  size_t first = group_.row.max        ? *group_.row.max
                 : group_.sums.empty() ? nodes_.size()
                                       : group_.sums.front().node;
  auto in_group = [&](size_t n) {
    return (group_.row.max && n == *group_.row.max) || gone_.contains(n) ||
           std::any_of(group_.sums.begin(), group_.sums.end(),
                       [&](const WeightedSum& s) { return s.node == n; });
  };
  std::vector<size_t> open;
  std::set<size_t> seen;
  auto follow = [&](TensorId id) {
    auto producer = links_.producer(id);
    if (producer && *producer >= first && seen.insert(*producer).second) open.push_back(*producer);
  };
  for (ExprId id : reachable(s_, terms))
    if (s_[id].op == Op::read) follow(TensorId(s_[id].ref));
  while (!open.empty()) {
    size_t n = open.back();
    open.pop_back();
    if (in_group(n)) return true;
    for (TensorId id : links_.reads(n)) follow(id);
  }
  return false;
}

bool SoftmaxRows::worthwhile() {
  bool columns = std::any_of(group_.sums.begin(), group_.sums.end(),
                             [](const WeightedSum& sum) { return !sum.columns.empty(); });
  if (columns) return group_.sums.size() > 1 || group_.row.max;
  if (!group_.row.max) return false;
  for (const Axis& axis : group_.row.axes)
    if (auto extent = s_.as_integer(axis.extent); extent && *extent > max_held_row) return true;
  // A map over the elements passes over the row again; a row held in registers serves it too.
  auto passes_again = [&](size_t n) {
    const auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
    return c && !c->reduction && c->points.size() > group_.row.points.size();
  };
  bool again = scores_are_computed_again();
  std::set<size_t> dependents = element_dependents();
  return std::none_of(dependents.begin(), dependents.end(), [&](size_t n) {
    return passes_again(n) && (others_.contains(n) || !only_summed(n, again));
  });
}

/// What needs the maximum or the group's sums with no sum between.
std::set<size_t> SoftmaxRows::element_dependents() const {
  std::set<size_t> found;
  std::vector<TensorId> open{group_.row.tensor};
  for (const WeightedSum& sum : group_.sums) open.push_back(node(sum.node).results[0].tensor);
  while (!open.empty()) {
    TensorId id = open.back();
    open.pop_back();
    for (size_t reader : links_.readers(id))
      if ((maps_.contains(reader) || others_.contains(reader)) && found.insert(reader).second &&
          maps_.contains(reader))
        open.push_back(node(reader).results[0].tensor);
  }
  return found;
}

/// Scores that are short contractions are not stored (nest_contractions): whoever needs elements
/// computes them, and so does each pass over a row.
bool SoftmaxRows::scores_are_computed_again() const {
  std::vector<size_t> open;
  std::set<size_t> seen;
  auto follow = [&](TensorId id) {
    auto producer = links_.producer(id);
    if (producer && seen.size() < max_searched && seen.insert(*producer).second)
      open.push_back(*producer);
  };
  for (ExprId id : reachable(s_, {&group_.row.score, 1}))
    if (s_[id].op == Op::read) follow(TensorId(s_[id].ref));
  while (!open.empty()) {
    size_t n = open.back();
    open.pop_back();
    if (is_short_contraction(graph_, nodes_[n], max_repeated)) return true;
    if (plain_map(graph_, nodes_[n]))
      for (TensorId id : links_.reads(n)) follow(id);
  }
  return false;
}

/// True when all that reads a map is sums of this group, directly or through maps; with
/// `or_reduced`, or other reductions.
bool SoftmaxRows::only_summed(size_t n, bool or_reduced) {
  std::vector<size_t> open{n};
  std::set<size_t> seen{n};
  while (!open.empty()) {
    size_t at = open.back();
    open.pop_back();
    const auto& readers = links_.readers(node(at).results[0].tensor);
    if (readers.empty()) return false;
    for (size_t reader : readers) {
      bool sum = std::any_of(group_.sums.begin(), group_.sums.end(),
                             [&](const WeightedSum& s) { return s.node == reader; });
      const auto* c = std::get_if<Comprehension>(&nodes_[reader].definition);
      bool reduces = or_reduced && c && c->reduction && !c->scan;
      if (sum || reduces || !seen.insert(reader).second) continue;
      if (!maps_.contains(reader)) return false;
      open.push_back(reader);
    }
  }
  return true;
}

} // namespace tang::rewrite
