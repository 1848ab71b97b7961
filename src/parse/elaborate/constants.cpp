#include "parse/elaborate/constants.h"
#include "base/check.h"
#include "base/checked.h"
#include "graph/prover.h"
#include "graph/text.h"
#include <cmath>

namespace tang::parse {

using graph::Polynomial;

std::vector<ExprId> left_spine(const Module& module, ExprId id) {
  std::vector<ExprId> spine;
  while (const auto* binary = std::get_if<Binary>(&module[id].form))
    spine.push_back(id), id = binary->left;
  return spine;
}

std::optional<int64_t> Number::as_integer() const {
  if (exact) return denominator == 1 ? numerator.as_constant() : std::nullopt;
  if (symbolic || overflow || real != std::floor(real) || std::abs(real) >= 9007199254740992.0)
    return std::nullopt;
  return static_cast<int64_t>(real);
}

std::optional<double> Number::as_real() const {
  if (symbolic) return std::nullopt;
  if (!exact) return real;
  auto n = numerator.as_constant();
  if (!n) return std::nullopt;
  return static_cast<double>(*n) / static_cast<double>(denominator);
}

namespace {

Number from_real(double value) {
  Number n;
  n.real = value;
  return n;
}

Number from_polynomial(Polynomial p, int64_t denominator = 1) {
  Number n;
  n.exact = true;
  // The smallest denominator, so that 6/3 is an integer.
  int64_t divisor = denominator;
  for (const auto& [monomial, coefficient] : p.terms())
    divisor = common_divisor(divisor, coefficient);
  if (divisor > 1) {
    Polynomial reduced;
    for (const auto& [monomial, coefficient] : p.terms()) {
      Polynomial term = Polynomial::constant(coefficient / divisor);
      for (Term atom : monomial) term = *term.times(Polynomial::atom(atom));
      reduced = *reduced.plus(term);
    }
    p = std::move(reduced), denominator /= divisor;
  }
  n.numerator = std::move(p), n.denominator = denominator;
  return n;
}

/// One evaluation: what the recursion carries along.
class Evaluator {
public:
  Evaluator(Context& context, const Module& module) : c_(context), m_(module) {}

  std::optional<Number> value(ExprId id) {
    std::vector<ExprId> spine = left_spine(m_, id);
    if (spine.empty()) return leaf(id);
    auto result = value_of_leftmost(spine.back());
    for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
      const auto& binary = std::get<Binary>(m_[*at].form);
      auto right = value(binary.right);
      if (!result || !right) {
        result.reset();
        continue;
      }
      result = combine(binary.op, *result, *right, m_[*at].span);
    }
    return result;
  }

private:
  std::optional<Number> value_of_leftmost(ExprId binary) {
    return leaf(std::get<Binary>(m_[binary].form).left);
  }

  std::optional<Number> refuse(Span span, std::string_view what) {
    c_.report(Kind::not_constant, span, "{} is not a compile-time constant", what);
    return std::nullopt;
  }

  std::optional<Number> leaf(ExprId id) {
    const Expr& e = m_[id];
    return std::visit(
        Overload{[&](const Integer& x) {
                   return std::optional(from_polynomial(Polynomial::constant(x.value)));
                 },
                 [&](const Real& x) { return std::optional(from_real(x.value)); },
                 [&](const Boolean&) { return refuse(e.span, "a truth value"); },
                 [&](const NameRef& x) { return name(x.name); },
                 [&](const Read& x) { return refuse(e.span, backquoted(x.tensor.text + "[...]")); },
                 [&](const Call& x) { return call(x, e.span); },
                 [&](const Unary& x) {
                   if (x.op == UnaryOp::logical_not) return refuse(e.span, "a truth value");
                   auto v = value(x.operand);
                   return v ? combine(BinaryOp::subtract, from_polynomial({}), *v, e.span) : v;
                 },
                 [&](const Binary&) { return value(id); },
                 [&](const Guarded&) { return refuse(e.span, "a read"); },
                 [&](const Field&) { return refuse(e.span, "a field"); },
                 [&](const Apply&) { return refuse(e.span, "a reduction"); }},
        e.form);
  }

  std::optional<Number> name(const Name& n) {
    Symbol* symbol = c_.find(n.text);
    if (!symbol) {
      c_.report_unknown(n);
      return std::nullopt;
    }
    symbol->used = true;
    return std::visit(Overload{[&](const TensorSymbol&) -> std::optional<Number> {
                                 c_.report(Kind::not_constant, n.span,
                                           "`{}` is a tensor, not a compile-time constant", n.text)
                                     .note(symbol->span, "it is declared here");
                                 return std::nullopt;
                               },
                               [&](const DimSymbol& d) -> std::optional<Number> {
                                 if (!d.value) return std::nullopt;
                                 auto p = graph::polynomial_of(c_.terms(), d.value);
                                 return p ? std::optional(from_polynomial(*p)) : std::nullopt;
                               },
                               [&](const LetSymbol& l) -> std::optional<Number> {
                                 if (!l.value) return std::nullopt;
                                 const graph::Expr& e = c_.terms()[l.value];
                                 Number v = from_real(e.real);
                                 v.symbolic = e.op != graph::Op::literal_real;
                                 return v;
                               }},
                      symbol->what);
  }

  static Number inexact(BinaryOp op, const Number& a, const Number& b) {
    auto x = a.as_real(), y = b.as_real();
    Number n;
    n.symbolic = !x || !y;
    if (n.symbolic) return n;
    switch (op) {
    case BinaryOp::add: n.real = *x + *y; break;
    case BinaryOp::subtract: n.real = *x - *y; break;
    case BinaryOp::multiply: n.real = *x * *y; break;
    default: n.real = *x / *y; break;
    }
    return n;
  }

  std::optional<Number> combine(BinaryOp op, const Number& a, const Number& b, Span span) {
    bool arithmetic = op == BinaryOp::add || op == BinaryOp::subtract || op == BinaryOp::multiply ||
                      op == BinaryOp::divide;
    if (!arithmetic) return refuse(span, "a truth value");
    if (!a.exact || !b.exact) {
      Number n = inexact(op, a, b);
      n.overflow = a.overflow || b.overflow;
      return n;
    }
    std::optional<Polynomial> p;
    std::optional<int64_t> denominator = checked_mul(a.denominator, b.denominator);
    auto scaled = [](const Polynomial& q, int64_t by) { return q.times(Polynomial::constant(by)); };
    if (op == BinaryOp::add || op == BinaryOp::subtract) {
      auto x = scaled(a.numerator, b.denominator), y = scaled(b.numerator, a.denominator);
      if (x && y) p = op == BinaryOp::add ? x->plus(*y) : x->minus(*y);
    } else if (op == BinaryOp::multiply) {
      p = a.numerator.times(b.numerator);
    } else {
      auto divisor = b.numerator.as_constant();
      if (!divisor || *divisor == 0) return inexact(op, a, b);
      p = scaled(a.numerator, b.denominator);
      if (p && *divisor < 0) p = Polynomial().minus(*p);
      denominator = *divisor == std::numeric_limits<int64_t>::min()
                        ? std::nullopt
                        : checked_mul(a.denominator, std::abs(*divisor));
    }
    if (p && denominator) return from_polynomial(*p, *denominator);
    Number n = inexact(op, a, b);
    n.overflow = true;
    return n;
  }

  std::optional<Number> call(const Call& x, Span span) {
    std::vector<Number> arguments;
    bool failed = false;
    for (ExprId id : x.arguments) {
      auto v = value(id);
      if (v)
        arguments.push_back(std::move(*v));
      else
        failed = true;
    }
    const std::string& f = x.callee.text;
    size_t arity =
        f == "sqrt" || f == "exp" || f == "log" || f == "abs" || f == "floor" || f == "ceil" ? 1
        : f == "pow" || f == "min" || f == "max" || f == "floordiv" || f == "mod"            ? 2
                                                                                             : 0;
    if (arity == 0) return refuse(span, backquoted(f + "(...)"));
    if (x.arguments.size() != arity) {
      c_.report(Kind::argument_count, span, "`{}` takes {} argument{}, not {}", f, arity,
                arity == 1 ? "" : "s", x.arguments.size());
      return std::nullopt;
    }
    if (failed) return std::nullopt;
    if (arity == 2 && f != "pow" && arguments[0].exact && arguments[1].exact)
      if (auto exact = integer_call(f, arguments)) return exact;
    return real_call(f, arguments);
  }

  /// `min max floordiv mod` of integers, with or without dims.
  std::optional<Number> integer_call(const std::string& f, const std::vector<Number>& a) {
    if (a[0].denominator != 1 || a[1].denominator != 1) return std::nullopt;
    graph::ExprStore& s = c_.terms();
    Term t = s.binary(*graph::op_of_function(f), graph::build(s, a[0].numerator),
                      graph::build(s, a[1].numerator));
    auto p = graph::polynomial_of(s, t);
    return p ? std::optional(from_polynomial(*p)) : std::nullopt;
  }

  static std::optional<Number> real_call(const std::string& f, const std::vector<Number>& a) {
    Number n;
    std::vector<double> v;
    for (const Number& x : a) {
      auto real = x.as_real();
      if (!real) {
        n.symbolic = true;
        return n;
      }
      v.push_back(*real);
    }
    n.real = f == "sqrt"       ? std::sqrt(v[0])
             : f == "exp"      ? std::exp(v[0])
             : f == "log"      ? std::log(v[0])
             : f == "abs"      ? std::abs(v[0])
             : f == "floor"    ? std::floor(v[0])
             : f == "ceil"     ? std::ceil(v[0])
             : f == "pow"      ? std::pow(v[0], v[1])
             : f == "min"      ? std::min(v[0], v[1])
             : f == "max"      ? std::max(v[0], v[1])
             : f == "floordiv" ? (v[1] == 0 ? 0 : std::floor(v[0] / v[1]))
                               : (v[1] == 0 ? 0 : v[0] - v[1] * std::floor(v[0] / v[1]));
    return n;
  }

  Context& c_;
  const Module& m_;
};

/// Whether every value of the polynomial is a multiple of `divisor`, by the steps of its dims.
bool divisible(Context& c, const Polynomial& p, int64_t divisor) {
  for (const auto& [monomial, coefficient] : p.terms()) {
    int64_t left = divisor / common_divisor(divisor, coefficient);
    for (Term atom : monomial)
      if (c.terms()[atom].op == graph::Op::dim)
        left /= common_divisor(left, c.graph[graph::DimId(c.terms()[atom].ref)].step);
    if (left != 1) return false;
  }
  return true;
}

} // namespace

std::optional<Number> evaluate_constant(Context& context, const Module& module, ExprId id) {
  return Evaluator(context, module).value(id);
}

std::optional<int64_t> constant_integer(Context& context, const Module& module, ExprId id,
                                        Kind kind, std::string_view what) {
  auto n = evaluate_constant(context, module, id);
  if (!n) return std::nullopt;
  if (auto v = n->as_integer()) return v;
  Span span = module[id].span;
  if (n->overflow)
    context.report(Kind::dim_overflow, span, "{} does not fit into 64 bits", what);
  else if (n->symbolic || (n->exact && !n->numerator.as_constant()))
    context.report(kind, span, "{} depends on a dim that is not fixed", what);
  else
    context.report(kind, span, "{} is {}, not an integer", what, *n->as_real());
  return std::nullopt;
}

std::optional<double> constant_real(Context& context, const Module& module, ExprId id,
                                    std::string_view what) {
  auto n = evaluate_constant(context, module, id);
  if (!n) return std::nullopt;
  if (auto v = n->as_real()) return v;
  context.report(Kind::not_constant, module[id].span, "{} depends on a dim that is not fixed",
                 what);
  return std::nullopt;
}

Term constant_term(Context& context, const Module& module, ExprId id, Kind kind,
                   std::string_view what) {
  auto n = evaluate_constant(context, module, id);
  if (!n) return {};
  graph::ExprStore& s = context.terms();
  Span span = module[id].span;
  if (auto v = n->as_integer()) return s.integer(*v);
  if (n->overflow) {
    context.report(Kind::dim_overflow, span, "{} does not fit into 64 bits", what);
    return {};
  }
  if (n->exact && n->denominator == 1) return graph::build(s, n->numerator);
  if (n->exact && divisible(context, n->numerator, n->denominator))
    return graph::canonical(
        s, s.binary(graph::Op::floordiv, graph::build(s, n->numerator), s.integer(n->denominator)));
  if (auto real = n->as_real())
    context.report(kind, span, "{} is {}, not an integer", what, *real);
  else if (n->exact)
    context
        .report(kind, span, "{} is not proved to be an integer: `{}` may not be a multiple of {}",
                what, graph::to_text(context.graph, graph::build(s, n->numerator)), n->denominator)
        .help("declare the dim with a `step`, or use `floordiv`");
  else
    context.report(kind, span, "{} is not an integer for every value of its dims", what);
  return {};
}

Term extent_term(Context& context, const Module& module, ExprId id) {
  Term t = constant_term(context, module, id, Kind::bad_extent, "the extent");
  if (!t) return {};
  graph::IntRange range = graph::Prover(context.graph).range(t);
  if (range.lo >= 0) return t;
  graph::Prover prover(context.graph);
  if (prover.less_equal(context.terms().integer(0), t)) return t;
  if (range.hi < 0)
    context.report(Kind::bad_extent, module[id].span, "the extent is negative");
  else
    context
        .report(Kind::bad_extent, module[id].span, "the extent may be negative: it is {} at least",
                range.lo)
        .help("state a range for the dim, such as `dim N in 1..4096`");
  return {};
}

} // namespace tang::parse
