// What the brackets of a reduction, scan or macro bind.
#include "graph/text.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/scope.h"
#include <algorithm>

namespace tang::parse {

bool Body::bind(const Apply& x, const std::vector<bool>& keeps, std::vector<Group>& groups) {
  bool ok = true;
  for (size_t b = 0; b < x.binders.size(); ++b) {
    const Binder& binder = x.binders[b];
    for (size_t a = 0; a < b; ++a) {
      if (x.binders[a].name.text != binder.name.text) continue;
      report(Kind::repeated_index, binder.name.span, "index `{}` is bound twice", binder.name.text)
          .note(x.binders[a].name.span, "first bound here");
      ok = false;
    }
    Group group;
    group.binder = &binder, group.is_new = !keeps[b];
    ok &= keeps[b] ? bind_existing(binder, x, group) : bind_new(binder, x, group);
    groups.push_back(std::move(group));
  }
  return ok;
}

bool Body::bind_existing(const Binder& binder, const Apply& x, Group& group) {
  Local* local = find_local(binder.name.text);
  if (!local || local->kind == LocalKind::value) {
    report(Kind::index_not_bound, binder.name.span,
           "`{}{}` gives a value for each `{}`, which is no index here", x.is_scan ? "scan " : "",
           x.callee.text, binder.name.text)
        .help(fmt::format(
            "make `{0}` an index on the left of the equation, or of a reduction around this",
            binder.name.text));
    // So that the operand does not report an unknown name.
    Local silent;
    silent.name = binder.name.text, silent.span = binder.name.span;
    locals_.push_back(std::move(silent));
    return false;
  }
  group.indices = local->indices;
  group.filter = rename(local->filter, local->renames_seen);
  if (!binder.extent) return true;
  Term extent = extent_term(c_, module(), binder.extent);
  if (!extent) return false;
  for (graph::IndexId index : group.indices) {
    if (axis(index).extent == extent || !axis(index).extent) continue;
    report(Kind::extents_disagree, ast(binder.extent).span, "index `{}` has extent {} already",
           binder.name.text, graph::to_text(c_.graph, axis(index).extent))
        .note(local->span, "it is bound here");
    return false;
  }
  return true;
}

bool Body::bind_copy(const Binder& binder, const Local& outer, Group& group) {
  Local local = outer;
  local.indices.clear();
  for (graph::IndexId from : outer.indices) {
    graph::IndexId to = new_index(axis(from).name, axis(from).extent);
    frames_.back().renames.emplace_back(from, to);
    local.indices.push_back(to);
  }
  group.indices = local.indices;
  group.filter = rename(local.filter, local.renames_seen);
  locals_.push_back(std::move(local));
  if (!binder.extent) return true;
  report(Kind::misused_clause, ast(binder.extent).span,
         "`{}` is the index of the macro and has its extent", binder.name.text);
  return false;
}

bool Body::bind_new(const Binder& binder, const Apply& x, Group& group) {
  const Name& name = binder.name;
  Local* outer = find_local(name.text);
  bool ok = true;
  // A copy: pushing a local moves them.
  if (outer && outer->kind == LocalKind::binder) return bind_copy(binder, Local(*outer), group);
  bool in_equation = frames_.size() == 1;
  if (outer && in_equation &&
      std::find(points_.begin(), points_.end(), outer->indices[0]) != points_.end()) {
    report(Kind::repeated_index, name.span, "`{}` is an index of the equation and is bound again",
           name.text)
        .note(outer->span, "it is bound here first")
        .help("give the inner index another name");
    ok = false;
  } else if (outer) {
    report(Kind::shadowed_name, name.span, "index `{}` hides another `{}`", name.text, name.text)
        .note(outer->span, "the hidden one");
  } else if (const Symbol* symbol = in_equation ? c_.find(name.text) : nullptr) {
    std::string_view what = std::holds_alternative<TensorSymbol>(symbol->what) ? "tensor"
                            : std::holds_alternative<DimSymbol>(symbol->what)  ? "dim"
                                                                               : "let";
    report(Kind::shadowed_name, name.span, "index `{}` hides the {} `{}`", name.text, what,
           name.text)
        .note(symbol->span, "declared here");
  }
  Term extent;
  if (binder.extent)
    extent = extent_term(c_, module(), binder.extent);
  else if (ok)
    extent = inferred_extent(binder, x);
  group.indices = {new_index(name.text, extent)};
  push_index(name, group.indices[0], false);
  return ok && extent;
}

Term Body::inferred_extent(const Binder& binder, const Apply& x) {
  HiddenNames others = hidden();
  for (const Binder& other : x.binders) others.push_back(other.name.text);
  UseFinder finder(c_, frames_.back().visible, others, {binder.name.text},
                   monoid_scope.monoid ? &monoid_scope : nullptr);
  if (x.filter) finder.walk(module(), x.filter);
  for (ExprId id : x.operands) finder.walk(module(), id);
  if (const Callable* callable = callable_of(x)) finder.walk_callable(*callable, x, module());
  return agreed_extent(c_, binder.name, finder.uses(0));
}

std::optional<Term> Body::filter_of(const Apply& x, const std::vector<Group>& groups) {
  Term filter;
  auto conjoin = [&](Term term) {
    if (term) filter = filter ? terms().logical_and(filter, term) : term;
  };
  for (const Group& group : groups)
    if (group.filter != filter) conjoin(group.filter);
  if (!x.filter) return filter;
  size_t mark = conditions_.size();
  if (filter) push_condition(filter);
  Term own = eval_boolean(x.filter);
  pop_conditions(mark);
  if (!own) return std::nullopt;
  if (own != filter) conjoin(own);
  // A filter that is true everywhere is none.
  if (terms().as_boolean(filter) == true) return Term();
  return filter;
}

} // namespace tang::parse
