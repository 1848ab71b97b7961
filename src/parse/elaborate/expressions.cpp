// Numbers, names, operators, functions.
#include "base/check.h"
#include "graph/text.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"

namespace tang::parse {

using graph::Op;

namespace {

std::string_view class_name(Scalar scalar) {
  switch (scalar) {
  case Scalar::boolean: return "a truth value";
  case Scalar::integer: return "an integer";
  case Scalar::real: return "a real";
  }
  return {};
}

} // namespace

Term Body::eval(ExprId id) {
  constexpr int deepest = 1024;
  if (!c_.charge(ast(id).span)) return {};
  if (depth_ >= deepest) {
    if (!std::exchange(c_.too_deep, true))
      c_.report_limit(Kind::expansion_too_deep, ast(id).span,
                      fmt::format("macros nest deeper than {} levels here", deepest))
          .help("give an inner value a name with an equation of its own");
    return {};
  }
  int depth = depth_++;
  Term value = std::holds_alternative<Binary>(ast(id).form) ? chain(id) : leaf(id);
  depth_ = depth;
  return value;
}

Term Body::chain(ExprId id) {
  std::vector<ExprId> spine = left_spine(module(), id);
  Term value = eval(std::get<Binary>(ast(spine.back()).form).left);
  for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
    const auto& x = std::get<Binary>(ast(*at).form);
    Span span = ast(*at).span;
    BinaryOp op = x.op;
    Term right = eval(x.right);
    value = binary(op, value, right, span);
  }
  return value;
}

Term Body::leaf(ExprId id) {
  const Expr& e = ast(id);
  return std::visit(Overload{[&](const Integer& x) { return terms().integer(x.value); },
                             [&](const Real& x) { return terms().real(x.value); },
                             [&](const Boolean& x) { return terms().boolean(x.value); },
                             [&](const NameRef& x) { return name(x.name); },
                             [&](const Read& x) { return read(x, e.span, {}); },
                             [&](const Call& x) { return call(x, e.span); },
                             [&](const Unary& x) { return unary(x, e.span); },
                             [&](const Binary&) { return chain(id); },
                             [&](const Guarded& x) {
                               const Expr& guarded = ast(x.read);
                               if (const Read* r = std::get_if<Read>(&guarded.form))
                                 return read(*r, guarded.span, x.otherwise);
                               report(Kind::misplaced_guard, guarded.span,
                                      "`else` follows a read, and this is none")
                                   .help("choose between two values with `where(c, a, b)`");
                               return Term();
                             },
                             [&](const Field& x) { return field(x, e.span); },
                             [&](const Apply& x) { return apply(x, e.span); }},
                    e.form);
}

Term Body::name(const Name& n) {
  if (Local* local = find_local(n.text)) {
    if (local->kind == LocalKind::value) return local_value(*local);
    if (local->indices.size() == 1) return terms().index(local->indices[0]);
    report(Kind::index_count, n.span,
           "`{}` stands for several indices here and has no single value", n.text);
    return {};
  }
  Symbol* symbol = c_.find(n.text);
  if (!symbol) {
    std::vector<std::string> more;
    for (std::string_view hidden_name : hidden()) more.emplace_back(hidden_name);
    c_.report_unknown(n, std::move(more));
    return {};
  }
  symbol->used = true;
  return std::visit(Overload{[&](const TensorSymbol& t) -> Term {
                               if (!t.id) return {};
                               const graph::Tensor& tensor = c_.graph[t.id];
                               if (!tensor.shape.empty()) {
                                 report(Kind::wrong_rank, n.span,
                                        "`{}` has {} ax{} and is read without places", n.text,
                                        tensor.shape.size(), tensor.shape.size() == 1 ? "is" : "es")
                                     .note(symbol->span, "it is declared here");
                                 return {};
                               }
                               return terms().read(t.id, graph::scalar_of(tensor.type), {});
                             },
                             [&](const DimSymbol& d) { return d.value; },
                             [&](const LetSymbol& l) { return l.value; }},
                    symbol->what);
}

Term Body::convert(Term value, Scalar to, Span span) {
  if (!value || scalar(value) == to) return value;
  if (to == Scalar::real && scalar(value) == Scalar::integer) return terms().to_real(value);
  Diagnostic& d = report(Kind::type_mismatch, span, "this is {}, and {} is wanted",
                         class_name(scalar(value)), class_name(to));
  if (scalar(value) == Scalar::boolean)
    d.help("a truth value becomes a number with `where(c, 1, 0)`");
  else if (to == Scalar::integer)
    d.help("a real becomes an integer with `i32(x)`");
  else
    d.help("compare the number with something: `x != 0`");
  return {};
}

bool Body::unify(Term& a, Term& b, Span span) {
  if (!a || !b) return false;
  if (scalar(a) == scalar(b)) return true;
  if (scalar(a) != Scalar::boolean && scalar(b) != Scalar::boolean) {
    a = terms().to_real(a), b = terms().to_real(b);
    return true;
  }
  report(Kind::type_mismatch, span, "one side is {}, the other {}", class_name(scalar(a)),
         class_name(scalar(b)))
      .help("a truth value becomes a number with `where(c, 1, 0)`");
  return false;
}

Term Body::eval_boolean(ExprId id) {
  Term value = eval(id);
  return convert(value, Scalar::boolean, ast(id).span);
}

Term Body::unary(const Unary& x, Span) {
  Term value = eval(x.operand);
  Span span = ast(x.operand).span;
  if (x.op == UnaryOp::logical_not) {
    value = convert(value, Scalar::boolean, span);
    return value ? terms().unary(Op::logical_not, value) : value;
  }
  if (value && scalar(value) == Scalar::boolean) value = convert(value, Scalar::real, span);
  return value ? terms().unary(Op::neg, value) : value;
}

Term Body::binary(BinaryOp op, Term a, Term b, Span span) {
  switch (op) {
  case BinaryOp::add:
  case BinaryOp::subtract:
  case BinaryOp::multiply:
  case BinaryOp::divide: return arithmetic(op, a, b, span);
  case BinaryOp::equal:
  case BinaryOp::not_equal:
  case BinaryOp::less:
  case BinaryOp::less_equal:
  case BinaryOp::greater:
  case BinaryOp::greater_equal: return comparison(op, a, b, span);
  case BinaryOp::logical_and:
  case BinaryOp::logical_or: break;
  }
  a = convert(a, Scalar::boolean, span), b = convert(b, Scalar::boolean, span);
  if (!a || !b) return {};
  return terms().binary(op == BinaryOp::logical_and ? Op::logical_and : Op::logical_or, a, b);
}

Term Body::arithmetic(BinaryOp op, Term a, Term b, Span span) {
  if (!a || !b) return {};
  if (scalar(a) == Scalar::boolean || scalar(b) == Scalar::boolean) {
    report(Kind::type_mismatch, span, "`{}` takes numbers, and one side is a truth value",
           spelling(op))
        .help("a truth value becomes a number with `where(c, 1, 0)`");
    return {};
  }
  if (op == BinaryOp::divide && scalar(a) == Scalar::integer && scalar(b) == Scalar::integer) {
    if (!real_division) {
      report(Kind::integer_division, span, "`/` divides reals, and both sides are integers")
          .help("write `floordiv(a, b)` for the quotient rounded down, or make one side real: "
                "`f32(a) / b`");
      return {};
    }
    a = terms().to_real(a);
  }
  unify(a, b, span);
  switch (op) {
  case BinaryOp::add: return terms().binary(Op::add, a, b);
  case BinaryOp::subtract: return terms().binary(Op::sub, a, b);
  case BinaryOp::multiply: return terms().binary(Op::mul, a, b);
  default: return terms().binary(Op::div, a, b);
  }
}

Term Body::comparison(BinaryOp op, Term a, Term b, Span span) {
  if (!unify(a, b, span)) return {};
  bool ordered = op != BinaryOp::equal && op != BinaryOp::not_equal;
  if (ordered && scalar(a) == Scalar::boolean) {
    report(Kind::type_mismatch, span, "`{}` takes numbers, and both sides are truth values",
           spelling(op));
    return {};
  }
  switch (op) {
  case BinaryOp::equal: return terms().binary(Op::eq, a, b);
  case BinaryOp::not_equal: return terms().binary(Op::ne, a, b);
  case BinaryOp::less: return terms().binary(Op::lt, a, b);
  case BinaryOp::less_equal: return terms().binary(Op::le, a, b);
  case BinaryOp::greater: return terms().binary(Op::lt, b, a);
  default: return terms().binary(Op::le, b, a);
  }
}

bool Body::want_arguments(const Call& x, size_t count, Span span) {
  if (x.arguments.size() == count) return true;
  report(Kind::argument_count, span, "`{}` takes {} argument{}, not {}", x.callee.text, count,
         count == 1 ? "" : "s", x.arguments.size());
  return false;
}

Term Body::call(const Call& x, Span span) {
  const std::string& f = x.callee.text;
  if (f == "where") return where(x, span);
  if (auto op = graph::op_of_function(f)) return function(*op, x, span);
  if (auto type = graph::type_of_name(f)) return conversion(*type, x, span);
  if (const Callable* callable = c_.find_callable(f, frames_.back().visible))
    return expand(*callable, nullptr, x.callee, x.arguments, span);
  c_.report_unknown_function(x.callee, frames_.back().visible);
  return {};
}

Term Body::function(Op op, const Call& x, Span span) {
  const graph::OpInfo& f = graph::info(op);
  if (!want_arguments(x, static_cast<size_t>(f.arity), span)) return {};
  std::vector<Term> arguments;
  bool failed = false, real = f.operands == graph::OperandClass::real;
  for (ExprId id : x.arguments) {
    Term value = eval(id);
    Span at = ast(id).span;
    if (value && f.operands == graph::OperandClass::integer)
      value = convert(value, Scalar::integer, at);
    else if (value && (real || scalar(value) == Scalar::boolean))
      value = convert(value, Scalar::real, at);
    failed |= !value;
    arguments.push_back(value);
  }
  if (failed) return {};
  if (f.arity == 1) return terms().unary(op, arguments[0]);
  unify(arguments[0], arguments[1], span);
  return terms().binary(op, arguments[0], arguments[1]);
}

Term Body::where(const Call& x, Span span) {
  if (!want_arguments(x, 3, span)) return {};
  Term condition = eval_boolean(x.arguments[0]);
  std::optional<bool> known = condition ? terms().as_boolean(condition) : std::nullopt;
  auto branch = [&](ExprId id, Term holds, bool dead) {
    size_t mark = conditions_.size();
    // A branch that is never taken is elaborated for its class only.
    Sink scratch, *real_sink = c_.sink;
    if (dead) c_.sink = &scratch, ++dead_;
    if (holds) push_condition(holds);
    Term value = eval(id);
    pop_conditions(mark);
    if (dead) c_.sink = real_sink, --dead_;
    if (!value && dead) value = terms().integer(0);
    return value;
  };
  Term opposite = condition ? terms().unary(Op::logical_not, condition) : condition;
  Term a = branch(x.arguments[1], condition, known == false);
  Term b = branch(x.arguments[2], opposite, known == true);
  if (!condition || !a || !b) return {};
  if (known && (scalar(a) == Scalar::boolean) != (scalar(b) == Scalar::boolean))
    return *known ? a : b;
  if (!unify(a, b, span)) return {};
  return terms().select(condition, a, b);
}

Term Body::conversion(graph::ElemType type, const Call& x, Span span) {
  if (!want_arguments(x, 1, span)) return {};
  Term value = eval(x.arguments[0]);
  if (!value) return {};
  graph::ExprStore& s = terms();
  Scalar to = graph::scalar_of(type);
  if (to == Scalar::boolean) {
    if (scalar(value) == Scalar::boolean) return value;
    return s.binary(Op::ne, value, scalar(value) == Scalar::real ? s.real(0) : s.integer(0));
  }
  if (scalar(value) == Scalar::boolean) value = s.select(value, s.integer(1), s.integer(0));
  if (to == Scalar::real) value = s.to_real(value);
  return s.cast(type, value);
}

Term Body::field(const Field& x, Span span) {
  const Monoid* monoid = monoid_scope.monoid;
  bool first = monoid && x.base.text == monoid->first.text,
       second = monoid && x.base.text == monoid->second.text;
  if (!first && !second) {
    report(Kind::monoid_field, span, "`{}` is not the state of a monoid", x.base.text)
        .help("fields are read in the combine of a `monoid` only");
    return {};
  }
  const auto& fields = *monoid_scope.fields;
  for (size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].name != x.field.text) continue;
    if (fields[f].axes.size() != x.places.size()) {
      report(Kind::monoid_field, span, "field `{}` has {} indices and is read with {}",
             x.field.text, fields[f].axes.size(), x.places.size())
          .note(monoid->fields[f].name.span, "it is declared here");
      return {};
    }
    std::vector<Term> at;
    for (size_t k = 0; k < x.places.size(); ++k) {
      Term place = eval(x.places[k]);
      place = convert(place, Scalar::integer, ast(x.places[k]).span);
      if (!place) return {};
      place = graph::canonical(terms(), place);
      if (!in_range(place, fields[f].axes[k].extent)) {
        report(Kind::read_may_leave, ast(x.places[k]).span,
               "this place may leave the field `{}`, whose extent is {}", x.field.text,
               graph::to_text(c_.graph, fields[f].axes[k].extent));
        return {};
      }
      at.push_back(place);
    }
    return terms().state(first ? Op::lhs : Op::rhs, static_cast<uint32_t>(f), fields[f].scalar, at);
  }
  std::vector<std::string> known;
  for (const auto& f : fields) known.push_back(f.name);
  std::string near = nearest_name(x.field.text, known);
  Diagnostic& d = report(Kind::monoid_field, x.field.span, "monoid `{}` has no field `{}`",
                         monoid->name.text, x.field.text);
  d.help(name_help(x.field.text, "field", known)).fix = near;
  return {};
}

} // namespace tang::parse
