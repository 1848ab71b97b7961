// What can be said of a macro before it is used: its names resolve, which arguments keep its
// indices, how often it uses them.
#include "base/check.h"
#include "parse/elaborate/callables.h"
#include "parse/elaborate/constants.h"
#include <algorithm>

namespace tang::parse {
namespace {

/// Per binder: what the value of an expression uses outside reductions over it (DefSymbol::kept).
using Kept = std::vector<uint64_t>;

class Analysis {
public:
  Analysis(Context& c, const Module& m, const Def& d) : c_(c), m_(m), def_(d) {}

  DefSymbol run() {
    DefSymbol symbol;
    symbol.module = &m_, symbol.def = &def_;
    errors_before_ = c_.sink->error_count();
    for (size_t b = 0; b < def_.binders.size(); ++b) {
      Kept kept(binders());
      kept[b] = DefSymbol::self_bit;
      declare(def_.binders[b], std::move(kept), {});
    }
    size_t n = def_.parameters.size();
    for (size_t p = 0; p < n; ++p)
      declare(def_.parameters[p], Kept(binders(), DefSymbol::bit(p)), p);
    for (size_t l = 0; l < def_.lets.size(); ++l) {
      Kept kept = visit(def_.lets[l].value);
      declare(def_.lets[l].name, std::move(kept), n + l);
    }
    symbol.kept = visit(def_.result);
    if (def_.outside) visit(def_.outside);
    symbol.reads_tensors = reads_;
    symbol.uses = count_uses();
    symbol.erroneous = c_.sink->error_count() > errors_before_;
    return symbol;
  }

private:
  struct Entry {
    std::string_view name;
    Kept kept;
    std::optional<size_t> counted; ///< number of the parameter or let
    Span span;
  };

  size_t binders() const { return def_.binders.size(); }

  void declare(const Name& name, Kept kept, std::optional<size_t> counted) {
    for (const Entry& entry : names_)
      if (entry.name == name.text)
        c_.report(Kind::duplicate_definition, name.span, "`{}` is named twice in `{}`", name.text,
                  def_.name.text)
            .note(entry.span, "first here");
    names_.push_back({name.text, std::move(kept), counted, name.span});
  }

  const Entry* find(std::string_view name) const {
    for (auto at = names_.rbegin(); at != names_.rend(); ++at)
      if (at->name == name) return &*at;
    return nullptr;
  }

  static void add(Kept& to, const Kept& from) {
    for (size_t b = 0; b < to.size(); ++b) to[b] |= from[b];
  }

  Kept visit(ExprId id) {
    std::vector<ExprId> spine = left_spine(m_, id);
    Kept kept =
        spine.empty() ? visit_leaf(id) : visit_leaf(std::get<Binary>(m_[spine.back()].form).left);
    for (auto at = spine.rbegin(); at != spine.rend(); ++at)
      add(kept, visit(std::get<Binary>(m_[*at].form).right));
    return kept;
  }

  Kept visit_all(const std::vector<ExprId>& ids) {
    Kept kept(binders());
    for (ExprId id : ids) add(kept, visit(id));
    return kept;
  }

  Kept visit_leaf(ExprId id) {
    const Expr& e = m_[id];
    Kept none(binders());
    return std::visit(Overload{[&](const Integer&) { return none; },
                               [&](const Real&) { return none; },
                               [&](const Boolean&) { return none; },
                               [&](const NameRef& x) { return name(x.name); },
                               [&](const Read& x) {
                                 reads_ = true;
                                 if (!find(x.tensor.text)) global(x.tensor);
                                 return visit_all(x.places);
                               },
                               [&](const Call& x) { return call(x); },
                               [&](const Unary& x) { return visit(x.operand); },
                               [&](const Binary&) { return visit(id); },
                               [&](const Guarded& x) {
                                 Kept kept = visit(x.read);
                                 add(kept, visit(x.otherwise));
                                 return kept;
                               },
                               [&](const Field& x) { return visit_all(x.places); },
                               [&](const Apply& x) { return apply(x); }},
                      e.form);
  }

  Kept name(const Name& n) {
    if (const Entry* entry = find(n.text)) return entry->kept;
    global(n);
    return Kept(binders());
  }

  void global(const Name& n) {
    if (Symbol* symbol = c_.find(n.text)) {
      symbol->used = true;
      return;
    }
    std::vector<std::string> more;
    for (const Entry& entry : names_) more.emplace_back(entry.name);
    c_.report_unknown(n, std::move(more));
  }

  Kept call(const Call& x) {
    const std::string& f = x.callee.text;
    if (f != "where" && !graph::op_of_function(f) && !graph::type_of_name(f)) {
      const Callable* callable = c_.find_callable(f, c_.callables.size());
      if (!callable)
        c_.report_unknown_function(x.callee, c_.callables.size());
      else if (const DefSymbol* def = std::get_if<DefSymbol>(&callable->what))
        reads_ |= def->reads_tensors;
    }
    return visit_all(x.arguments);
  }

  Kept apply(const Apply& x) {
    const Callable* callable = nullptr;
    if (!is_builtin_reduction(x.callee.text)) {
      callable = c_.find_callable(x.callee.text, c_.callables.size());
      if (!callable) c_.report_unknown_function(x.callee, c_.callables.size());
    }
    const DefSymbol* def = callable ? std::get_if<DefSymbol>(&callable->what) : nullptr;
    if (def) reads_ |= def->reads_tensors;
    size_t before = names_.size();
    for (const Binder& binder : x.binders)
      if (!find(binder.name.text))
        names_.push_back({binder.name.text, Kept(binders()), {}, binder.name.span});
    Kept kept(binders());
    std::vector<Kept> arguments;
    for (ExprId id : x.operands) arguments.push_back(visit(id)), add(kept, arguments.back());
    if (x.filter) add(kept, visit(x.filter));
    for (size_t b = 0; b < x.binders.size(); ++b) {
      auto own = std::find_if(def_.binders.begin(), def_.binders.end(),
                              [&](const Name& n) { return n.text == x.binders[b].name.text; });
      if (own == def_.binders.end()) continue;
      uint64_t& bits = kept[static_cast<size_t>(own - def_.binders.begin())];
      if (x.is_scan)
        bits |= DefSymbol::self_bit;
      else
        bits =
            def ? kept_by(*def, b, arguments, static_cast<size_t>(own - def_.binders.begin())) : 0;
    }
    names_.resize(before);
    return kept;
  }

  static uint64_t kept_by(const DefSymbol& def, size_t binder, const std::vector<Kept>& arguments,
                          size_t own) {
    if (def.kept.empty()) return 0;
    uint64_t inner = def.kept[std::min(binder, def.kept.size() - 1)],
             bits = inner & DefSymbol::self_bit;
    for (size_t p = 0; p < arguments.size(); ++p)
      if (inner & DefSymbol::bit(p)) bits |= arguments[p][own];
    return bits;
  }

  /// Occurrences in the result, and those in lets as often as the let is used.
  std::vector<uint32_t> count_uses() {
    constexpr uint64_t many = 1000;
    size_t n = def_.parameters.size(), lets = def_.lets.size();
    std::vector<uint64_t> uses(n + lets);
    names_.resize(binders() + n + lets);
    count(def_.result, 1, uses);
    for (size_t l = lets; l > 0; --l) {
      names_.resize(binders() + n + l - 1);
      count(def_.lets[l - 1].value, std::min(uses[n + l - 1], many), uses);
    }
    std::vector<uint32_t> result;
    for (size_t p = 0; p < n; ++p) result.push_back(static_cast<uint32_t>(std::min(uses[p], many)));
    return result;
  }

  void count(ExprId root, uint64_t weight, std::vector<uint64_t>& uses) {
    std::vector<ExprId> stack{root};
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      if (const NameRef* x = std::get_if<NameRef>(&m_[id].form))
        if (const Entry* entry = find(x->name.text); entry && entry->counted)
          uses[*entry->counted] += weight;
      for_each_operand(m_[id], [&](ExprId operand) { stack.push_back(operand); });
    }
  }

  Context& c_;
  const Module& m_;
  const Def& def_;
  std::vector<Entry> names_;
  bool reads_ = false;
  size_t errors_before_ = 0;
};

} // namespace

void declare_def(Context& context, const Module& module, const Def& def, bool is_library) {
  DefSymbol symbol = Analysis(context, module, def).run();
  context.declare_callable(def.name, {def.name.text, def.name.span, is_library, std::move(symbol)});
}

} // namespace tang::parse
