#include "rewrite/moment_row.h"
#include "rewrite/cost.h"
#include "rewrite/factors.h"
#include "rewrite/monoids.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

constexpr size_t max_searched = 256;

class Finder {
public:
  Finder(Graph& graph, const std::vector<Node>& nodes, const Links& links,
         const std::set<size_t>& gone)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), links_(links), gone_(gone) {}

  std::optional<MomentRow> find(size_t first) {
    const Comprehension& c = node(first);
    row_.points = c.points, row_.axes = c.reduction->axes;
    std::set<size_t> candidates = dependents(first);
    if (candidates.empty()) return std::nullopt;
    Factors factors = factors_of(s_, c.reduction->body[0]);
    row_.filter = c.reduction->filter;
    for (ExprId condition : factors.conditions)
      row_.filter = row_.filter ? s_.logical_and(row_.filter, condition) : condition;
    auto root = raw_sum(first, own_places(row_.points));
    if (!root) return std::nullopt;
    row_.sums.push_back(std::move(*root));
    // What joins as a mean of another variable brings the sums around that.
    size_t known = 1;
    bool found = false;
    while (!candidates.empty()) {
      for (size_t n : candidates) found |= add_centred(n);
      candidates.clear();
      for (; known < row_.sums.size(); ++known) candidates.merge(dependents(row_.sums[known].node));
    }
    return found && stands_alone() ? std::optional(std::move(row_)) : std::nullopt;
  }

private:
  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(nodes_[n].definition);
  }
  TensorId tensor_of(size_t n) const { return node(n).results[0].tensor; }

  /// The sums that need this one, themselves or through maps; notes those maps. What needs it
  /// through another sum is asked for when that one joins.
  std::set<size_t> dependents(size_t first) {
    std::set<size_t> found, seen{first};
    std::vector<TensorId> open{tensor_of(first)};
    while (!open.empty() && seen.size() < max_searched) {
      TensorId id = open.back();
      open.pop_back();
      for (size_t reader : links_.readers(id)) {
        if (!seen.insert(reader).second) continue;
        bool map = plain_map(graph_, nodes_[reader]);
        if (!map && !is_real_sum(graph_, nodes_[reader])) continue;
        (map ? maps_ : found).insert(reader);
        if (map) open.push_back(tensor_of(reader));
      }
    }
    return found;
  }

  std::vector<ExprId> own_places(const std::vector<Axis>& points) const {
    std::vector<ExprId> places;
    for (const Axis& axis : points) places.push_back(s_.index(axis.index));
    return places;
  }

  bool same_conditions(ExprId filter, const std::vector<ExprId>& more) const {
    std::set<ExprId> mine, row;
    for (ExprId id : conjuncts(s_, filter)) mine.insert(id);
    for (ExprId condition : more)
      for (ExprId id : conjuncts(s_, condition)) mine.insert(id);
    for (ExprId id : conjuncts(s_, row_.filter)) row.insert(id);
    return mine == row;
  }

  /// The body of a map that depends on the row in the place of a read of it.
  ExprId expanded(ExprId read) {
    const Expr& e = s_[read];
    auto producer = links_.producer(TensorId(e.ref));
    if (e.guarded || !producer || !maps_.contains(*producer)) return read;
    const Comprehension& map = node(*producer);
    Cost cost = cost_of(s_, map.results[0].value);
    if (cost.terms > max_body_terms || cost.folds) return read;
    return body_at(s_, map, read);
  }
  ExprId unfolded(ExprId term) {
    return rewrite::unfolded(s_, term, [&](ExprId id) { return expanded(id); });
  }

  bool varies(ExprId id) const {
    const auto& free = s_[id].free;
    return std::any_of(row_.axes.begin(), row_.axes.end(), [&](const Axis& axis) {
      return std::binary_search(free.begin(), free.end(), axis.index);
    });
  }

  /// Whether a sum is over as many points, and over axes as long, as the row.
  bool has_shape(size_t n) const {
    const Comprehension& c = node(n);
    const auto& axes = c.reduction->axes;
    return c.points.size() == row_.points.size() &&
           std::equal(
               axes.begin(), axes.end(), row_.axes.begin(), row_.axes.end(),
               [&](const Axis& a, const Axis& b) { return same_extent(s_, a.extent, b.extent); });
  }

  /// The names of a sum's indices in the row, when the row reads the sum at `places`; empty when it
  /// is a sum over other rows.
  std::optional<std::unordered_map<IndexId, ExprId>>
  names_of(size_t n, std::span<const ExprId> places) const {
    const Comprehension& c = node(n);
    const auto& axes = c.reduction->axes;
    if (places.size() != row_.points.size() || !has_shape(n)) return std::nullopt;
    std::unordered_map<IndexId, ExprId> names;
    std::set<ExprId> taken;
    for (size_t k = 0; k < places.size(); ++k) {
      auto at = std::find_if(row_.points.begin(), row_.points.end(),
                             [&](const Axis& point) { return s_.index(point.index) == places[k]; });
      if (at == row_.points.end() || !taken.insert(places[k]).second ||
          !same_extent(s_, at->extent, c.points[k].extent))
        return std::nullopt;
      names[c.points[k].index] = places[k];
    }
    for (size_t k = 0; k < axes.size(); ++k) names[axes[k].index] = s_.index(row_.axes[k].index);
    return names;
  }

  ExprId translated(ExprId term, const std::unordered_map<IndexId, ExprId>& names) {
    return term ? substitute(s_, term, names) : term;
  }

  /// A sum whose terms need nothing of the row: a weight without centred factors.
  std::optional<MomentSum> raw_sum(size_t n, std::span<const ExprId> places) {
    auto names = names_of(n, places);
    if (!names) return std::nullopt;
    const Reduction& r = *node(n).reduction;
    Factors factors = factors_of(s_, substitute(s_, r.body[0], *names));
    if (!same_conditions(translated(r.filter, *names), factors.conditions)) return std::nullopt;
    MomentSum member;
    member.node = n, member.places.assign(places.begin(), places.end());
    member.weight = build(s_, factors.over, factors.under);
    if (depends(member.weight)) return std::nullopt;
    return member;
  }

  /// True when a term needs a sum of the group.
  bool depends(ExprId term) const {
    std::set<size_t> group;
    for (const MomentSum& member : row_.sums) group.insert(member.node);
    return links_.depends(reads_of_term(term), group);
  }
  std::vector<TensorId> reads_of_term(ExprId term) const {
    std::vector<TensorId> reads;
    for (ExprId id : reachable(s_, {&term, 1}))
      if (s_[id].op == Op::read) reads.push_back(TensorId(s_[id].ref));
    return reads;
  }

  // ---- one sum around a mean

  /// Adds the sum to the group when it is one around a mean of the row.
  bool add_centred(size_t n) {
    if (gone_.contains(n)) return false;
    for (const MomentSum& member : row_.sums)
      if (member.node == n) return false;
    std::vector<MomentSum> before = row_.sums;
    auto member = match(n);
    bool fits = member && !member->factors.empty();
    if (fits)
      row_.sums.push_back(std::move(*member));
    else
      row_.sums = std::move(before);
    return fits;
  }

  std::optional<MomentSum> match(size_t n) {
    if (!has_shape(n)) return std::nullopt;
    auto places = read_places(n);
    auto names = places ? names_of(n, *places) : std::nullopt;
    if (!names) return std::nullopt;
    const Reduction& r = *node(n).reduction;
    Factors factors =
        factors_of(s_, substitute(s_, r.body[0], *names), [&](ExprId id) { return expanded(id); });
    if (!same_conditions(translated(r.filter, *names), factors.conditions)) return std::nullopt;
    MomentSum member;
    member.node = n, member.places = std::move(*places);
    std::vector<ExprId> over, under;
    for (ExprId id : factors.over)
      if (!place_factor(member, id, over)) return std::nullopt;
    for (ExprId id : factors.under)
      if (varies(id))
        under.push_back(id);
      else if (ExprId outside = unfolded(id); row_value(outside))
        member.under.push_back(outside);
      else
        return std::nullopt;
    member.weight = build(s_, over, under);
    if (depends(member.weight) || member.factors.size() > max_degree) return std::nullopt;
    return member;
  }

  /// Where the row would read this sum: its points are named by its read of a member.
  std::optional<std::vector<ExprId>> read_places(size_t n) {
    const Comprehension& c = node(n);
    ExprId body = unfolded(c.reduction->body[0]);
    for (ExprId id : reachable(s_, {&body, 1})) {
      const Expr e = s_[id]; // a copy: terms are made below
      if (e.op != Op::read || e.guarded) continue;
      auto read = std::find_if(row_.sums.begin(), row_.sums.end(), [&](const MomentSum& member) {
        return tensor_of(member.node) == TensorId(e.ref);
      });
      if (read == row_.sums.end()) continue;
      std::vector<ExprId> places;
      for (const Axis& axis : c.points) {
        auto at = std::find(e.operands.begin(), e.operands.end(), s_.index(axis.index));
        if (at == e.operands.end()) return std::nullopt;
        places.push_back(read->places[static_cast<size_t>(at - e.operands.begin())]);
      }
      return places;
    }
    return std::nullopt;
  }

  /// Puts a factor of the sum's terms where it belongs: outside, around a mean, or to the weight.
  bool place_factor(MomentSum& member, ExprId id, std::vector<ExprId>& weight) {
    if (!varies(id)) {
      ExprId outside = unfolded(id);
      member.over.push_back(outside);
      return row_value(outside);
    }
    LinearForm along, same;
    LinearForm form = linear_form(s_, unfolded(id));
    for (const auto& [atom, coefficient] : form.coefficients)
      (varies(atom) ? along : same).coefficients[atom] = coefficient;
    same.constant = form.constant;
    // Around what the row's sums give; around anything else it is an ordinary factor.
    auto needs_row = [&](const auto& part) {
      return depends(part.first) || reads_row_sum(part.first);
    };
    if (std::none_of(same.coefficients.begin(), same.coefficients.end(), needs_row)) {
      weight.push_back(id);
      return true;
    }
    double scale = normalize(along);
    Centred factor{build(s_, along), {}, 0};
    factor.shift.add(same, -1 / scale);
    if (depends(factor.variable) || !row_value(build(s_, factor.shift))) return false;
    auto centre = centre_of(along, factor.shift);
    if (!centre) return false;
    factor.centre = *centre;
    member.scale *= scale;
    member.factors.push_back(std::move(factor));
    return true;
  }

  /// The sum over the same row that a term reads, where it may enter the group as it is.
  std::optional<MomentSum> joining(ExprId read) {
    const Expr e = s_[read]; // a copy: terms are made below
    auto producer = links_.producer(TensorId(e.ref));
    if (!producer || e.guarded || gone_.contains(*producer) ||
        !is_real_sum(graph_, nodes_[*producer]))
      return std::nullopt;
    return raw_sum(*producer, e.operands);
  }

  /// True when a term reads a sum over the same row, which is not in the group yet.
  bool reads_row_sum(ExprId term) {
    for (ExprId id : reachable(s_, {&term, 1})) {
      auto producer = s_[id].op == Op::read ? links_.producer(TensorId(s_[id].ref)) : std::nullopt;
      if (producer && is_real_sum(graph_, nodes_[*producer]) && !gone_.contains(*producer) &&
          raw_sum(*producer, s_[id].operands))
        return true;
    }
    return false;
  }

  /// Divides by the first coefficient, which it gives.
  static double normalize(LinearForm& form) {
    double scale = form.coefficients.begin()->second;
    LinearForm divided;
    divided.add(form, 1 / scale);
    form = std::move(divided);
    return scale;
  }

  /// True when a term is made of sums of the group at the row's own point, which may join it here,
  /// and of what does not need them.
  bool row_value(ExprId term) {
    for (ExprId id : reachable(s_, {&term, 1})) {
      if (s_[id].op != Op::read || row_.sum_of(graph_, nodes_, id)) continue;
      if (auto joins = joining(id))
        row_.sums.push_back(std::move(*joins));
      else if (depends(id))
        return false;
    }
    return true;
  }

  /// The sum in `shift` whose terms are a weight times the variable. It becomes the sum of that
  /// variable around 0, if it is none yet.
  std::optional<size_t> centre_of(const LinearForm& variable, const LinearForm& shift) {
    ExprId x = build(s_, variable);
    for (const auto& [atom, coefficient] : shift.coefficients)
      for (ExprId id : reachable(s_, {&atom, 1})) {
        auto m = s_[id].op == Op::read ? row_.sum_of(graph_, nodes_, id) : std::nullopt;
        if (!m) continue;
        MomentSum& member = row_.sums[*m];
        if (member.factors.size() == 1 && member.factors[0].variable == x &&
            member.factors[0].centre == *m)
          return m;
        if (member.factors.empty() && split_variable(member, *m, variable)) return m;
      }
    return std::nullopt;
  }

  bool split_variable(MomentSum& member, size_t number, const LinearForm& variable) {
    auto matches = [&](ExprId term) -> std::optional<double> {
      LinearForm form = linear_form(s_, term);
      if (form.coefficients.empty()) return std::nullopt;
      double scale = normalize(form);
      form.add(variable, -1);
      return form.is_zero() ? std::optional(scale) : std::nullopt;
    };
    auto split = [&](ExprId weight, double scale) {
      member.weight = weight, member.scale *= scale;
      member.factors = {{build(s_, variable), {}, number}};
      return true;
    };
    if (auto scale = matches(member.weight)) return split(s_.real(1), *scale);
    Factors factors = factors_of(s_, member.weight);
    for (size_t k = 0; k < factors.over.size(); ++k) {
      auto scale = matches(factors.over[k]);
      if (!scale) continue;
      factors.over.erase(factors.over.begin() + static_cast<ptrdiff_t>(k));
      return split(build(s_, factors.over, factors.under), *scale);
    }
    return false;
  }

  /// True when no term of the state needs the group: a sum that joined late may stand before it.
  bool stands_alone() const {
    return std::none_of(row_.sums.begin(), row_.sums.end(), [&](const MomentSum& member) {
      return depends(member.weight) ||
             std::any_of(member.factors.begin(), member.factors.end(),
                         [&](const Centred& factor) { return depends(factor.variable); });
    });
  }

  Graph& graph_;
  ExprStore& s_;
  const std::vector<Node>& nodes_;
  const Links& links_;
  const std::set<size_t>& gone_;
  MomentRow row_;
  std::set<size_t> maps_; ///< that depend on the row
};

} // namespace

std::optional<size_t> MomentRow::sum_of(const Graph& graph, const std::vector<Node>& nodes,
                                        ExprId read) const {
  const Expr& e = graph.exprs[read];
  if (e.op != Op::read || e.guarded) return std::nullopt;
  for (size_t m = 0; m < sums.size(); ++m) {
    const auto& c = std::get<Comprehension>(nodes[sums[m].node].definition);
    if (c.results[0].tensor == TensorId(e.ref) && std::ranges::equal(e.operands, sums[m].places))
      return m;
  }
  return std::nullopt;
}

bool is_real_sum(const Graph& graph, const Node& node) {
  const Reduction* r = plain_reduction(graph, node, Op::add);
  return r && graph.exprs[r->body[0]].scalar == Scalar::real;
}

std::optional<MomentRow> moment_row(Graph& graph, const std::vector<Node>& nodes,
                                    const Links& links, const std::set<size_t>& gone,
                                    size_t first) {
  return Finder(graph, nodes, links, gone).find(first);
}

} // namespace tang::rewrite
