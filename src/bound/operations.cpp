// Counting operations as written.
#include "bound/operations.h"
#include "graph/reads.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

enum class Unit : uint8_t { none, flop, special, integer };

/// What an op costs. Index arithmetic never gets here.
Unit unit_of(const ExprStore& s, const Expr& e) {
  switch (e.op) {
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::min:
  case Op::max:
  case Op::floordiv:
  case Op::mod: return e.scalar == Scalar::real ? Unit::flop : Unit::integer;
  case Op::div:
  case Op::floor:
  case Op::ceil:
  case Op::round: return Unit::flop;
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return s[e.operands[0]].scalar == Scalar::real ? Unit::flop : Unit::integer;
  case Op::pow:
  case Op::atan2:
  case Op::exp:
  case Op::exp2:
  case Op::log:
  case Op::log2:
  case Op::sqrt:
  case Op::rsqrt:
  case Op::sin:
  case Op::cos:
  case Op::tan:
  case Op::tanh:
  case Op::erf: return Unit::special;
  case Op::bit_and:
  case Op::bit_or:
  case Op::bit_xor:
  case Op::shl:
  case Op::shr: return Unit::integer;
  case Op::literal_int:
  case Op::literal_real:
  case Op::literal_bool:
  case Op::index:
  case Op::dim:
  case Op::read:
  case Op::acc:
  case Op::lhs:
  case Op::rhs:
  case Op::fold:
  case Op::neg:
  case Op::abs:
  case Op::sign:
  case Op::logical_and:
  case Op::logical_or:
  case Op::logical_not:
  case Op::select:
  case Op::to_real:
  case Op::cast: return Unit::none;
  }
  return Unit::none;
}

/// Terms below `roots` without those that only say where reads are, and without folds' insides.
std::vector<ExprId> value_terms(const ExprStore& s, std::span<const ExprId> roots) {
  std::vector<ExprId> found, stack(roots.begin(), roots.end());
  std::set<ExprId> seen;
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const Expr& e = s[id];
    // A term of integers without data is index arithmetic.
    if (e.scalar != Scalar::real && !e.has_read && !e.has_state) continue;
    found.push_back(id);
    if (e.op == Op::read && e.guarded) stack.push_back(e.operands.back());
    if (e.op == Op::read || e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs) continue;
    size_t below = e.op == Op::fold ? 2 : e.operands.size();
    stack.insert(stack.end(), e.operands.begin(), e.operands.begin() + static_cast<long>(below));
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Count {
public:
  Count(Formulas& f, const Comprehension& node) : f_(f), s_(f.store()), node_(node) {
    add_axes(node.points);
    if (!node.reduction) return;
    add_axes(node.reduction->axes);
    for (const auto& axes : node.reduction->field_axes) add_axes(axes);
  }

  void run(Operations& out) {
    std::vector<ExprId> all;
    for (const Result& result : node_.results) {
      add_axes(result.extra);
      all.push_back(result.value);
    }
    terms(all, out);
    if (!node_.reduction) return;
    const Reduction& r = *node_.reduction;
    domain_ = domain_of(f_, r);
    auto count = space();
    if (!count) {
      out.reasons.push_back(
          fmt::format("operations behind the condition of `{}` are not counted: {}",
                      f_.graph()[node_.results[0].tensor].name,
                      domain_.exact ? "its points have no closed form" : "data decides it"));
      count = f_.number(0);
    }
    filtered_ = domain_.conditions.empty() && domain_.exact ? std::nullopt : count;
    combine(f_.graph()[r.monoid], *count, out);
    std::vector<ExprId> bodies = r.body;
    terms(bodies, out);
  }

private:
  void add_axes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) extents_[axis.index] = axis.extent;
  }
  std::optional<ExprId> space() {
    std::vector<Axis> axes = node_.points;
    axes.insert(axes.end(), node_.reduction->axes.begin(), node_.reduction->axes.end());
    if (!domain_.exact) return std::nullopt;
    return count_points(f_, axes, domain_.conditions);
  }

  void combine(const Monoid& m, ExprId points, Operations& out) {
    if (m.form == Monoid::Form::topk) {
      // One comparison for each element at least.
      ExprId& unit = m.fields[0].scalar == Scalar::real ? out.flops : out.integer;
      unit = f_.sum(unit, points);
      return;
    }
    for (size_t field = 0; field < m.fields.size(); ++field) {
      ExprId places = points;
      for (const Axis& axis : m.fields[field].axes) {
        places = f_.product(places, f_.positive(axis.extent));
        extents_[axis.index] = axis.extent;
      }
      for (ExprId id : value_terms(s_, {&m.combine[field], 1})) {
        ExprId times = places;
        for (IndexId index : fold_indices(id, m.combine[field]))
          times = f_.product(times, f_.positive(extents_.at(index)));
        count(id, times, out);
      }
    }
  }
  /// Indices that folds bind around a term: it depends on them.
  std::vector<IndexId> fold_indices(ExprId id, ExprId root) {
    std::vector<IndexId> found;
    for (ExprId at : reachable(s_, {&root, 1})) {
      const Expr& e = s_[at];
      for (size_t k = 0; k < e.bound.size(); ++k) {
        extents_[e.bound[k]] = e.operands[2 + k];
        const auto& free = s_[id].free;
        if (std::binary_search(free.begin(), free.end(), e.bound[k])) found.push_back(e.bound[k]);
      }
    }
    return found;
  }

  void terms(std::span<const ExprId> roots, Operations& out) {
    std::vector<ExprId> found = value_terms(s_, roots);
    for (ExprId id : found)
      for (size_t k = 0; k < s_[id].bound.size(); ++k)
        extents_[s_[id].bound[k]] = s_[id].operands[2 + k];
    for (ExprId id : found) count(id, times_of(id), out);
  }
  /// How many combinations of indices a term depends on.
  ExprId times_of(ExprId id) {
    std::set<IndexId> distinct(s_[id].free.begin(), s_[id].free.end());
    // A state depends on every point of its node.
    if (s_[id].has_state && s_[id].op != Op::fold)
      for (const Axis& axis : node_.points) distinct.insert(axis.index);
    if (filtered_ && node_.reduction && covers(distinct)) {
      ExprId times = *filtered_;
      for (IndexId index : distinct)
        if (!in_space(index)) times = f_.product(times, extent(index));
      return times;
    }
    ExprId times = f_.number(1);
    for (IndexId index : distinct) times = f_.product(times, extent(index));
    return times;
  }
  ExprId extent(IndexId index) {
    auto at = extents_.find(index);
    return at == extents_.end() ? f_.number(1) : f_.positive(at->second);
  }
  bool in_space(IndexId index) const {
    auto has = [&](const std::vector<Axis>& axes) {
      return std::any_of(axes.begin(), axes.end(),
                         [&](const Axis& axis) { return axis.index == index; });
    };
    return has(node_.points) || has(node_.reduction->axes);
  }
  bool covers(const std::set<IndexId>& indices) const {
    for (const auto* axes : {&node_.points, &node_.reduction->axes})
      for (const Axis& axis : *axes)
        if (!indices.contains(axis.index)) return false;
    return true;
  }

  void count(ExprId id, ExprId times, Operations& out) {
    const Expr e = s_[id];
    auto add = [&](Unit unit) {
      if (unit == Unit::flop) out.flops = f_.sum(out.flops, times);
      if (unit == Unit::special) out.special = f_.sum(out.special, times);
      if (unit == Unit::integer) out.integer = f_.sum(out.integer, times);
    };
    add(unit_of(s_, e));
    if (e.op != Op::fold) return;
    // A nested reduction combines once for each of its points.
    for (size_t k = 0; k < e.bound.size(); ++k)
      times = f_.product(times, f_.positive(e.operands[2 + k]));
    const Monoid& m = f_.graph()[MonoidId(e.ref)];
    for (ExprId term : value_terms(s_, m.combine)) add(unit_of(s_, s_[term]));
  }

  Formulas& f_;
  ExprStore& s_;
  const Comprehension& node_;
  std::map<IndexId, ExprId> extents_;
  Domain domain_;
  std::optional<ExprId> filtered_;
};

} // namespace

Operations operations_of(Formulas& f, std::span<const Comprehension* const> nodes) {
  Operations out{f.number(0), f.number(0), f.number(0), {}};
  for (const Comprehension* node : nodes) Count(f, *node).run(out);
  return out;
}

} // namespace tang::bound
