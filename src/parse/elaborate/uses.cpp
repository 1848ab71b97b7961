#include "parse/elaborate/uses.h"
#include "base/check.h"
#include "graph/text.h"
#include "parse/elaborate/body.h"
#include "parse/elaborate/constants.h"

namespace tang::parse {

UseFinder::UseFinder(Context& context, size_t visible, const HiddenNames& hidden,
                     const std::vector<std::string_view>& names, const MonoidScope* scope)
    : c_(context), scope_(scope), visible_(visible), uses_(names.size()) {
  for (std::string_view name : hidden) names_.push_back({name});
  for (size_t i = 0; i < names.size(); ++i) names_.push_back({names[i], static_cast<int>(i)});
}

int UseFinder::meaning(const Names& names, std::string_view name) {
  for (auto at = names.rbegin(); at != names.rend(); ++at)
    if (at->name == name) return at->index;
  return -2; // nothing local
}

bool UseFinder::is_binder(const Names& names, std::string_view name) {
  for (auto at = names.rbegin(); at != names.rend(); ++at)
    if (at->name == name) return at->is_binder;
  return false;
}

void UseFinder::walk(const Module& module, ExprId id) {
  if (id) visit(module, id, visible_, names_, 0);
}

void UseFinder::walk_callable(const Callable& callable, const Apply& apply, const Module& module) {
  enter(callable, apply.binders, module, apply.operands, {}, names_, 0);
}

void UseFinder::visit(const Module& module, ExprId id, size_t visible, Names& names, int depth) {
  std::vector<ExprId> spine = left_spine(module, id);
  if (!spine.empty())
    visit_leaf(module, std::get<Binary>(module[spine.back()].form).left, visible, names, depth);
  else
    visit_leaf(module, id, visible, names, depth);
  for (auto at = spine.rbegin(); at != spine.rend(); ++at)
    visit(module, std::get<Binary>(module[*at].form).right, visible, names, depth + 1);
}

void UseFinder::visit_leaf(const Module& module, ExprId id, size_t visible, Names& names,
                           int depth) {
  const Expr& e = module[id];
  // The expansion reports what is too large or too deep.
  if (depth > 1024 || !c_.charge(e.span)) return;
  auto each = [&](const std::vector<ExprId>& ids) {
    for (ExprId operand : ids) visit(module, operand, visible, names, depth + 1);
  };
  std::visit(
      Overload{[&](const Integer&) {}, [&](const Real&) {}, [&](const Boolean&) {},
               [&](const NameRef& x) {
                 int index = meaning(names, x.name.text);
                 if (index >= 0 && !uses_[index].mention) uses_[index].mention = e.span;
               },
               [&](const Read& x) { visit_read(module, x, visible, names, depth); },
               [&](const Call& x) {
                 each(x.arguments);
                 if (const Callable* callable = c_.find_callable(x.callee.text, visible))
                   enter(*callable, {}, module, x.arguments, e.span, names, depth);
               },
               [&](const Unary& x) { visit(module, x.operand, visible, names, depth + 1); },
               [&](const Binary&) { visit(module, id, visible, names, depth + 1); },
               [&](const Guarded& x) {
                 visit(module, x.read, visible, names, depth + 1);
                 visit(module, x.otherwise, visible, names, depth + 1);
               },
               [&](const Field& x) {
                 visit_field(module, x, names);
                 each(x.places);
               },
               [&](const Apply& x) { visit_apply(module, x, e.span, visible, names, depth); }},
      e.form);
}

void UseFinder::visit_read(const Module& module, const Read& read, size_t visible, Names& names,
                           int depth) {
  const Symbol* symbol =
      meaning(names, read.tensor.text) == -2 ? c_.find(read.tensor.text) : nullptr;
  const TensorSymbol* tensor = symbol ? std::get_if<TensorSymbol>(&symbol->what) : nullptr;
  for (size_t k = 0; k < read.places.size(); ++k) {
    const auto* name = std::get_if<NameRef>(&module[read.places[k]].form);
    int index = name ? meaning(names, name->name.text) : -1;
    if (index >= 0) {
      PlainUse use{module[read.places[k]].span, read.tensor.text, {}};
      if (tensor && tensor->id && k < c_.graph[tensor->id].shape.size())
        use.extent = c_.graph[tensor->id].shape[k];
      uses_[index].plain.push_back(std::move(use));
    }
    visit(module, read.places[k], visible, names, depth + 1);
  }
}

void UseFinder::visit_field(const Module& module, const Field& field, Names& names) {
  if (!scope_ || !scope_->fields) return;
  for (const graph::MonoidField& f : *scope_->fields) {
    if (f.name != field.field.text) continue;
    for (size_t k = 0; k < std::min(field.places.size(), f.axes.size()); ++k) {
      const auto* name = std::get_if<NameRef>(&module[field.places[k]].form);
      int index = name ? meaning(names, name->name.text) : -1;
      if (index >= 0)
        uses_[index].plain.push_back({module[field.places[k]].span,
                                      field.base.text + "." + field.field.text, f.axes[k].extent});
    }
  }
}

void UseFinder::visit_apply(const Module& module, const Apply& apply, Span span, size_t visible,
                            Names& names, int depth) {
  const Callable* callable = is_builtin_reduction(apply.callee.text)
                                 ? nullptr
                                 : c_.find_callable(apply.callee.text, visible);
  const DefSymbol* def = callable ? std::get_if<DefSymbol>(&callable->what) : nullptr;
  size_t before = names.size();
  for (size_t b = 0; b < apply.binders.size(); ++b) {
    size_t k = def && def->kept.size() == 1 ? 0 : b;
    bool keeps = apply.is_scan || (def && k < def->kept.size() && def->kept[k] != 0);
    std::string_view name = apply.binders[b].name.text;
    if (!keeps && !is_binder(names, name)) names.push_back({name});
  }
  if (apply.filter) visit(module, apply.filter, visible, names, depth + 1);
  for (ExprId operand : apply.operands) visit(module, operand, visible, names, depth + 1);
  if (callable) enter(*callable, apply.binders, module, apply.operands, span, names, depth);
  names.resize(before);
}

void UseFinder::enter(const Callable& callable, const std::vector<Binder>& binders,
                      const Module& module, const std::vector<ExprId>& arguments, Span span,
                      const Names& names, int depth) {
  const DefSymbol* symbol = std::get_if<DefSymbol>(&callable.what);
  if (!symbol || !symbol->reads_tensors || !c_.charge(span)) return;
  const Def& def = *symbol->def;
  Names inner;
  bool any = false;
  auto bind = [&](std::string_view name, int index, bool is_binder) {
    inner.push_back({name, std::max(index, -1), is_binder});
    any |= index >= 0;
  };
  for (size_t b = 0; b < def.binders.size(); ++b)
    bind(def.binders[b].text, b < binders.size() ? meaning(names, binders[b].name.text) : -1, true);
  for (size_t p = 0; p < def.parameters.size(); ++p) {
    const NameRef* name =
        p < arguments.size() ? std::get_if<NameRef>(&module[arguments[p]].form) : nullptr;
    bind(def.parameters[p].text, name ? meaning(names, name->name.text) : -1, false);
  }
  if (!any) return;
  ++c_.expanding;
  size_t visible = static_cast<size_t>(&callable - c_.callables.data());
  for (const Let& let : def.lets) {
    visit(*symbol->module, let.value, visible, inner, depth + 1);
    inner.push_back({let.name.text});
  }
  visit(*symbol->module, def.result, visible, inner, depth + 1);
  --c_.expanding;
}

Term agreed_extent(Context& context, const Name& index, const IndexUses& uses) {
  if (uses.plain.empty()) {
    Diagnostic& d = context.report(Kind::index_without_range, index.span, "index `{}` has no range",
                                   index.text);
    if (uses.mention)
      d.note(uses.mention, "it is used here, and stands alone in no place of a read");
    d.help(fmt::format("state its extent where it is bound: `{}: N`", index.text));
    return {};
  }
  const PlainUse* first = nullptr;
  for (const PlainUse& use : uses.plain) {
    if (!use.extent) return {};
    if (!first) {
      first = &use;
    } else if (use.extent != first->extent) {
      context
          .report(Kind::extents_disagree, use.span,
                  "index `{}` has extent {} in `{}` and {} in `{}`", index.text,
                  graph::to_text(context.graph, use.extent), use.tensor,
                  graph::to_text(context.graph, first->extent), first->tensor)
          .note(first->span, fmt::format("extent {} comes from here",
                                         graph::to_text(context.graph, first->extent)))
          .help(fmt::format("state the extent where the index is bound, `{}: {}`, and guard the "
                            "reads that are shorter",
                            index.text, graph::to_text(context.graph, first->extent)));
      return {};
    }
  }
  return first->extent;
}

} // namespace tang::parse
