// Expansion of macros. Arguments are terms in the caller's indices; see body.h.
#include "base/check.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/nodes.h"
#include "parse/elaborate/scope.h"
#include <algorithm>

namespace tang::parse {

using graph::Op;

bool Body::check_expansion(const Callable& callable, const Apply* apply, size_t arguments,
                           Span span) {
  const DefSymbol* symbol = std::get_if<DefSymbol>(&callable.what);
  if (!symbol) {
    report(Kind::index_count, span, "`{}` is a monoid and reduces over an index", callable.name)
        .help(fmt::format("write `{}[k](...)`", callable.name));
    return false;
  }
  if (symbol->erroneous) return false;
  const Def& def = *symbol->def;
  size_t binders = apply ? apply->binders.size() : 0, wanted = def.binders.size();
  if (binders != wanted && !(wanted == 1 && binders > 1)) {
    Diagnostic& d = report(Kind::index_count, span, "`{}` takes {} ind{}, not {}", callable.name,
                           wanted, wanted == 1 ? "ex" : "ices", binders);
    d.note(callable.span, "it is defined here");
    if (binders == 0) d.help(fmt::format("say what it runs over: `{}[i](...)`", callable.name));
    return false;
  }
  if (arguments != def.parameters.size()) {
    report(Kind::argument_count, span, "`{}` takes {} argument{}, not {}", callable.name,
           def.parameters.size(), def.parameters.size() == 1 ? "" : "s", arguments)
        .note(callable.span, "it is defined here");
    return false;
  }
  return !apply || check_clauses(*apply);
}

bool Body::depends(ExprId root, std::string_view index) {
  std::vector<ExprId> stack{root};
  const Local* binder = find_local(index);
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    if (const NameRef* x = std::get_if<NameRef>(&ast(id).form)) {
      if (x->name.text == index) return true;
      const Local* local = find_local(x->name.text);
      if (local && local->value && binder)
        for (graph::IndexId i : terms()[rename(local->value, local->renames_seen)].free)
          if (std::find(binder->indices.begin(), binder->indices.end(), i) != binder->indices.end())
            return true;
      continue;
    }
    if (const Apply* x = std::get_if<Apply>(&ast(id).form)) {
      // An index of the same name that a reduction inside binds is another one.
      bool rebound =
          !x->is_scan && std::any_of(x->binders.begin(), x->binders.end(),
                                     [&](const Binder& b) { return b.name.text == index; });
      const Callable* callable = callable_of(*x);
      if (rebound && !(callable && std::holds_alternative<DefSymbol>(callable->what))) continue;
    }
    for_each_operand(ast(id), [&](ExprId operand) { stack.push_back(operand); });
  }
  return false;
}

std::vector<bool> Body::kept_indices(const DefSymbol& symbol, const Apply& x) {
  std::vector<bool> keeps;
  for (size_t b = 0; b < x.binders.size(); ++b) {
    uint64_t kept = symbol.kept[symbol.kept.size() == 1 ? 0 : b];
    bool keep = kept & DefSymbol::self_bit;
    for (size_t p = 0; p < x.operands.size() && !keep; ++p)
      keep = (kept & DefSymbol::bit(p)) && depends(x.operands[p], x.binders[b].name.text);
    keeps.push_back(keep);
  }
  return keeps;
}

std::vector<graph::IndexId> Body::binder_indices(const std::vector<Group>& groups, size_t binder,
                                                 size_t binders) {
  if (binders > 1) return groups[binder].indices;
  std::vector<graph::IndexId> all;
  for (const Group& group : groups)
    all.insert(all.end(), group.indices.begin(), group.indices.end());
  return all;
}

Local Body::argument(const Name& parameter, ExprId id, uint32_t uses,
                     const std::vector<Group>& groups) {
  Local local;
  local.name = parameter.text, local.span = parameter.span;
  size_t mark = log_.size();
  levels_.push_back({{}, mark});
  local.value = eval(id);
  std::vector<Term> needed = std::move(levels_.back().needed);
  levels_.pop_back();
  local.needs = needs_since(mark);
  if (!local.value || uses < 2 || monoid_scope.monoid || dead_ > 0) return local;
  Op op = terms()[local.value].op;
  if (op == Op::read || op == Op::index || op == Op::dim || terms().is_literal(local.value))
    return local;
  bool varies = false;
  for (const Group& group : groups)
    for (graph::IndexId index : group.indices) {
      const auto& free = terms()[local.value].free;
      varies |= std::binary_search(free.begin(), free.end(), index);
    }
  if (!varies) return local;
  // Each reduction inside evaluates the argument at its own points: as a tensor it is computed
  // once.
  graph::Comprehension node;
  node.results.push_back({{}, local.value, {}});
  log_.resize(mark);
  local.needs.clear();
  local.value = define_lifted(std::move(node), needed, fmt::format("{}_{}", name_, parameter.text),
                              ast(id).span);
  return local;
}

Term Body::expand(const Callable& callable, const Apply* apply, const Name& callee,
                  const std::vector<ExprId>& arguments, Span span) {
  if (!check_expansion(callable, apply, arguments.size(), span)) return {};
  const DefSymbol& symbol = std::get<DefSymbol>(callable.what);
  const Def& def = *symbol.def;
  Scope scope(*this);
  std::vector<Group> groups;
  std::vector<bool> keeps;
  Term filter;
  bool ok = true;
  if (apply) {
    keeps = kept_indices(symbol, *apply);
    ok = bind(*apply, keeps, groups);
    auto f = filter_of(*apply, groups);
    ok &= f.has_value();
    filter = f.value_or(Term());
    for (Group& group : groups) group.filter = filter;
    if (filter) push_condition(filter);
  }
  std::vector<Local> values;
  for (size_t p = 0; p < arguments.size(); ++p) {
    values.push_back(argument(def.parameters[p], arguments[p], symbol.uses[p], groups));
    ok &= static_cast<bool>(values.back().value);
  }
  if (!ok) return {};
  ++c_.expanding;
  c_.charge(span, 10); // a frame and its locals cost more than a term
  Term value = expand_body(callable, std::move(values), groups, span);
  bool keeps_any = std::find(keeps.begin(), keeps.end(), true) != keeps.end();
  if (value && filter && keeps_any) {
    Term outside = def.outside ? eval(def.outside) : zero(terms(), scalar(value));
    value = unify(value, outside, callee.span) ? terms().select(filter, value, outside) : Term();
  }
  --c_.expanding;
  return value;
}

Term Body::expand_body(const Callable& callable, std::vector<Local> arguments,
                       const std::vector<Group>& groups, Span span) {
  const DefSymbol& symbol = std::get<DefSymbol>(callable.what);
  const Def& def = *symbol.def;
  size_t visible = static_cast<size_t>(&callable - c_.callables.data());
  frames_.push_back({symbol.module, visible, locals_.size(), &callable, span, {}});
  for (size_t b = 0; b < def.binders.size(); ++b) {
    Local local;
    local.kind = LocalKind::binder, local.name = def.binders[b].text,
    local.span = def.binders[b].span;
    local.indices = binder_indices(groups, b, def.binders.size());
    local.filter = groups[0].filter;
    locals_.push_back(std::move(local));
  }
  for (Local& local : arguments) locals_.push_back(std::move(local));
  for (const Let& let : def.lets) {
    Local local;
    local.name = let.name.text, local.span = let.name.span;
    size_t mark = log_.size();
    local.value = eval(let.value);
    local.needs = needs_since(mark);
    if (!local.value) return {};
    locals_.push_back(std::move(local));
  }
  return eval(def.result);
}

} // namespace tang::parse
