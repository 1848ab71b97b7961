#include "bound/image.h"
#include "bound/operations.h"
#include "graph/reads.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

/// Constant extents up to this are tried value by value.
constexpr int64_t max_tried = 16;
/// Combinations of values for the indices that are not picked.
constexpr size_t max_combinations = 256;

/// One place of the read: sum of factor * index + rest.
struct Place {
  std::vector<std::pair<size_t, Polynomial>> linear; ///< axis and its factor, free of indices
  std::set<size_t> nonlinear;                        ///< axes inside other atoms
  /// floordiv(axis, by) or mod(axis, by), alone in its place.
  std::optional<size_t> divided;
  int64_t by = 1;
  bool remainder = false;
};

/// What stands for an axis whose values are counted: index = offset + scale * t, 0 <= t < count.
struct Picked {
  size_t axis;
  ExprId count;
  int64_t scale = 1;
  int64_t last_offset = 0; ///< offsets 0..last_offset may be tried
};

class Search {
public:
  Search(Formulas& f, const Demand& demand, std::span<const Axis> opaque)
      : f_(f), s_(f.store()), demand_(demand), opaque_(opaque), axes_(demand.axes) {
    for (size_t i = 0; i < axes_.size(); ++i) position_[axes_[i].index] = i;
    const Expr read = s_[demand.read];
    const Tensor& tensor = f_.graph()[TensorId(read.ref)];
    auto places = places_of(read);
    conditions_ = demand.conditions;
    for (size_t k = 0; k < places.size(); ++k) {
      places_.push_back(place_of(places[k]));
      if (!read.guarded && !is_gathered(s_, places[k])) continue;
      conditions_.push_back(s_.binary(Op::le, s_.integer(0), places[k]));
      conditions_.push_back(s_.binary(Op::lt, places[k], tensor.shape[k]));
      gathered_ |= is_gathered(s_, places[k]);
    }
  }

  Image run() {
    pick();
    // Without some of the picked indices the rest may fit: drop the last until it does.
    for (;;) {
      if (auto found = fix()) return *found;
      if (picked_.empty()) break;
      dropped_ = true;
      picked_.pop_back();
    }
    Image none;
    none.known = false;
    none.reason = gathered_ ? "a gathered read may touch nothing: its place is data"
                            : "no values of the other indices satisfy all conditions";
    return none;
  }

private:
  ExprId index_of(size_t axis) { return s_.index(axes_[axis].index); }

  bool mentions(ExprId id, size_t axis) const {
    const auto& free = s_[id].free;
    return std::binary_search(free.begin(), free.end(), axes_[axis].index);
  }

  Place place_of(ExprId id) {
    Place place;
    auto p = polynomial_of(s_, id);
    if (!p) {
      for (size_t a = 0; a < axes_.size(); ++a)
        if (mentions(id, a)) place.nonlinear.insert(a);
      return place;
    }
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (!mentions(id, a)) continue;
      auto parts = p->split(index_of(a));
      bool clean = parts && !parts->first.is_zero();
      auto atoms_mention = [&](const Polynomial& q, size_t other) {
        for (const auto& [monomial, c] : q.terms())
          for (ExprId atom : monomial)
            if (mentions(atom, other)) return true;
        return false;
      };
      if (clean) clean = !atoms_mention(parts->second, a);
      for (size_t b = 0; clean && b < axes_.size(); ++b) clean = !atoms_mention(parts->first, b);
      if (clean && nonzero(parts->first))
        place.linear.emplace_back(a, parts->first);
      else
        place.nonlinear.insert(a);
    }
    divided(*p, place);
    return place;
  }
  bool nonzero(const Polynomial& factor) {
    if (auto c = factor.as_constant()) return *c != 0;
    for (const auto& [monomial, c] : factor.terms())
      for (ExprId atom : monomial)
        if (s_[atom].has_read) return false;
    ExprId term = build(s_, factor);
    return f_.proves_less_equal(f_.number(1), term);
  }
  /// c + floordiv(i, by) or c + mod(i, by).
  void divided(const Polynomial& p, Place& place) {
    if (!place.linear.empty() || place.nonlinear.size() != 1) return;
    ExprId atom;
    for (const auto& [monomial, c] : p.terms()) {
      if (monomial.empty()) continue;
      if (atom || monomial.size() != 1 || c != 1) return;
      atom = monomial[0];
    }
    if (!atom) return;
    const Expr& e = s_[atom];
    if (e.op != Op::floordiv && e.op != Op::mod) return;
    auto by = s_.as_integer(e.operands[1]);
    if (!by || *by < 1 || e.operands[0] != index_of(*place.nonlinear.begin())) return;
    place.divided = *place.nonlinear.begin(), place.by = *by, place.remainder = e.op == Op::mod;
  }

  std::optional<int64_t> constant_extent(size_t axis) { return s_.as_integer(axes_[axis].extent); }

  /// Larger is better: symbolic extents before constants, those before small ones.
  int64_t weight(size_t axis) {
    return constant_extent(axis).value_or(std::numeric_limits<int64_t>::max());
  }

  void pick() {
    std::vector<size_t> order(places_.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    auto choices = [&](size_t k) {
      return places_[k].linear.size() + places_[k].divided.has_value();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return choices(a) < choices(b); });
    std::set<size_t> used;
    std::vector<std::pair<size_t, size_t>> chosen; ///< place, axis
    for (size_t k : order) {
      const Place& place = places_[k];
      if (place.divided && !used.contains(*place.divided)) {
        used.insert(*place.divided);
        pick_divided(place);
        chosen.emplace_back(k, *place.divided);
        continue;
      }
      std::optional<size_t> best;
      for (const auto& [axis, factor] : place.linear)
        if (!used.contains(axis) && (!best || better(place, axis, *best))) best = axis;
      if (!best) continue;
      used.insert(*best);
      chosen.emplace_back(k, *best);
      picked_.push_back({*best, f_.positive(axes_[*best].extent)});
    }
    if (!triangular(chosen)) {
      // Keep the first place only: one index with a factor is always one to one.
      picked_.resize(std::min<size_t>(picked_.size(), 1));
      dropped_ = true;
      return;
    }
    for (auto [k, axis] : chosen) add_radix(k, axis, used);
  }
  bool better(const Place& place, size_t axis, size_t best) {
    // The leading index of a mixed radix first, so that the other can be added.
    auto factor = [&](size_t a) {
      for (const auto& [at, p] : place.linear)
        if (at == a) return p;
      return Polynomial();
    };
    auto x = factor(axis).as_constant(), y = factor(best).as_constant();
    if (!x && y) return true;
    if (!y) return false;
    if (weight(axis) != weight(best)) return weight(axis) > weight(best);
    return std::abs(*x) > std::abs(*y);
  }
  void pick_divided(const Place& place) {
    size_t axis = *place.divided;
    ExprId extent = f_.positive(axes_[axis].extent);
    if (place.remainder)
      picked_.push_back({axis, f_.least(extent, f_.number(place.by))});
    else
      picked_.push_back({axis, f_.ceil_quotient(extent, place.by), place.by});
  }
  /// Whether the places can be put in an order in which each adds one index to those before it.
  bool triangular(const std::vector<std::pair<size_t, size_t>>& chosen) const {
    std::set<size_t> open;
    for (auto [place, axis] : chosen) open.insert(axis);
    std::vector<std::pair<size_t, size_t>> rest = chosen;
    while (!rest.empty()) {
      auto at = std::find_if(rest.begin(), rest.end(), [&](auto& entry) {
        auto [place, axis] = entry;
        for (const auto& [other, factor] : places_[place].linear)
          if (other != axis && open.contains(other)) return false;
        for (size_t other : places_[place].nonlinear)
          if (other != axis && open.contains(other)) return false;
        return true;
      });
      if (at == rest.end()) return false;
      open.erase(at->second);
      rest.erase(at);
    }
    return true;
  }
  /// i * a + r * b with r < a/b: also r counts, as far as its values stay between two of i.
  void add_radix(size_t k, size_t leading, std::set<size_t>& used) {
    const Place& place = places_[k];
    if (place.divided) return;
    const Polynomial* a = nullptr;
    for (const auto& [axis, factor] : place.linear)
      if (axis == leading) a = &factor;
    for (const auto& [axis, factor] : place.linear) {
      if (axis == leading || used.contains(axis)) continue;
      if (appears_elsewhere(axis, k)) continue;
      auto b = factor.as_constant(), c = a->as_constant();
      auto extent = constant_extent(axis);
      if (b && c && *b != std::numeric_limits<int64_t>::min() &&
          *c != std::numeric_limits<int64_t>::min() && std::abs(*b) < std::abs(*c)) {
        int64_t most = (std::abs(*c) - 1) / std::abs(*b) + 1;
        ExprId count = f_.least(f_.positive(axes_[axis].extent), f_.number(most));
        int64_t spare = extent && *extent <= max_tried ? std::max<int64_t>(*extent - most, 0) : 0;
        picked_.push_back({axis, count, 1, spare});
      } else if (b == 1 && !c && polynomial_of(s_, axes_[axis].extent) == *a) {
        picked_.push_back({axis, f_.positive(axes_[axis].extent)});
      } else
        continue;
      used.insert(axis);
      return;
    }
  }
  bool appears_elsewhere(size_t axis, size_t place) const {
    for (size_t k = 0; k < places_.size(); ++k) {
      if (k == place) continue;
      for (const auto& [other, factor] : places_[k].linear)
        if (other == axis) return true;
      if (places_[k].nonlinear.contains(axis)) return true;
    }
    return false;
  }

  bool is_picked(size_t axis) const {
    return std::any_of(picked_.begin(), picked_.end(),
                       [&](const Picked& p) { return p.axis == axis; });
  }

  /// Values for everything that is not counted; the first that satisfies all conditions.
  std::optional<Image> fix() {
    std::vector<std::pair<IndexId, std::vector<ExprId>>> open;
    std::vector<size_t> open_axes;
    Prover prover(f_.graph());
    for (const Axis& axis : opaque_) prover.add_axis(axis);
    for (const Picked& p : picked_) prover.add_axis({axes_[p.axis].index, p.count, "", {}, {}});
    std::set<size_t> needed = mentioned();
    for (const Picked& p : picked_) {
      std::vector<ExprId> values;
      ExprId t = s_.binary(Op::mul, s_.integer(p.scale), index_of(p.axis));
      for (int64_t offset = 0; offset <= p.last_offset; ++offset)
        values.push_back(canonical(s_, s_.binary(Op::add, t, s_.integer(offset))));
      if (needed.contains(p.axis)) open.emplace_back(axes_[p.axis].index, std::move(values));
    }
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      if (is_picked(axis)) continue;
      prover.add_axis({axes_[axis].index, axes_[axis].extent, "", {}, {}});
      if (needed.contains(axis)) open.emplace_back(axes_[axis].index, candidates(axis, prover));
    }
    return try_all(prover, open);
  }

  /// Axes that some condition mentions.
  std::set<size_t> mentioned() const {
    std::set<size_t> found;
    for (ExprId condition : conditions_)
      for (IndexId index : s_[condition].free)
        if (auto at = position_.find(index); at != position_.end()) found.insert(at->second);
    return found;
  }

  std::vector<ExprId> candidates(size_t axis, const Prover& prover) {
    std::vector<ExprId> values{s_.integer(0)};
    auto add = [&](ExprId value) {
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    };
    if (auto extent = constant_extent(axis); extent && *extent <= max_tried)
      for (int64_t value = 1; value < *extent; ++value) add(s_.integer(value));
    else
      add(f_.difference(axes_[axis].extent, s_.integer(1)));
    for (const Picked& p : picked_)
      if (related(axis, p.axis) && prover.in_range(index_of(p.axis), axes_[axis].extent))
        add(index_of(p.axis));
    return values;
  }
  bool related(size_t a, size_t b) const {
    return std::any_of(conditions_.begin(), conditions_.end(),
                       [&](ExprId c) { return mentions(c, a) && mentions(c, b); });
  }

  template <class Open>
  std::optional<Image> try_all(const Prover& prover, const Open& open) {
    std::vector<size_t> at(open.size(), 0);
    std::optional<Image> partial;
    for (size_t tried = 0; tried < max_combinations; ++tried) {
      std::unordered_map<IndexId, ExprId> map;
      for (size_t i = 0; i < open.size(); ++i) map[open[i].first] = open[i].second[at[i]];
      std::vector<ExprId> left;
      if (leaves(prover, map, left)) {
        if (left.empty()) return finish({});
        // Some of the picked values: how many, where there is a closed form.
        if (!partial) partial = finish(left);
      }
      size_t i = 0;
      while (i < open.size() && ++at[i] == open[i].second.size()) at[i++] = 0;
      if (i == open.size()) break;
    }
    return partial;
  }

  /// The conditions that are not proved for these values; false where no picked index can meet one.
  bool leaves(const Prover& prover, const std::unordered_map<IndexId, ExprId>& map,
              std::vector<ExprId>& left) {
    for (ExprId condition : conditions_) {
      ExprId term = substitute(s_, condition, map);
      if (prover.holds(term)) continue;
      const Expr& e = s_[term];
      if (e.free.empty() || e.has_read) return false;
      for (IndexId index : e.free)
        if (auto at = position_.find(index); at == position_.end() || !is_picked(at->second))
          return false;
      left.push_back(term);
    }
    return true;
  }

  std::optional<Image> finish(const std::vector<ExprId>& left) {
    Image image;
    if (left.empty()) {
      for (const Picked& p : picked_) image.counts.push_back(p.count);
      if (dropped_) image.reason = "only a part of the indices could be counted";
    } else {
      std::vector<Axis> counted;
      for (const Picked& p : picked_) counted.push_back({axes_[p.axis].index, p.count, "", {}, {}});
      auto points = count_points(f_, counted, left);
      if (!points) return std::nullopt;
      image.counts.push_back(*points);
      image.reason = "only where its conditions hold";
    }
    image.factors = demand_.factors;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      if (is_picked(axis)) continue;
      ExprId factor = f_.at_least_one(axes_[axis].extent);
      if (s_.as_integer(factor) != 1) image.factors.push_back(factor);
    }
    std::sort(image.factors.begin(), image.factors.end());
    image.factors.erase(std::unique(image.factors.begin(), image.factors.end()),
                        image.factors.end());
    return image;
  }

  Formulas& f_;
  ExprStore& s_;
  const Demand& demand_;
  std::span<const Axis> opaque_;
  std::vector<Axis> axes_;
  std::map<IndexId, size_t> position_;
  std::vector<Place> places_;
  std::vector<ExprId> conditions_;
  std::vector<Picked> picked_;
  bool gathered_ = false, dropped_ = false;
};

} // namespace

Image image_of(Formulas& formulas, const Demand& demand, std::span<const Axis> opaque) {
  return Search(formulas, demand, opaque).run();
}

ExprId total(Formulas& f, const Image& image) {
  ExprId all = f.number(image.known ? 1 : 0);
  if (!image.known) return all;
  for (ExprId count : image.counts) all = f.product(all, count);
  for (ExprId factor : image.factors) all = f.product(all, factor);
  return all;
}

} // namespace tang::bound
