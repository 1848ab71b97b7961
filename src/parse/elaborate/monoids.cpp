#include "parse/elaborate/monoids.h"
#include "base/check.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/callables.h"
#include "parse/elaborate/constants.h"
#include <algorithm>

namespace tang::parse {

using graph::Op;

namespace {

/// The wider class of numbers; `boolean` and a number do not mix and stay with the first.
Scalar wider(Scalar a, Scalar b) {
  return a == Scalar::integer && b == Scalar::real ? b : a;
}

/// Axes of the fields, with indices 0, 1, ... in the order of the declaration.
bool declare_axes(Context& c, const Module& module, const Monoid& monoid, Body& body,
                  graph::Monoid& result) {
  bool ok = true;
  for (const MonoidField& f : monoid.fields) {
    graph::MonoidField field;
    field.name = f.name.text;
    for (const Binder& binder : f.indices) {
      if (!binder.extent) {
        c.report(Kind::index_without_range, binder.name.span, "index `{}` of a field has no extent",
                 binder.name.text)
            .help(fmt::format("state it: `{}: N`", binder.name.text));
        ok = false;
        continue;
      }
      Term extent = extent_term(c, module, binder.extent);
      if (extent && !c.terms().as_integer(extent)) {
        c.report(Kind::not_constant, module[binder.extent].span,
                 "the extent of a field depends on a dim that is not fixed");
        extent = {};
      }
      ok &= static_cast<bool>(extent);
      field.axes.push_back(body.axis(body.new_index(binder.name.text, extent)));
    }
    result.fields.push_back(std::move(field));
  }
  return ok;
}

/// A monoid is the same at every point, so data is none of its business.
bool reads_tensor(Context& c, Term term, Span span) {
  if (!term || !c.terms()[term].has_read) return false;
  for (Term id : graph::reachable(c.terms(), {&term, 1})) {
    if (c.terms()[id].op != Op::read) continue;
    const graph::Tensor& tensor = c.graph[graph::TensorId(c.terms()[id].ref)];
    c.report(Kind::monoid_place, span, "a monoid reads no tensor")
        .note(tensor.span, fmt::format("`{}` is declared here", tensor.name))
        .help("give its value to the reduction as the operand of a field");
    return true;
  }
  return false;
}

/// Identities and combines in classes that only grow; false when something is erroneous.
bool elaborate_fields(Context& c, const Module& module, const Monoid& monoid, Body& body,
                      graph::Monoid& result) {
  body.monoid_scope = {&monoid, &result.fields};
  for (size_t round = 0; round <= monoid.fields.size(); ++round) {
    bool stable = true;
    result.combine.clear();
    for (size_t f = 0; f < monoid.fields.size(); ++f) {
      graph::MonoidField& field = result.fields[f];
      for (size_t k = 0; k < field.axes.size(); ++k)
        body.push_index(monoid.fields[f].indices[k].name, field.axes[k].index, false);
      field.identity = body.eval(monoid.fields[f].identity);
      if (reads_tensor(c, field.identity, module[monoid.fields[f].identity].span)) return false;
      if (field.identity && c.terms()[field.identity].scalar != Scalar::boolean) {
        Scalar w = wider(field.scalar, c.terms()[field.identity].scalar);
        stable &= w == field.scalar, field.scalar = w;
      }
      Term combine = field.identity ? body.eval(monoid.combine[f]) : Term();
      if (combine && c.terms()[combine].scalar != Scalar::boolean) {
        Scalar w = wider(field.scalar, c.terms()[combine].scalar);
        stable &= w == field.scalar, field.scalar = w;
      }
      body.pop_locals(field.axes.size());
      if (!combine || reads_tensor(c, combine, module[monoid.combine[f]].span)) return false;
      result.combine.push_back(combine);
    }
    if (!stable) continue;
    for (size_t f = 0; f < monoid.fields.size(); ++f) {
      graph::MonoidField& field = result.fields[f];
      field.identity =
          body.convert(field.identity, field.scalar, module[monoid.fields[f].identity].span);
      result.combine[f] =
          body.convert(result.combine[f], field.scalar, module[monoid.combine[f]].span);
      if (!field.identity || !result.combine[f]) return false;
    }
    return true;
  }
  return false;
}

/// The term with the earlier and the later state exchanged, and operands of commutative ops in one
/// order.
Term ordered(graph::ExprStore& s, Term root, bool exchange) {
  return graph::rewrite(s, root, [&](Term id) {
    graph::Expr e = s[id];
    if (exchange && (e.op == Op::lhs || e.op == Op::rhs))
      return s.state(e.op == Op::lhs ? Op::rhs : Op::lhs, e.ref, e.scalar, e.operands);
    bool commutes = e.op == Op::add || e.op == Op::mul || e.op == Op::min || e.op == Op::max ||
                    e.op == Op::eq || e.op == Op::ne || e.op == Op::logical_and ||
                    e.op == Op::logical_or || e.op == Op::bit_and || e.op == Op::bit_or ||
                    e.op == Op::bit_xor;
    if (commutes && e.operands[1] < e.operands[0])
      return s.binary(e.op, e.operands[1], e.operands[0]);
    return id;
  });
}

std::optional<graph::Monoid> build_monoid(Context& c, const Callable& callable,
                                          const std::vector<Scalar>& operands) {
  const MonoidSymbol& symbol = std::get<MonoidSymbol>(callable.what);
  const Monoid& monoid = *symbol.monoid;
  graph::Monoid result;
  result.name = monoid.name.text;
  Body body(c, *symbol.module, monoid.name.text, callable.span);
  if (!declare_axes(c, *symbol.module, monoid, body, result)) return std::nullopt;
  for (size_t f = 0; f < monoid.fields.size(); ++f) result.fields[f].scalar = operands[f];
  if (!elaborate_fields(c, *symbol.module, monoid, body, result)) return std::nullopt;
  result.commutative = true;
  for (Term combine : result.combine)
    result.commutative &= ordered(c.terms(), ordered(c.terms(), combine, true), false) ==
                          ordered(c.terms(), combine, false);
  for (uint32_t f = 0; f < result.fields.size(); ++f) result.visible.push_back(f);
  return result;
}

} // namespace

std::optional<graph::MonoidId> instantiate(Context& c, const Callable& callable,
                                           const std::vector<Scalar>& operands) {
  std::pair<const Monoid*, std::vector<Scalar>> key{std::get<MonoidSymbol>(callable.what).monoid,
                                                    operands};
  if (auto at = c.monoids.find(key); at != c.monoids.end()) return at->second;
  auto monoid = build_monoid(c, callable, operands);
  if (!monoid) return std::nullopt;
  graph::MonoidId id = c.graph.add(std::move(*monoid));
  c.monoids.emplace(std::move(key), id);
  return id;
}

void declare_monoid(Context& c, const Module& module, const Monoid& monoid, bool is_library) {
  MonoidSymbol symbol{&module, &monoid, false};
  if (monoid.combine.size() != monoid.fields.size()) {
    c.report(Kind::monoid_shape, monoid.name.span,
             "monoid `{}` has {} field{} and {} combined value{}", monoid.name.text,
             monoid.fields.size(), monoid.fields.size() == 1 ? "" : "s", monoid.combine.size(),
             monoid.combine.size() == 1 ? "" : "s");
    symbol.erroneous = true;
  }
  for (size_t a = 0; a < monoid.fields.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      if (monoid.fields[a].name.text != monoid.fields[b].name.text) continue;
      c.report(Kind::duplicate_definition, monoid.fields[a].name.span,
               "field `{}` is declared twice", monoid.fields[a].name.text)
          .note(monoid.fields[b].name.span, "first here");
      symbol.erroneous = true;
    }
  Callable callable{monoid.name.text, monoid.name.span, is_library, symbol};
  // A declaration that nobody uses is checked as well: with real fields, or with integers where the
  // combine needs them.
  if (!symbol.erroneous && !is_library) {
    Sink* sink = c.sink;
    Sink reals, integers;
    std::vector<Scalar> classes;
    for (const MonoidField& f : monoid.fields)
      classes.push_back(std::holds_alternative<Boolean>(module[f.identity].form) ? Scalar::boolean
                                                                                 : Scalar::real);
    c.sink = &reals;
    bool ok = build_monoid(c, callable, classes).has_value();
    if (!ok) {
      std::replace(classes.begin(), classes.end(), Scalar::real, Scalar::integer);
      c.sink = &integers;
      ok = build_monoid(c, callable, classes).has_value();
    }
    c.sink = sink;
    if (!ok) {
      for (const Diagnostic& d : reals.diagnostics()) {
        Diagnostic& copy = c.sink->report(d.kind, d.span, std::string(d.message));
        copy.notes = d.notes, copy.fix = d.fix;
      }
      std::get<MonoidSymbol>(callable.what).erroneous = true;
    }
  }
  c.declare_callable(monoid.name, std::move(callable));
}

} // namespace tang::parse
