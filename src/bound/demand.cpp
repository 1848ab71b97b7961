#include "bound/demand.h"
#include "graph/reads.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

/// Beyond this many visits of one node's terms the rest counts as not needed.
constexpr size_t max_visits = 100000;

/// What holds where a term stands.
struct Scope {
  std::vector<Axis> axes;
  std::vector<ExprId> conditions;
  std::vector<ExprId> factors;
};

class Walk {
public:
  Walk(Formulas& formulas, const Comprehension& node) : f_(formulas), s_(f_.store()), node_(node) {}

  Demands run(std::span<const size_t> results) {
    for (size_t position : results) {
      const Result& result = node_.results[position];
      Scope scope{node_.points, {}, {}};
      for (const Axis& axis : node_.points) append_bounds(f_, axis, scope.conditions);
      scope.axes.insert(scope.axes.end(), result.extra.begin(), result.extra.end());
      visit(result.value, add(std::move(scope)));
    }
    while (!stack_.empty()) {
      auto [id, scope] = stack_.back();
      stack_.pop_back();
      step(id, scope);
    }
    if (seen_.size() >= max_visits) reason("too many branches to follow");
    return std::move(out_);
  }

private:
  uint32_t add(Scope scope) {
    scopes_.push_back(std::move(scope));
    return static_cast<uint32_t>(scopes_.size() - 1);
  }
  void reason(std::string text) {
    if (std::find(out_.reasons.begin(), out_.reasons.end(), text) == out_.reasons.end())
      out_.reasons.push_back(std::move(text));
  }
  void visit(ExprId id, uint32_t scope) {
    if (!s_[id].has_read && !s_[id].has_state) return;
    if (seen_.size() < max_visits && seen_.insert({id, scope}).second)
      stack_.emplace_back(id, scope);
  }
  /// The same place where `condition` holds (or fails) too; only for conditions free of data.
  uint32_t under(uint32_t scope, ExprId condition, bool truth) {
    ExprId term = truth ? condition : s_.unary(Op::logical_not, condition);
    auto [at, added] = under_.try_emplace({term, scope}, 0);
    if (added) {
      Scope inner = scopes_[scope];
      inner.conditions.push_back(term);
      at->second = add(std::move(inner));
    }
    return at->second;
  }
  bool needs_data(ExprId id) const { return s_[id].has_read || s_[id].has_state; }

  void step(ExprId id, uint32_t scope) {
    const Expr e = s_[id];
    switch (e.op) {
    case Op::read:
      out_.reads.push_back(
          {id, scopes_[scope].axes, scopes_[scope].conditions, scopes_[scope].factors});
      for (ExprId place : places_of(e)) visit(place, scope);
      return;
    case Op::acc: return reduce(e.ref, scope);
    case Op::fold: return fold(e, scope);
    case Op::select:
      visit(e.operands[0], scope);
      if (needs_data(e.operands[0])) {
        if (needs_data(e.operands[1]) || needs_data(e.operands[2]))
          reason("reads in a branch that data decides count as not needed");
        return;
      }
      visit(e.operands[1], under(scope, e.operands[0], true));
      visit(e.operands[2], under(scope, e.operands[0], false));
      return;
    case Op::logical_and:
    case Op::logical_or:
      // Either side may be looked at first, and may decide alone.
      for (size_t k : {0, 1})
        if (!needs_data(e.operands[k]))
          visit(e.operands[1 - k], under(scope, e.operands[k], e.op == Op::logical_and));
      return;
    default:
      for (ExprId operand : e.operands) visit(operand, scope);
    }
  }

  /// Fields whose elements decide field `field`; `alone`: also when there is one element.
  std::vector<std::pair<uint32_t, bool>> sources(const Monoid& m, uint32_t field) const {
    if (m.form == Monoid::Form::topk) {
      if (field == 0) return {{0, true}};
      return {{0, false}, {1, true}};
    }
    std::vector<std::pair<uint32_t, bool>> found;
    std::set<uint32_t> done{field};
    std::vector<uint32_t> fields{field};
    while (!fields.empty()) {
      uint32_t at = fields.back();
      fields.pop_back();
      // A field that is only compared is not needed for a single element.
      found.emplace_back(at, at == field && !chosen(m, field));
      for (ExprId id : reachable(s_, {&m.combine[at], 1}))
        if (s_[id].op == Op::rhs && done.insert(s_[id].ref).second && decides(m, at, s_[id].ref))
          fields.push_back(s_[id].ref);
    }
    return found;
  }
  /// Whether the combine of `field` selects among elements by data: then none of its own is needed
  /// for sure.
  bool chosen(const Monoid& m, uint32_t field) const {
    return s_[m.combine[field]].op == Op::select;
  }
  /// Whether the combine of `field` looks at `source` outside the branches of a select.
  bool decides(const Monoid& m, uint32_t field, uint32_t source) const {
    std::vector<ExprId> stack{m.combine[field]};
    std::set<ExprId> seen;
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      if (!seen.insert(id).second) continue;
      const Expr& e = s_[id];
      if (e.op == Op::rhs && e.ref == source) return true;
      bool branches = e.op == Op::select || e.op == Op::logical_and || e.op == Op::logical_or;
      for (size_t k = 0; k < (branches ? 1 : e.operands.size()); ++k)
        stack.push_back(e.operands[k]);
    }
    return false;
  }

  void reduce(uint32_t field, uint32_t scope) {
    if (!node_.reduction || !reduced_.insert({field, scope}).second) return;
    const Reduction& r = *node_.reduction;
    const Monoid& m = f_.graph()[r.monoid];
    if (may_stop_early(m))
      return reason("a reduction to a truth value may stop at its first element");
    Scope inner = scopes_[scope];
    if (node_.scan) {
      // A condition on a point says nothing about the points before it.
      if (inner.conditions.size() != bounds_of_points())
        return reason("reads of a scan that only some points need count as not needed");
      if (node_.scan->exclusive) exclude_last(inner);
    }
    inner.axes.insert(inner.axes.end(), r.axes.begin(), r.axes.end());
    Domain domain = domain_of(f_, r);
    inner.conditions.insert(inner.conditions.end(), domain.conditions.begin(),
                            domain.conditions.end());
    bool data = std::any_of(r.axes.begin(), r.axes.end(),
                            [&](const Axis& axis) { return visit_bounds(axis, scope); });
    if (r.filter && !data) visit_filter(r.filter, scope);
    if (!domain.exact) return reason("reads behind a filter that data decides count as not needed");
    for (auto [source, alone] : sources(m, field)) element(r, m, source, alone, inner);
  }

  /// True when an axis ends where data says. What says so for the outermost loop is read at every
  /// point.
  bool visit_bounds(const Axis& axis, uint32_t scope) {
    bool data = false;
    for (ExprId bound : {axis.lo, axis.hi}) {
      if (!bound || !needs_data(bound)) continue;
      data = true;
      if (axis.index == node_.reduction->axes.front().index) visit(bound, scope);
    }
    return data;
  }

  size_t bounds_of_points() {
    std::vector<ExprId> bounds;
    for (const Axis& axis : node_.points) append_bounds(f_, axis, bounds);
    return bounds.size();
  }

  void exclude_last(Scope& scope) {
    const Axis& axis = node_.points[node_.scan->axis];
    ExprId index = s_.index(axis.index);
    scope.conditions.push_back(
        node_.scan->descending
            ? s_.binary(Op::lt, s_.integer(0), index)
            : s_.binary(Op::lt, index, s_.binary(Op::sub, axis.extent, s_.integer(1))));
  }

  /// Conjuncts of a filter that look at data are needed where the others hold.
  void visit_filter(ExprId filter, uint32_t outer) {
    Scope scope = scopes_[outer];
    scope.axes.insert(scope.axes.end(), node_.reduction->axes.begin(), node_.reduction->axes.end());
    for (const Axis& axis : node_.reduction->axes) append_bounds(f_, axis, scope.conditions);
    visit(filter, add(std::move(scope)));
  }

  void element(const Reduction& r, const Monoid& m, uint32_t field, bool alone, Scope scope) {
    if (chosen_away(m, field)) return;
    if (field < r.field_axes.size())
      scope.axes.insert(scope.axes.end(), r.field_axes[field].begin(), r.field_axes[field].end());
    if (!alone) {
      // Two elements at least, or there is nothing to compare.
      const std::vector<Axis>& axes = node_.scan ? node_.points : r.axes;
      if (axes.empty() || node_.scan)
        return reason("reads of a scan whose monoid compares elements count as not needed");
      ExprId two = f_.difference(axes.back().extent, s_.integer(1));
      scope.factors.push_back(f_.at_least_one(two));
    }
    visit(r.body[field], add(std::move(scope)));
  }
  /// topk and argmax: the numbers of the elements are read only for those that are taken.
  bool chosen_away(const Monoid& m, uint32_t field) const {
    return m.form == Monoid::Form::expressions && chosen(m, field) && !decides(m, field, field);
  }

  void fold(const Expr& e, uint32_t scope) {
    const Monoid& m = f_.graph()[MonoidId(e.ref)];
    if (may_stop_early(m))
      return reason("a reduction to a truth value may stop at its first element");
    Scope inner = scopes_[scope];
    for (size_t k = 0; k < e.bound.size(); ++k)
      inner.axes.push_back({e.bound[k], e.operands[2 + k], "", {}, {}});
    ExprId filter = e.operands[1];
    if (filter && !(s_.as_boolean(filter) == true)) {
      uint32_t at = add(inner);
      visit(filter, at);
      if (needs_data(filter))
        return reason("reads behind a filter that data decides count as not needed");
      inner.conditions.push_back(filter);
    }
    visit(e.operands[0], add(std::move(inner)));
  }

  Formulas& f_;
  ExprStore& s_;
  const Comprehension& node_;
  std::vector<Scope> scopes_;
  std::vector<std::pair<ExprId, uint32_t>> stack_;
  std::set<std::pair<ExprId, uint32_t>> seen_;
  std::set<std::pair<uint32_t, uint32_t>> reduced_;
  std::map<std::pair<ExprId, uint32_t>, uint32_t> under_;
  Demands out_;
};

void split(const ExprStore& s, Op op, ExprId id, std::vector<ExprId>& parts) {
  std::vector<ExprId> stack{id};
  while (!stack.empty()) {
    ExprId at = stack.back();
    stack.pop_back();
    if (s[at].op == op)
      stack.insert(stack.end(), s[at].operands.rbegin(), s[at].operands.rend());
    else
      parts.push_back(at);
  }
}

} // namespace

Demands demands_of(Formulas& formulas, const Comprehension& node, std::span<const size_t> results) {
  return Walk(formulas, node).run(results);
}

bool may_stop_early(const Monoid& monoid) {
  return std::all_of(monoid.fields.begin(), monoid.fields.end(),
                     [](const MonoidField& field) { return field.scalar == Scalar::boolean; });
}

void append_bounds(Formulas& f, const Axis& axis, std::vector<ExprId>& conditions) {
  ExprStore& s = f.store();
  ExprId index = s.index(axis.index);
  std::vector<ExprId> lower, upper;
  if (axis.lo) split(s, Op::max, axis.lo, lower);
  if (axis.hi) split(s, Op::min, axis.hi, upper);
  for (ExprId lo : lower) conditions.push_back(s.binary(Op::le, lo, index));
  for (ExprId hi : upper) conditions.push_back(s.binary(Op::lt, index, hi));
}

Domain domain_of(Formulas& f, const Reduction& reduction) {
  Domain domain;
  std::vector<ExprId> parts;
  for (const Axis& axis : reduction.axes) append_bounds(f, axis, parts);
  if (reduction.filter) split(f.store(), Op::logical_and, reduction.filter, parts);
  for (ExprId part : parts) {
    const Expr& e = f.store()[part];
    if (e.has_read || e.has_state)
      domain.exact = false;
    else
      domain.conditions.push_back(part);
  }
  return domain;
}

} // namespace tang::bound
