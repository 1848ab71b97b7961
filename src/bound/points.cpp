// Counting lattice points: a box cut by conditions that tie few indices together.
#include "bound/operations.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

/// Constant extents up to this are summed over; at most so many terms.
constexpr int64_t max_extent = 16;
constexpr int64_t max_terms = 256;

class Points {
public:
  Points(Formulas& f, std::span<const Axis> axes)
      : f_(f), s_(f.store()), axes_(axes), prover_(f.graph()) {
    for (const Axis& axis : axes) prover_.add_axis({axis.index, axis.extent, "", {}, {}});
    for (size_t i = 0; i < axes.size(); ++i) position_[axes[i].index] = i, group_.push_back(i);
  }

  std::optional<ExprId> count(std::span<const ExprId> conditions) {
    for (ExprId condition : conditions) {
      if (prover_.holds(condition)) continue;
      if (prover_.fails(condition)) return f_.number(0);
      if (!add(condition)) return std::nullopt;
    }
    ExprId product = f_.number(1);
    for (size_t root = 0; root < axes_.size(); ++root) {
      if (find(root) != root) continue;
      auto part = component(root);
      if (!part) return std::nullopt;
      product = f_.product(product, *part);
    }
    return product;
  }

private:
  size_t find(size_t i) const {
    while (group_[i] != i) i = group_[i];
    return i;
  }
  /// condition as polynomials >= 0.
  bool add(ExprId condition) {
    bool negated = s_[condition].op == Op::logical_not;
    const Expr e = negated ? s_[s_[condition].operands[0]] : s_[condition];
    bool equal = e.op == (negated ? Op::ne : Op::eq);
    if (e.op != Op::lt && e.op != Op::le && !equal) return false;
    if (e.has_read || s_[e.operands[0]].scalar != Scalar::integer) return false;
    ExprId a = e.operands[0], b = e.operands[1];
    ExprId one = f_.number(e.op == Op::lt);
    if (equal) return keep(f_.difference(a, b)) && keep(f_.difference(b, a));
    if (negated) return keep(f_.difference(f_.difference(a, b), f_.number(e.op == Op::le)));
    return keep(f_.difference(f_.difference(b, a), one));
  }
  bool keep(ExprId nonnegative) {
    std::optional<size_t> first;
    for (IndexId index : s_[nonnegative].free) {
      auto at = position_.find(index);
      if (at == position_.end()) return false;
      if (!first) first = at->second;
      group_[find(at->second)] = find(*first);
    }
    if (!first) return false;
    bounds_.push_back(nonnegative);
    return true;
  }

  std::optional<ExprId> component(size_t root) {
    std::vector<size_t> symbolic, small;
    int64_t terms = 1;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (find(i) != root) continue;
      auto extent = s_.as_integer(axes_[i].extent);
      if (extent && *extent <= max_extent && terms * std::max<int64_t>(*extent, 1) <= max_terms) {
        small.push_back(i);
        terms *= std::max<int64_t>(*extent, 1);
      } else
        symbolic.push_back(i);
    }
    std::vector<ExprId> bounds;
    for (ExprId bound : bounds_)
      if (find(position_.at(s_[bound].free[0])) == root) bounds.push_back(bound);
    if (bounds.empty()) return extents(symbolic, small);
    if (symbolic.empty()) symbolic.push_back(small.back()), small.pop_back();
    return enumerate(symbolic, small, bounds);
  }
  ExprId extents(const std::vector<size_t>& a, const std::vector<size_t>& b) {
    ExprId product = f_.number(1);
    for (const auto* list : {&a, &b})
      for (size_t i : *list) product = f_.product(product, f_.positive(axes_[i].extent));
    return product;
  }
  /// The sum over all values of the small axes.
  std::optional<ExprId> enumerate(const std::vector<size_t>& symbolic,
                                  const std::vector<size_t>& small,
                                  const std::vector<ExprId>& bounds) {
    for (size_t i : small)
      if (*s_.as_integer(axes_[i].extent) <= 0) return f_.number(0);
    std::vector<int64_t> at(small.size(), 0);
    ExprId sum = f_.number(0);
    for (;;) {
      std::unordered_map<IndexId, ExprId> map;
      for (size_t i = 0; i < small.size(); ++i) map[axes_[small[i]].index] = f_.number(at[i]);
      std::vector<ExprId> fixed;
      for (ExprId bound : bounds) fixed.push_back(canonical(s_, substitute(s_, bound, map)));
      std::optional<ExprId> part;
      if (symbolic.size() == 1) part = interval(symbolic[0], fixed);
      if (symbolic.size() == 2) part = band(symbolic[0], symbolic[1], fixed);
      if (!part) return std::nullopt;
      sum = f_.sum(sum, *part);
      size_t i = 0;
      while (i < small.size() && ++at[i] == *s_.as_integer(axes_[small[i]].extent)) at[i++] = 0;
      if (i == small.size()) return sum;
    }
  }

  struct Line {
    int64_t factor;
    ExprId rest; ///< over dims
  };
  std::optional<Line> line(const Polynomial& p, size_t axis) {
    auto parts = p.split(s_.index(axes_[axis].index));
    auto factor = parts ? parts->first.as_constant() : std::nullopt;
    if (!factor || std::abs(*factor) > (int64_t{1} << 31)) return std::nullopt;
    return Line{*factor, build(s_, parts->second)};
  }

  /// factor * i + rest >= 0 for all bounds.
  std::optional<ExprId> interval(size_t axis, const std::vector<ExprId>& bounds) {
    ExprId lo = f_.number(0), hi = f_.positive(axes_[axis].extent);
    ExprId all = f_.number(1);
    for (ExprId bound : bounds) {
      auto p = polynomial_of(s_, bound);
      auto at = p ? line(*p, axis) : std::nullopt;
      if (!at || !s_[at->rest].free.empty()) return std::nullopt;
      if (at->factor == 0)
        all = f_.product(all, f_.at_least_one(f_.sum(at->rest, f_.number(1))));
      else if (at->factor > 0)
        lo = f_.most(lo, f_.ceil_quotient(f_.difference(f_.number(0), at->rest), at->factor));
      else
        hi = f_.least(hi, f_.sum(f_.quotient(at->rest, -at->factor), f_.number(1)));
    }
    return f_.product(all, f_.positive(f_.difference(hi, lo)));
  }

  /// Two indices tied by lo <= j - i <= hi.
  std::optional<ExprId> band(size_t i, size_t j, const std::vector<ExprId>& bounds) {
    ExprId lo, hi;
    for (ExprId bound : bounds) {
      auto p = polynomial_of(s_, bound);
      auto at_j = p ? line(*p, j) : std::nullopt;
      if (!at_j) return std::nullopt;
      auto q = polynomial_of(s_, at_j->rest);
      auto at_i = q ? line(*q, i) : std::nullopt;
      if (!at_i || !s_[at_i->rest].free.empty()) return std::nullopt;
      if (at_j->factor == 1 && at_i->factor == -1) { // j - i + rest >= 0
        ExprId least = f_.difference(f_.number(0), at_i->rest);
        lo = lo ? f_.most(lo, least) : least;
      } else if (at_j->factor == -1 && at_i->factor == 1)
        hi = hi ? f_.least(hi, at_i->rest) : at_i->rest;
      else
        return std::nullopt;
    }
    ExprId m = f_.positive(axes_[i].extent), n = f_.positive(axes_[j].extent);
    ExprId upper = hi ? below(m, n, f_.sum(hi, f_.number(1))) : f_.product(m, n);
    if (!lo) return upper;
    return f_.positive(f_.difference(upper, below(m, n, lo)));
  }
  /// Pairs i < m, j < n with j - i < d: the sum over i of i + d cut to 0..n.
  ExprId below(ExprId m, ExprId n, ExprId d) {
    return f_.difference(ramp(f_.sum(d, f_.difference(m, f_.number(1))), n),
                         ramp(f_.difference(d, f_.number(1)), n));
  }
  /// The sum of x cut to 0..n, for all x up to `last`.
  ExprId ramp(ExprId last, ExprId n) {
    ExprId inside = f_.least(f_.positive(last), n);
    ExprId triangle = f_.quotient(f_.product(inside, f_.sum(inside, f_.number(1))), 2);
    return f_.sum(triangle, f_.product(f_.positive(f_.difference(last, n)), n));
  }

  Formulas& f_;
  ExprStore& s_;
  std::span<const Axis> axes_;
  Prover prover_;
  std::map<IndexId, size_t> position_;
  std::vector<size_t> group_;
  std::vector<ExprId> bounds_;
};

} // namespace

std::optional<ExprId> count_points(Formulas& formulas, std::span<const Axis> axes,
                                   std::span<const ExprId> conditions) {
  return Points(formulas, axes).count(conditions);
}

} // namespace tang::bound
