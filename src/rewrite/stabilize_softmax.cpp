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
#include "rewrite/cost.h"
#include "rewrite/factors.h"
#include "rewrite/linear_form.h"
#include "rewrite/links.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include "rewrite/rows.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace tang::rewrite {
using namespace graph;

namespace {

using Names = std::unordered_map<IndexId, ExprId>;

/// The scores along a row, and their maximum where the program has it.
struct Row {
  std::vector<Axis> points, axes;
  ExprId filter, score;
  std::optional<size_t> max; ///< the node
  TensorId tensor;           ///< the max; empty where there is none
};

/// Σ exp(rate * score + rest) * weight, times what the reduction leaves alone.
struct Sum {
  size_t node;
  Op exponential;                  ///< exp or exp2
  double rate;                     ///< > 0
  LinearForm rest;                 ///< of the exponent, over the sum's points
  ExprId weight;                   ///< over points, reduce axes and columns
  std::vector<ExprId> over, under; ///< factors without a reduce index
  std::vector<Axis> columns;       ///< point axes that the scores do not use
  Names from_row;                  ///< indices of the row in terms of the sum's
  size_t field = 0;
};

class Stabilization {
public:
  Stabilization(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), links_(graph, nodes) {}

  void run() {
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (const Reduction* r = plain_reduction(graph_, nodes_[n], Op::max);
          r && s_[r->body[0]].scalar == Scalar::real)
        visit({node(n).points, r->axes, r->filter, r->body[0], n, node(n).results[0].tensor});
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (plain_reduction(graph_, nodes_[n], Op::add))
        if (auto row = row_without_max(n)) visit(std::move(*row));
    if (made_.empty()) return;
    for (Node& node : made_) nodes_.push_back(std::move(node));
    sort_nodes(graph_, nodes_);
  }

  bool changed() const { return changed_; }

private:
  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(nodes_[n].definition);
  }

  // ---- finding the sums of a row

  void visit(Row row) {
    row_ = std::move(row), maps_.clear(), others_.clear(), sums_.clear();
    for (size_t candidate : candidates())
      if (auto sum = match(candidate)) sums_.push_back(std::move(*sum));
    if (sums_.empty() || !worthwhile()) return;
    combine();
  }

  /// The row of Σ exp(score), where no weight and nothing else is in the sum.
  std::optional<Row> row_without_max(size_t n) {
    const Comprehension& c = node(n);
    if (s_[c.reduction->body[0]].scalar != Scalar::real) return std::nullopt;
    row_ = Row{}, maps_.clear();
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
    return Row{c.points, c.reduction->axes, filter, e.operands[0], {}, {}};
  }

  /// The sums that read the max, or what the scores are made of, themselves or through maps; notes
  /// those maps.
  std::vector<size_t> candidates() {
    std::set<size_t> found, seen;
    std::vector<TensorId> open;
    if (row_.max) {
      seen.insert(*row_.max);
      open.push_back(row_.tensor);
    } else {
      for (ExprId id : reachable(s_, {&row_.score, 1}))
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
  ExprId expanded(ExprId read) {
    const Expr& e = s_[read];
    auto producer = links_.producer(TensorId(e.ref));
    if (e.guarded || !producer || !maps_.contains(*producer)) return read;
    const Comprehension& map = node(*producer);
    if (cost_of(s_, map.results[0].value).terms > max_body_terms) return read;
    return body_at(s_, map, read);
  }

  bool uses(ExprId id, const std::vector<Axis>& axes) const {
    const auto& free = s_[id].free;
    return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
      return std::binary_search(free.begin(), free.end(), axis.index);
    });
  }

  std::optional<Sum> match(size_t n) {
    const Comprehension& c = node(n);
    const std::vector<Axis>& axes = c.reduction->axes;
    if (axes.size() != row_.axes.size()) return std::nullopt;
    Factors factors = factors_of(s_, c.reduction->body[0], [&](ExprId id) { return expanded(id); });
    for (size_t k = 0; k < factors.over.size(); ++k) {
      const Expr e = s_[factors.over[k]];
      if ((e.op != Op::exp && e.op != Op::exp2) || !uses(factors.over[k], axes)) continue;
      Sum sum;
      sum.node = n, sum.exponential = e.op;
      if (!name_indices(sum, e.operands[0]) || !match_exponent(sum, e.operands[0])) continue;
      factors.over.erase(factors.over.begin() + static_cast<ptrdiff_t>(k));
      if (!same_conditions(sum, factors.conditions) || !split_weights(sum, factors))
        return std::nullopt;
      return sum;
    }
    return std::nullopt;
  }

  /// Which of the sum's indices the row's are: by a read in the exponent of the max, or else of a
  /// tensor that the scores read.
  bool name_indices(Sum& sum, ExprId exponent) {
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
      auto [name, fresh] =
          sum.from_row.try_emplace(IndexId(s_[places[k]].ref), s_[*at].operands[k]);
      if (!fresh && name->second != s_[*at].operands[k]) return false;
    }
    std::set<IndexId> taken;
    for (const Axis& point : row_.points) {
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
    for (size_t k = 0; k < row_.axes.size(); ++k) {
      const Axis &mine = c.reduction->axes[k], &theirs = row_.axes[k];
      if (!same_extent(s_, mine.extent, theirs.extent)) return false;
      sum.from_row[theirs.index] = s_.index(mine.index);
    }
    auto columns = columns_of(s_, c.points, {taken.begin(), taken.end()});
    if (!columns) return false;
    sum.columns = std::move(*columns);
    return true;
  }

  /// The tensor by whose reads indices are named, and its places in the row's own terms.
  TensorId lead_read(std::vector<ExprId>& places) const {
    if (row_.max) {
      for (const Axis& axis : row_.points) places.push_back(s_.index(axis.index));
      return row_.tensor;
    }
    for (ExprId id : reachable(s_, {&row_.score, 1}))
      if (s_[id].op == Op::read && uses(id, row_.axes)) {
        places = s_[id].operands;
        return TensorId(s_[id].ref);
      }
    return {};
  }

  /// A term with the maps that depend on the max put in.
  ExprId unfolded(ExprId term) {
    for (size_t round = 0; round < max_expansions; ++round) {
      ExprId next = graph::rewrite(
          s_, term, [&](ExprId id) { return s_[id].op == Op::read ? expanded(id) : id; });
      if (next == term) break;
      term = next;
    }
    return term;
  }

  /// exponent = rate * score + rest with a rate > 0 and a rest that is the same along the row.
  bool match_exponent(Sum& sum, ExprId exponent) {
    const Comprehension& c = node(sum.node);
    LinearForm wanted = linear_form(s_, unfolded(exponent));
    LinearForm score = linear_form(s_, substitute(s_, row_.score, sum.from_row));
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

  bool same_conditions(const Sum& sum, const std::vector<ExprId>& more) {
    std::set<ExprId> mine, theirs;
    for (ExprId id : conjuncts(s_, node(sum.node).reduction->filter)) mine.insert(id);
    for (ExprId condition : more)
      for (ExprId id : conjuncts(s_, condition)) mine.insert(id);
    for (ExprId id : conjuncts(s_, substitute(s_, row_.filter, sum.from_row))) theirs.insert(id);
    return mine == theirs;
  }

  bool split_weights(Sum& sum, const Factors& factors) {
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
          if (s_[term].op == Op::read && !is_row_value(sum, term) && depends_on_row({term}))
            return false;
    return true;
  }

  /// A read of the max or of an earlier sum of this group, without columns, at the sum's own row.
  const Sum* row_sum(TensorId tensor) const {
    auto at = std::find_if(sums_.begin(), sums_.end(), [&](const Sum& sum) {
      return node(sum.node).results[0].tensor == tensor && sum.columns.empty();
    });
    return at == sums_.end() ? nullptr : &*at;
  }
  bool is_row_value(const Sum& sum, ExprId read) const {
    const Expr& e = s_[read];
    TensorId tensor(e.ref);
    if (row_.max && tensor == row_.tensor) {
      for (size_t k = 0; k < e.operands.size(); ++k)
        if (e.operands[k] != sum.from_row.at(row_.points[k].index)) return false;
      return true;
    }
    const Sum* other = row_sum(tensor);
    if (!other) return false;
    for (const Axis& point : row_.points) {
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
  bool depends_on_row(std::vector<ExprId> terms) {
    size_t first = row_.max ? *row_.max : sums_.empty() ? nodes_.size() : sums_.front().node;
    auto in_group = [&](size_t n) {
      return (row_.max && n == *row_.max) || gone_.contains(n) ||
             std::any_of(sums_.begin(), sums_.end(), [&](const Sum& s) { return s.node == n; });
    };
    std::vector<size_t> open;
    std::set<size_t> seen;
    auto follow = [&](TensorId id) {
      auto producer = links_.producer(id);
      if (producer && *producer >= first && seen.insert(*producer).second)
        open.push_back(*producer);
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

  // ---- deciding

  bool worthwhile() {
    bool columns = std::any_of(sums_.begin(), sums_.end(),
                               [](const Sum& sum) { return !sum.columns.empty(); });
    if (columns) return sums_.size() > 1 || row_.max;
    if (!row_.max) return false;
    for (const Axis& axis : row_.axes)
      if (auto extent = s_.as_integer(axis.extent); extent && *extent > max_held_row) return true;
    // A map over the elements passes over the row again; a row held in registers serves it too.
    auto passes_again = [&](size_t n) {
      const auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
      return c && !c->reduction && c->points.size() > row_.points.size();
    };
    return std::none_of(others_.begin(), others_.end(), passes_again) &&
           std::none_of(maps_.begin(), maps_.end(),
                        [&](size_t n) { return passes_again(n) && !only_summed(n); });
  }

  /// True when all that reads a map is sums of this group, directly or through maps.
  bool only_summed(size_t n) {
    std::vector<size_t> open{n};
    std::set<size_t> seen{n};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      const auto& readers = links_.readers(node(at).results[0].tensor);
      if (readers.empty()) return false;
      for (size_t reader : readers) {
        bool sum =
            std::any_of(sums_.begin(), sums_.end(), [&](const Sum& s) { return s.node == reader; });
        if (sum || !seen.insert(reader).second) continue;
        if (!maps_.contains(reader)) return false;
        open.push_back(reader);
      }
    }
    return true;
  }

  // ---- building

  void combine() {
    Comprehension made;
    made.points = row_points();
    made.reduction = Reduction{};
    Reduction& r = *made.reduction;
    r.axes = row_.axes, r.filter = row_.filter;
    next_index_ = first_fresh();
    size_t count = count_field();
    r.monoid = monoid(count);
    add_bodies(r, count);
    values_.clear();
    ExprId row_max = s_.state(Op::acc, 0, Scalar::real);
    std::vector<std::string> derivation, names;
    if (row_.max) define(made, *row_.max, row_max, {});
    for (const Sum& sum : sums_) add_value(made, sum, count);
    for (size_t n : members()) {
      derivation.insert(derivation.end(), nodes_[n].derivation.begin(), nodes_[n].derivation.end());
      names.push_back(fmt::format("`{}`", graph_[node(n).results[0].tensor].name));
    }
    derivation.push_back(
        fmt::format("stabilize_softmax: {} are one pass over {}, rescaled where the maximum grows",
                    fmt::join(names, ", "), fmt::join(axis_names(row_.axes), ", ")));
    Node result{settle(graph_, std::move(made)), nodes_[members().front()].span,
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

  std::vector<size_t> members() const {
    std::vector<size_t> all;
    if (row_.max) all.push_back(*row_.max);
    for (const Sum& sum : sums_) all.push_back(sum.node);
    return all;
  }

  uint32_t first_fresh() const {
    uint32_t next = 0;
    for (const auto* axes : {&row_.points, &row_.axes})
      for (const Axis& axis : *axes) next = std::max(next, axis.index.value + 1);
    for (ExprId root : {row_.score, row_.filter})
      if (root)
        for (ExprId id : reachable(s_, {&root, 1}))
          for (IndexId bound : s_[id].bound) next = std::max(next, bound.value + 1);
    return next;
  }

  /// The row's points in the order of the sum with the most columns, so that its result is written
  /// as it is laid out.
  std::vector<Axis> row_points() const {
    const Sum& widest =
        *std::max_element(sums_.begin(), sums_.end(), [](const Sum& a, const Sum& b) {
          return a.columns.size() < b.columns.size();
        });
    std::vector<Axis> points;
    for (const Axis& axis : node(widest.node).points)
      for (const Axis& point : row_.points)
        if (s_[widest.from_row.at(point.index)].ref == axis.index.value) points.push_back(point);
    return points;
  }

  /// The field that counts, in units of the largest element: a sum with weight 1, or one more.
  size_t count_field() {
    size_t fields = 1, count = 0;
    for (Sum& sum : sums_) {
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
    for (const Sum& sum : sums_)
      add(sum.field == count ? "l" : fmt::format("a{}", sum.field), sum.exponential, sum.rate,
          sum.columns);
    if (count == m.fields.size()) add("l", Op::exp, 1, {});
    for (uint32_t f = 0; f < m.fields.size(); ++f) m.visible.push_back(f);
    return graph_.add(std::move(m));
  }

  /// The sum's indices in terms of the row's, its columns by fresh names.
  Names to_row(const Sum& sum, std::vector<Axis>& columns) {
    Names names;
    for (const auto& [theirs, mine] : sum.from_row) names[IndexId(s_[mine].ref)] = s_.index(theirs);
    columns = renamed(s_, sum.columns, next_index_, names);
    return names;
  }

  void add_bodies(Reduction& r, size_t count) {
    r.body.push_back(row_.score);
    r.field_axes.emplace_back();
    for (const Sum& sum : sums_) {
      std::vector<Axis> columns;
      Names names = to_row(sum, columns);
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
    if (member == row_.max) {
      for (const Axis& axis : made.points) places.push_back(s_.index(axis.index));
    } else {
      const Sum& sum =
          *std::find_if(sums_.begin(), sums_.end(), [&](const Sum& s) { return s.node == member; });
      for (const Axis& axis : made.points) places.push_back(sum.from_row.at(axis.index));
      for (const Axis& axis : sum.columns) places.push_back(s_.index(axis.index));
    }
    Comprehension view;
    view.points = old.points;
    view.results.push_back(
        {old.results[0].tensor, s_.read(id, Scalar::real, places), std::vector<Axis>()});
    views_.emplace_back(member, std::move(view));
  }

  void add_value(Comprehension& made, const Sum& sum, size_t count) {
    std::vector<Axis> columns;
    Names names = to_row(sum, columns);
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
  ExprId with_row_values(const Sum& sum, const Names& names, ExprId term) {
    return rewrite_from(s_, term, [&](ExprId original, ExprId rebuilt) {
      const Expr& e = s_[original];
      if (e.op == Op::index) {
        auto at = names.find(IndexId(e.ref));
        return at == names.end() ? rebuilt : at->second;
      }
      if (e.op != Op::read || !is_row_value(sum, original)) return rebuilt;
      TensorId tensor(e.ref);
      if (row_.max && tensor == row_.tensor) return s_.state(Op::acc, 0, Scalar::real);
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
      gone_.insert(member);
    }
    views_.clear();
  }

  static constexpr size_t max_searched = 256, max_expansions = 16;

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  Links links_;
  std::vector<Node> made_;
  std::set<size_t> gone_; ///< members of groups, now views
  bool changed_ = false;
  // Of the row that is visited:
  Row row_;
  std::set<size_t> maps_;   ///< that depend on the row
  std::set<size_t> others_; ///< what else reads it: neither plain maps nor sums
  std::vector<Sum> sums_;
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
