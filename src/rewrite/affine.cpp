#include "rewrite/affine.h"
#include "rewrite/blocks.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

/// Forms of terms, operands first.
class Forms {
public:
  Forms(ExprStore& store, ExprId unknown) : s_(store), unknown_(unknown) {}

  /// False where the term is not affine; its operands have been visited.
  bool visit(ExprId id) {
    const Expr e = s_[id]; // a copy: terms are made below
    if (id == unknown_) {
      forms_[id] = {one(s_, e.scalar), {}, {}};
      return true;
    }
    size_t held = static_cast<size_t>(
        std::count_if(e.operands.begin(), e.operands.end(), [&](ExprId x) { return holds(x); }));
    if (held == 0) return true;
    switch (e.op) {
    case Op::add:
    case Op::sub: forms_[id] = sum(e.op, of(e.operands[0]), of(e.operands[1])); return true;
    case Op::neg:
      forms_[id] = each(of(e.operands[0]), [&](ExprId x) { return s_.unary(Op::neg, x); });
      return true;
    case Op::mul: {
      size_t inside = holds(e.operands[0]) ? 0 : 1;
      ExprId factor = e.operands[1 - inside];
      if (holds(factor)) return false;
      forms_[id] = each(of(e.operands[inside]), [&](ExprId x) { return times(x, factor); });
      return true;
    }
    case Op::div:
      if (holds(e.operands[1])) return false;
      forms_[id] =
          each(of(e.operands[0]), [&](ExprId x) { return s_.binary(Op::div, x, e.operands[1]); });
      return true;
    case Op::select:
      if (holds(e.operands[0])) return false;
      forms_[id] = choice(e.operands[0], of(e.operands[1]), of(e.operands[2]), e.scalar);
      return true;
    default: return false;
    }
  }

  AffineForm of(ExprId id) const {
    auto at = forms_.find(id);
    return at == forms_.end() ? AffineForm{{}, id, {}} : at->second;
  }

private:
  bool holds(ExprId id) const { return forms_.contains(id); }

  template <class F>
  AffineForm each(const AffineForm& form, F&& f) {
    return {form.a ? f(form.a) : form.a, form.b ? f(form.b) : form.b, form.resets};
  }

  ExprId times(ExprId x, ExprId factor) {
    return x == one(s_, s_[factor].scalar) ? factor : s_.binary(Op::mul, x, factor);
  }

  ExprId sum(Op op, ExprId x, ExprId y) {
    if (!y) return x;
    if (x) return s_.binary(op, x, y);
    return op == Op::sub ? s_.unary(Op::neg, y) : y;
  }

  AffineForm sum(Op op, AffineForm x, AffineForm y) {
    ExprId resets = x.a && y.a ? ExprId() : x.a ? x.resets : y.resets;
    if (x.a && y.a && x.resets == y.resets) {
      resets = x.resets;
    } else if (x.a && y.a) {
      // Where only one of them resets, its factor is 0.
      for (AffineForm* form : {&x, &y})
        if (form->resets) form->a = s_.select(form->resets, zero(s_, s_[form->a].scalar), form->a);
      if (x.resets && y.resets) resets = s_.logical_and(x.resets, y.resets);
    }
    return {sum(op, x.a, y.a), sum(op, x.b, y.b), resets};
  }

  AffineForm choice(ExprId condition, const AffineForm& x, const AffineForm& y, Scalar scalar) {
    const ExprId none = zero(s_, scalar);
    auto parts = [&](ExprId p, ExprId q) {
      if (p == q) return p;
      return s_.select(condition, p ? p : none, q ? q : none);
    };
    auto resets = [&](const AffineForm& form) {
      if (!form.a) return s_.boolean(true);
      return form.resets ? form.resets : s_.boolean(false);
    };
    ExprId p = resets(x), q = resets(y), both;
    if (p == q)
      both = p;
    else if (s_.as_boolean(p) == true && s_.as_boolean(q) == false)
      both = condition;
    else if (s_.as_boolean(p) == false && s_.as_boolean(q) == true)
      both = s_.unary(Op::logical_not, condition);
    else
      both = s_.select(condition, p, q);
    if (s_.as_boolean(both) == false) both = {};
    // Where it resets the factor is not asked for.
    ExprId a = !x.a ? y.a : !y.a ? x.a : parts(x.a, y.a);
    ExprId b = parts(x.b, y.b);
    return {a, b == none ? ExprId() : b, both};
  }

  ExprStore& s_;
  ExprId unknown_;
  std::unordered_map<ExprId, AffineForm> forms_; ///< of the terms that hold the unknown
};

} // namespace

ExprId one(ExprStore& store, Scalar scalar) {
  return scalar == Scalar::real ? store.real(1) : store.integer(1);
}

std::optional<AffineForm> affine_form(ExprStore& store, ExprId term, ExprId unknown) {
  Forms forms(store, unknown);
  for (ExprId id : reachable(store, {&term, 1}))
    if (!forms.visit(id)) return std::nullopt;
  return forms.of(term);
}

AffineStep affine_step(Graph& graph, const AffineForm& form, Scalar scalar) {
  ExprStore& s = graph.exprs;
  ExprId b = form.b ? form.b : zero(s, scalar);
  bool scaled = form.a != one(s, scalar);
  if (!form.resets && !scaled) return {*graph.builtin("sum", scalar), {b}, true};
  if (!form.resets && !form.b) return {*graph.builtin("prod", scalar), {form.a}, false};

  Monoid m;
  AffineStep step;
  m.name = form.resets ? "affine_with_resets" : "affine";
  auto side = [&](Op op, size_t field) {
    return s.state(op, static_cast<uint32_t>(field), m.fields[field].scalar);
  };
  ExprId reset, factor;
  if (form.resets) {
    m.fields.push_back({"r", Scalar::boolean, {}, s.boolean(false)});
    reset = side(Op::rhs, 0);
    m.combine.push_back(s.binary(Op::logical_or, side(Op::lhs, 0), reset));
    step.body.push_back(form.resets);
  }
  if (scaled) {
    m.fields.push_back({"a", scalar, {}, one(s, scalar)});
    factor = side(Op::rhs, m.fields.size() - 1);
    m.combine.push_back(s.binary(Op::mul, factor, side(Op::lhs, m.fields.size() - 1)));
    step.body.push_back(form.a);
  }
  m.fields.push_back({"b", scalar, {}, zero(s, scalar)});
  ExprId before = side(Op::lhs, m.fields.size() - 1), added = side(Op::rhs, m.fields.size() - 1);
  ExprId kept = s.binary(Op::add, factor ? s.binary(Op::mul, factor, before) : before, added);
  m.combine.push_back(reset ? s.select(reset, added, kept) : kept);
  step.body.push_back(b);
  for (uint32_t field = 0; field < m.fields.size(); ++field) m.visible.push_back(field);
  step.monoid = graph.add(std::move(m));
  return step;
}

} // namespace tang::rewrite
