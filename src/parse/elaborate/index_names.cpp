// An index may take the name of a tensor, dim or let that its equation does not use.
#include "base/check.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/equations.h"
#include <algorithm>

namespace tang::parse {
namespace {

/// Where `name` is used as something global: outside the operands of binders of that name.
class GlobalUse {
public:
  GlobalUse(const Module& module, std::string_view name) : m_(module), name_(name) {}

  Span find(ExprId id, bool bound) {
    std::vector<ExprId> spine = left_spine(m_, id);
    Span found = leaf(spine.empty() ? id : std::get<Binary>(m_[spine.back()].form).left, bound);
    for (auto at = spine.rbegin(); at != spine.rend() && !found; ++at)
      found = find(std::get<Binary>(m_[*at].form).right, bound);
    return found;
  }

private:
  Span leaf(ExprId id, bool bound) {
    const Expr& e = m_[id];
    if (const NameRef* x = std::get_if<NameRef>(&e.form))
      return !bound && x->name.text == name_ ? e.span : Span();
    if (const Read* x = std::get_if<Read>(&e.form); x && x->tensor.text == name_)
      return x->tensor.span;
    if (const Apply* x = std::get_if<Apply>(&e.form)) {
      for (const Binder& b : x->binders)
        if (b.extent)
          if (Span found = find(b.extent, false)) return found;
      bound |= std::any_of(x->binders.begin(), x->binders.end(),
                           [&](const Binder& b) { return b.name.text == name_; });
    }
    Span found;
    const Apply* apply = std::get_if<Apply>(&e.form);
    for_each_operand(e, [&](ExprId operand) {
      bool extent = apply && std::any_of(apply->binders.begin(), apply->binders.end(),
                                         [&](const Binder& b) { return b.extent == operand; });
      if (!found && !extent) found = find(operand, bound);
    });
    return found;
  }

  const Module& m_;
  std::string_view name_;
};

/// Every binder of the expression.
void collect_binders(const Module& module, ExprId root, std::vector<const Name*>& names) {
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    if (const Apply* x = std::get_if<Apply>(&module[id].form))
      for (const Binder& b : x->binders) names.push_back(&b.name);
    for_each_operand(module[id], [&](ExprId operand) { stack.push_back(operand); });
  }
}

} // namespace

bool check_index_names(Context& c, const Module& module, const std::vector<const Name*>& points,
                       const std::vector<ExprId>& extents, ExprId value) {
  std::vector<const Name*> names = points;
  collect_binders(module, value, names);
  std::set<std::string_view> done;
  bool ok = true;
  for (size_t i = 0; i < names.size(); ++i) {
    const Symbol* symbol = c.find(names[i]->text);
    if (!symbol || !done.insert(names[i]->text).second) continue;
    GlobalUse use(module, names[i]->text);
    Span used;
    for (ExprId extent : extents)
      if (!used) used = use.find(extent, false);
    if (!used) used = use.find(value, i < points.size());
    if (!used) continue;
    c.report(Kind::index_and_name, used,
             "`{}` is an index of this equation and something else here", names[i]->text)
        .note(names[i]->span, "the index is bound here")
        .note(symbol->span, "the other declaration")
        .help("give the index another name");
    ok = false;
  }
  return ok;
}

bool binds(const Module& module, ExprId value, std::string_view index) {
  std::vector<const Name*> names;
  collect_binders(module, value, names);
  return std::any_of(names.begin(), names.end(), [&](const Name* n) { return n->text == index; });
}

} // namespace tang::parse
