#include "parse/format.h"
#include "base/check.h"
#include "parse/format_expr.h"
#include "parse/format_layout.h"
#include "parse/lexer.h"

namespace tang::parse {

namespace {

// Neighbouring lines of one group have their `:` aligned.
constexpr int group_data = 1, group_output = 2;

class Formatter {
public:
  Formatter(const SourceManager& sources, const Module& module)
      : module_(module), out_(sources, module) {}

  std::string run() {
    statements(module_.top);
    return out_.take();
  }

private:
  void statements(const std::vector<StmtId>& ids) {
    for (StmtId id : ids) {
      const Stmt& s = module_[id];
      out_.start_item(s.span);
      std::visit([&](const auto& form) { print(form); }, s.form);
      if (s.loc) place(*s.loc);
      out_.end_item(s.span);
    }
  }

  void word(std::string_view text) { out_.word(text); }
  void name(const Name& n) { out_.word(n.text, n.span); }
  void expr(ExprId id) { format_expr(out_, module_, id); }
  /// `element` is called for every item, with `, ` in between.
  template <class T, class F>
  void list(const std::vector<T>& items, F&& element) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) word(", ");
      element(items[i]);
    }
  }
  template <class T, class F>
  void list_in(char open, const std::vector<T>& items, char close, F&& element) {
    out_.open({&open, 1});
    list(items, element);
    out_.close({&close, 1});
  }
  void exprs_in_brackets(const std::vector<ExprId>& ids) {
    list_in('[', ids, ']', [&](ExprId id) { expr(id); });
  }
  void binders(const std::vector<Binder>& binders) {
    if (!binders.empty())
      list_in('[', binders, ']', [&](const Binder& b) { format_binder(out_, module_, b); });
  }
  void external(const std::optional<std::string>& text) {
    if (text) word(" "), word(quoted(*text));
  }
  void declared(const Declared& d) { name(d.name), external(d.external); }
  void range(const Range& r) {
    expr(r.lo);
    word(r.inclusive ? ".." : "..<");
    expr(r.hi);
  }
  void place(const ForeignPlace& p) {
    word(fmt::format(" loc({}:{}", quoted(p.file), p.line));
    if (p.column != 0) word(fmt::format(":{}", p.column));
    word(")");
  }
  /// ` : f16[M, K]:[LD, 1] align 4 in 0..<E sorted`
  void type(const TensorType& t, int group) {
    out_.align(group);
    word(" : ");
    name(t.element);
    if (!t.shape.empty()) exprs_in_brackets(t.shape);
    if (!t.strides.empty()) word(":"), exprs_in_brackets(t.strides);
    if (t.align) word(" align "), expr(t.align);
    if (t.range) word(" in "), range(*t.range);
    if (t.sorted) word(" sorted");
  }

  // ---- one function per statement
  void print(const Version& v) { word(fmt::format("tg {}", v.number)); }
  void print(const GraphName& g) { word("graph "), declared(g.declared); }
  void print(const Dim& d) {
    word("dim ");
    list(d.entries, [&](const DimEntry& e) {
      declared(e.declared);
      if (e.value) word(" = "), expr(e.value);
      if (e.range) word(" in "), range(*e.range);
      if (e.step) word(" step "), expr(e.step);
    });
  }
  void print(const Input& i) {
    word(i.is_param ? "param " : "input ");
    declared(i.declared);
    type(i.type, group_data);
  }
  void print(const Const& c) {
    word("const ");
    declared(c.declared);
    type(c.type, group_data);
    word(" = ");
    size_t next = 0;
    table(c, 0, next);
  }
  void table(const Const& c, size_t level, size_t& next) {
    if (level == c.extents.size()) return expr(c.values[next++]);
    out_.open("[");
    for (uint32_t i = 0; i < c.extents[level]; ++i) {
      if (i > 0) word(", ");
      table(c, level + 1, next);
    }
    out_.close("]", level == 0 ? last_byte(c.brackets) : Span{});
  }
  void print(const Let& l) {
    word("let "), name(l.name), word(" = ");
    expr(l.value);
  }
  void print(const Def& d) {
    word("def "), name(d.name);
    auto print_name = [&](const Name& n) { name(n); };
    if (!d.binders.empty()) list_in('[', d.binders, ']', print_name);
    list_in('(', d.parameters, ')', print_name);
    if (d.outside) word(" outside "), expr(d.outside);
    if (out_.spans_lines(d.braces)) return def_lines(d);
    if (d.lets.empty()) {
      word(" = ");
      return expr(d.result);
    }
    word(" { ");
    for (const Let& l : d.lets) print(l), word("; ");
    expr(d.result);
    word(" }");
  }
  void def_lines(const Def& d) {
    word(" {");
    out_.start_body(d.braces);
    auto full = [&](ExprId id) {
      return module_[id].parens ? module_[id].parens : module_[id].span;
    };
    for (const Let& l : d.lets) {
      Span line = join(l.name.span, full(l.value));
      out_.start_item(line);
      print(l);
      out_.end_item(line);
    }
    out_.start_item(full(d.result));
    expr(d.result);
    out_.end_item(full(d.result));
    out_.end_body(d.braces);
    word("}");
  }
  void print(const Monoid& m) {
    word("monoid "), name(m.name);
    list_in('(', m.fields, ')', [&](const MonoidField& f) {
      name(f.name), binders(f.indices), word(" = "), expr(f.identity);
    });
    word(" "), out_.open("("), name(m.first), word(", "), name(m.second), out_.close(")");
    word(" -> ");
    out_.open("(");
    list(m.combine, [&](ExprId id) { expr(id); });
    out_.close(")", last_byte(m.parens));
  }
  void print(const Include& i) {
    word("include ");
    word(i.is_library ? fmt::format("<{}>", i.path) : quoted(i.path));
  }
  void print(const Equation& e) {
    auto left = [&](const LeftSide& l) { name(l.tensor), binders(l.indices); };
    if (e.lefts.size() == 1)
      left(e.lefts[0]);
    else
      list_in('(', e.lefts, ')', left);
    word(" = ");
    expr(e.value);
  }
  void print(const Output& o) {
    word("output "), name(o.tensor);
    if (o.as) word(" as "), name(*o.as);
    external(o.external);
    type(o.type, group_output);
    if (o.over) word(" over "), name(*o.over);
  }
  void print(const Grad& g) {
    word("grad "), name(g.of);
    if (g.cotangent) word(" with "), name(*g.cotangent);
    word(" wrt ");
    list(g.pairs, [&](const GradPair& p) { name(p.wrt), word(" -> "), name(p.gradient); });
  }
  void print(const Store& s) { word("store "), name(s.tensor), word(" : "), name(s.element); }
  void print(const Accumulate& a) {
    word("accumulate "), name(a.tensor), word(" : "), name(a.element);
  }
  void print(const Budget& b) {
    word("budget "), name(b.tensor);
    word(b.kind == BudgetKind::absolute ? " : abs " : " : rel ");
    expr(b.limit);
  }
  void body(const std::vector<StmtId>& ids, Span braces) {
    word(" {");
    out_.start_body(braces);
    statements(ids);
    out_.end_body(braces);
    word("}");
  }
  void print(const Repeat& r) {
    word("repeat "), name(r.index), word(" in "), range(r.range);
    word(" carry ");
    list(r.carry, [&](const Name& n) { name(n); });
    body(r.body, r.braces);
  }
  void print(const Recur& r) {
    word("recur "), format_binder(out_, module_, r.index);
    word(" carry ");
    list(r.carry, [&](const CarryPair& p) { name(p.carried), word(" = "), name(p.start); });
    body(r.body, r.braces);
    if (r.collect.empty()) return;
    word(" collect ");
    list(r.collect, [&](const CollectPair& p) { name(p.collected), word(" = "), name(p.carried); });
  }

  const Module& module_;
  Layout out_;
};

} // namespace

std::string format_module(const SourceManager& sources, const Module& module) {
  return Formatter(sources, module).run();
}

} // namespace tang::parse
