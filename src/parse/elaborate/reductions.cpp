// Reductions and scans: built-in ones and user monoids.
#include "base/check.h"
#include "graph/text.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/monoids.h"
#include "parse/elaborate/nodes.h"
#include "parse/elaborate/scope.h"
#include <algorithm>

namespace tang::parse {

using graph::Op;

const Callable* Body::callable_of(const Apply& x) const {
  if (is_builtin_reduction(x.callee.text)) return nullptr;
  return c_.find_callable(x.callee.text, frames_.back().visible);
}

bool Body::is_comprehension(const Apply& x) const {
  if (is_builtin_reduction(x.callee.text)) return true;
  const Callable* callable = callable_of(x);
  return callable && std::holds_alternative<MonoidSymbol>(callable->what);
}

Term Body::apply(const Apply& x, Span span) {
  const Callable* callable = callable_of(x);
  if (!callable && !is_builtin_reduction(x.callee.text)) {
    if (graph::op_of_function(x.callee.text) || graph::type_of_name(x.callee.text))
      report(Kind::index_count, x.callee.span, "`{}` is a function and takes no index",
             x.callee.text)
          .help(fmt::format("write its arguments in parentheses: `{}(...)`", x.callee.text));
    else
      c_.report_unknown_function(x.callee, frames_.back().visible);
    return {};
  }
  if (callable && std::holds_alternative<DefSymbol>(callable->what)) {
    if (!x.is_scan) return expand(*callable, &x, x.callee, x.operands, span);
    report(Kind::misused_clause, x.callee.span,
           "`scan` runs a built-in reduction or a monoid, and `{}` is a macro", x.callee.text)
        .note(callable->span, "it is defined here");
    return {};
  }
  if (monoid_scope.monoid) return fold(x, span);
  return lift(x, span);
}

bool Body::check_clauses(const Apply& x) {
  bool ok = true;
  for (const Binder& binder : x.binders) {
    if (x.is_scan || (!binder.exclusive && !binder.desc)) continue;
    report(Kind::misused_clause, binder.name.span, "`{}` belongs to a `scan`",
           binder.exclusive ? "exclusive" : "desc")
        .help(fmt::format("write `scan {}[{} ...]`", x.callee.text, binder.name.text));
    ok = false;
  }
  bool is_topk = x.callee.text == "topk";
  if (x.count && !is_topk) {
    report(Kind::misused_clause, ast(x.count).span, "a count belongs to `topk[e; K]`");
    ok = false;
  }
  if (!x.count && is_topk) {
    report(Kind::misused_clause, x.callee.span, "`topk` needs a count: `topk[{}; K]`",
           x.binders[0].name.text);
    ok = false;
  }
  if (x.is_scan && x.binders.size() != 1) {
    report(Kind::index_count, x.binders[1].name.span, "a scan runs along one index, not {}",
           x.binders.size());
    ok = false;
  }
  return ok;
}

bool Body::check_arguments(const Apply& x, Span span) {
  size_t wanted = 1;
  const Callable* callable = callable_of(x);
  if (callable) {
    const auto& symbol = std::get<MonoidSymbol>(callable->what);
    if (symbol.erroneous) return false;
    wanted = symbol.monoid->fields.size();
  }
  if (x.operands.size() == wanted) return true;
  Diagnostic& d = report(Kind::argument_count, span, "`{}` takes {} value{}, not {}", x.callee.text,
                         wanted, wanted == 1 ? "" : "s", x.operands.size());
  if (callable) d.note(callable->span, "one for each state field of the monoid");
  return false;
}

std::optional<std::vector<Term>>
Body::operands(const Apply& x, const std::vector<std::vector<FieldIndex>>& fields) {
  std::vector<Term> terms;
  bool failed = false;
  for (size_t f = 0; f < x.operands.size(); ++f) {
    size_t own = f < fields.size() ? fields[f].size() : 0;
    for (size_t k = 0; k < own; ++k) push_index(*fields[f][k].name, fields[f][k].index, false);
    Term value = eval(x.operands[f]);
    locals_.resize(locals_.size() - own);
    failed |= !value;
    terms.push_back(value);
  }
  if (failed) return std::nullopt;
  return terms;
}

std::optional<graph::MonoidId> Body::monoid_of(const Apply& x, std::vector<Term>& operands,
                                               Span span) {
  if (const Callable* callable = callable_of(x)) {
    std::vector<Scalar> classes;
    for (Term operand : operands) classes.push_back(scalar(operand));
    auto id = instantiate(c_, *callable, classes);
    if (!id) return std::nullopt;
    for (size_t f = 0; f < operands.size(); ++f) {
      operands[f] = convert(operands[f], c_.graph[*id].fields[f].scalar, ast(x.operands[f]).span);
      if (!operands[f]) return std::nullopt;
    }
    return id;
  }
  int64_t count = 0;
  if (x.count) {
    auto k = constant_integer(c_, module(), x.count, Kind::not_constant, "the count");
    if (!k) return std::nullopt;
    count = *k;
    if (count < 0 || count > 65536) {
      report(Kind::not_constant, ast(x.count).span, "the count is {}, and 0..65536 is possible",
             count);
      return std::nullopt;
    }
  }
  auto id = c_.graph.builtin(x.callee.text, scalar(operands[0]), count);
  if (id) return id;
  bool logical = x.callee.text == "any" || x.callee.text == "all";
  Diagnostic& d = report(
      Kind::builtin_operand, ast(x.operands[0]).span, "`{}` takes {}, and this is {}",
      x.callee.text, logical ? "truth values" : "numbers", logical ? "a number" : "a truth value");
  if (logical)
    d.help("compare it with something: `x != 0`");
  else
    d.help("count with `where(c, 1, 0)`");
  (void)span;
  return std::nullopt;
}

void Body::append_index_body(std::vector<Term>& bodies, graph::MonoidId monoid,
                             const std::vector<Group>& groups) {
  if (bodies.size() == c_.graph[monoid].fields.size()) return;
  // Built-in states (value, index): the index of a point, row-major over several indices.
  Term position;
  for (const Group& group : groups)
    for (graph::IndexId index : group.indices) {
      Term here = terms().index(index);
      position =
          position
              ? terms().binary(Op::add, terms().binary(Op::mul, position, axis(index).extent), here)
              : here;
    }
  bodies.push_back(graph::canonical(terms(), position));
}

void Body::warn_unused(const std::vector<Term>& operands, Term filter, const Apply& x,
                       const std::vector<Group>& groups) {
  if (frames_.size() > 1 || x.is_scan || dead_ > 0) return;
  auto uses = [&](Term term, graph::IndexId index) {
    const auto& free = terms()[term].free;
    return std::binary_search(free.begin(), free.end(), index);
  };
  for (const Group& group : groups) {
    bool used = false;
    for (graph::IndexId index : group.indices) {
      used |= filter && uses(filter, index);
      for (Term operand : operands) used |= uses(operand, index);
    }
    if (used || group.indices.empty()) continue;
    report(Kind::unused_index, group.binder->name.span,
           "the value under `{}` does not use index `{}`", x.callee.text, group.binder->name.text)
        .help(fmt::format("each of the {} points gives the same",
                          graph::to_text(c_.graph, axis(group.indices[0]).extent)));
  }
}

std::optional<Comprised> Body::comprise(const Apply& x, Span span,
                                        const std::vector<std::vector<FieldIndex>>& fields) {
  if (!check_clauses(x)) return std::nullopt;
  Scope scope(*this);
  Comprised parts;
  parts.callee = x.callee.text, parts.is_scan = x.is_scan;
  std::vector<Group> groups;
  bool ok = bind(x, std::vector<bool>(x.binders.size(), x.is_scan), groups);
  auto filter = filter_of(x, groups);
  if (filter && *filter) push_condition(*filter);
  auto values = operands(x, fields);
  if (!check_arguments(x, span) || !ok || !filter || !values) return std::nullopt;
  warn_unused(*values, *filter, x, groups);
  auto monoid = monoid_of(x, *values, span);
  if (!monoid) return std::nullopt;
  append_index_body(*values, *monoid, groups);

  parts.reduction.monoid = *monoid, parts.reduction.filter = *filter,
  parts.reduction.body = std::move(*values);
  const graph::Monoid& m = c_.graph[*monoid];
  parts.reduction.field_axes.resize(m.fields.size());
  for (size_t f = 0; f < fields.size(); ++f)
    for (const FieldIndex& index : fields[f])
      parts.reduction.field_axes[f].push_back(axis(index.index));
  if (x.is_scan) {
    if (groups[0].indices.size() != 1) {
      report(Kind::index_count, groups[0].binder->name.span,
             "a scan runs along one index, and `{}` stands for {}", groups[0].binder->name.text,
             groups[0].indices.size());
      return std::nullopt;
    }
    parts.scan_index = groups[0].indices[0];
    parts.exclusive = x.binders[0].exclusive, parts.descending = x.binders[0].desc;
    return parts;
  }
  for (const Group& group : groups)
    for (graph::IndexId index : group.indices) parts.reduction.axes.push_back(axis(index));
  return parts;
}

Term Body::result_value(const Comprised& parts, uint32_t field, const std::vector<Term>& places) {
  Scalar element = c_.graph[parts.reduction.monoid].fields[field].scalar;
  Term value = terms().state(Op::acc, field, element, places);
  if (!parts.is_scan || !parts.reduction.filter) return value;
  return terms().select(parts.reduction.filter, value, zero(terms(), element));
}

Term Body::lift(const Apply& x, Span span) {
  open_level();
  auto parts = comprise(x, span);
  std::vector<Term> needed = close_level();
  if (!parts) return {};
  const graph::Monoid& m = c_.graph[parts->reduction.monoid];
  bool has_axes =
      std::any_of(m.fields.begin(), m.fields.end(), [](const auto& f) { return !f.axes.empty(); });
  if (m.visible.size() != 1 || has_axes) {
    report(Kind::monoid_place, span, "`{}` gives {} here, and one value is wanted", x.callee.text,
           m.visible.size() != 1 ? fmt::format("{} values", m.visible.size())
                                 : "a table at each point")
        .help("give its results names with an equation of their own: `(a[...], b[...]) = ...`");
    return {};
  }
  graph::Comprehension node;
  uint32_t field = m.visible[0];
  node.results.push_back({{}, result_value(*parts, field, {}), {}});
  node.reduction = std::move(parts->reduction);
  if (parts->is_scan) {
    node.points.push_back(
        axis(parts->scan_index)); // define_lifted adds the others and finds its place
    node.scan = graph::Scan{0, parts->exclusive, parts->descending};
  }
  return define_lifted(std::move(node), needed, fmt::format("{}_{}", name_, parts->callee), span);
}

Term Body::fold(const Apply& x, Span span) {
  if (x.is_scan || !is_builtin_reduction(x.callee.text)) {
    report(Kind::monoid_place, span,
           "only `sum prod max min any all` may reduce inside the combine of a monoid");
    return {};
  }
  auto parts = comprise(x, span);
  if (!parts) return {};
  const graph::Monoid& m = c_.graph[parts->reduction.monoid];
  if (m.fields.size() != 1) {
    report(Kind::monoid_place, span,
           "only `sum prod max min any all` may reduce inside the combine of a monoid");
    return {};
  }
  std::vector<graph::IndexId> bound;
  std::vector<Term> extents;
  for (const graph::Axis& a : parts->reduction.axes)
    bound.push_back(a.index), extents.push_back(a.extent);
  Scalar element = m.fields[0].scalar;
  return terms().fold(parts->reduction.monoid, element, bound, extents, parts->reduction.filter,
                      parts->reduction.body[0]);
}

} // namespace tang::parse
