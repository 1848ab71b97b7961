#include "random_module.h"
#include <cmath>
#include <limits>
#include <random>

namespace tang::parse {

namespace {

class Maker {
public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Module run(int statements) {
    m_.top.push_back(m_.add(Stmt{{}, Version{}, {}}));
    for (int i = 0; i < statements; ++i) m_.top.push_back(statement(3));
    return std::move(m_);
  }

private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  Name name() {
    static const char* pool[] = {"x",    "y",     "w",     "i",   "j",       "k",
                                 "N",    "input", "in",    "let", "tg",      "scan",
                                 "loc",  "as",    "over",  "dim", "softmax", "f16",
                                 "with", "wrt",   "carry", "_a1", "Else",    "outside"};
    return {pool[below(std::size(pool))], {}};
  }
  /// Also words that only brackets give a meaning to.
  Name index() { return chance(10) ? Name{chance(50) ? "desc" : "exclusive", {}} : name(); }
  std::optional<std::string> external() {
    static const char* pool[] = {"a.b",
                                 "with \"quotes\"",
                                 "back\\slash",
                                 "tab\t",
                                 "line\n",
                                 "gr\xc3\xb6\xc3\x9f"
                                 "e",
                                 ""};
    if (chance(70)) return std::nullopt;
    return pool[below(std::size(pool))];
  }
  ExprId make(ExprForm form) { return m_.add(Expr{{}, std::move(form), {}}); }
  std::vector<ExprId> several(int least, int depth) {
    std::vector<ExprId> ids;
    for (int n = least + below(3); n > 0; --n) ids.push_back(expr(depth));
    return ids;
  }
  Binder binder(int depth, bool modifiers) {
    Binder b{index(), {}, modifiers && chance(15), modifiers && chance(15)};
    if (chance(25)) b.extent = expr(depth);
    return b;
  }
  std::vector<Binder> binders(int least, int depth, bool modifiers) {
    std::vector<Binder> all;
    for (int n = least + below(3); n > 0; --n) all.push_back(binder(depth, modifiers));
    return all;
  }
  double real() {
    static const double pool[] = {0.0,
                                  1.0,
                                  0.5,
                                  1e-5,
                                  2e-3,
                                  1e20,
                                  1e22,
                                  123456789.0,
                                  1.7976931348623157e308,
                                  5e-324,
                                  1e100,
                                  0.1,
                                  12.0,
                                  3.14159265358979};
    if (chance(10)) return chance(50) ? std::numeric_limits<double>::infinity() : std::nan("");
    if (chance(60)) return pool[below(std::size(pool))];
    return std::ldexp(static_cast<double>(random_() >> 11), below(200) - 100);
  }
  ExprId leaf() {
    switch (below(4)) {
    case 0: return make(Integer{static_cast<int64_t>(random_() >> (1 + below(63))), ""});
    case 1: return make(Real{real(), ""});
    case 2: return make(Boolean{chance(50)});
    default: return make(NameRef{name()});
    }
  }
  ExprId apply(int depth) {
    static const char* reductions[] = {"sum", "prod",   "max",    "min", "any",
                                       "all", "argmax", "argmin", "topk"};
    Apply a;
    bool builtin = chance(50);
    a.callee = builtin ? Name{reductions[below(std::size(reductions))], {}} : name();
    a.is_scan = chance(25);
    a.binders = binders(1, depth, true);
    if (chance(30)) a.filter = expr(depth);
    if (chance(15)) a.count = expr(depth);
    bool one = (builtin && !a.is_scan) || chance(60);
    if (one)
      a.operands = {expr(depth)};
    else
      a.operands = several(0, depth);
    a.prefix = one && chance(60);
    return make(std::move(a));
  }
  ExprId expr(int depth) {
    if (depth <= 0) return leaf();
    --depth;
    switch (below(10)) {
    case 0: return leaf();
    case 1: {
      Read r{name(), several(1, depth)};
      return make(std::move(r));
    }
    case 2: {
      static const char* functions[] = {"exp", "max", "where", "floordiv", "pow"};
      Call c{chance(50) ? name() : Name{functions[below(std::size(functions))], {}},
             several(0, depth)};
      return make(std::move(c));
    }
    case 3: {
      UnaryOp op = chance(60) ? UnaryOp::negate : UnaryOp::logical_not;
      ExprId operand = expr(depth);
      return make(Unary{op, operand});
    }
    case 4: {
      ExprId read = expr(depth), otherwise = expr(depth);
      return make(Guarded{read, otherwise});
    }
    case 5: {
      Field f{name(), name(), chance(50) ? several(1, depth) : std::vector<ExprId>{}};
      return make(std::move(f));
    }
    case 6:
    case 7: return apply(depth);
    default: {
      auto op = static_cast<BinaryOp>(below(static_cast<int>(BinaryOp::logical_or) + 1));
      ExprId left = expr(depth), right = expr(depth);
      return make(Binary{op, left, right});
    }
    }
  }
  /// An expression behind which a word of the statement may follow: extents, limits, steps.
  ExprId constant() {
    if (chance(60)) return chance(50) ? make(Integer{below(100), ""}) : make(NameRef{name()});
    ExprId left = constant(), right = constant();
    return make(Binary{chance(50) ? BinaryOp::add : BinaryOp::multiply, left, right});
  }
  Range range() {
    Range r;
    r.lo = constant(), r.hi = constant(), r.inclusive = chance(50);
    return r;
  }
  Declared declared() { return {name(), external()}; }
  TensorType type() {
    TensorType t;
    t.element = name();
    if (chance(70)) t.shape = several(1, 1);
    if (chance(20)) t.strides = several(1, 1);
    if (chance(20)) t.align = constant();
    if (chance(20)) t.range = range();
    t.sorted = chance(10);
    return t;
  }
  Const table() {
    Const c;
    c.declared = declared(), c.type = type();
    size_t size = 1;
    for (int level = below(3); level > 0; --level)
      c.extents.push_back(1 + below(3)), size *= c.extents.back();
    while (c.values.size() < size) c.values.push_back(expr(1));
    return c;
  }
  Def def() {
    Def d;
    d.name = name();
    for (int n = below(3); n > 0; --n) d.binders.push_back(index());
    for (int n = below(3); n > 0; --n) d.parameters.push_back(name());
    if (chance(30)) d.outside = expr(2);
    for (int n = below(3); n > 0; --n) {
      Let l{name(), expr(3)};
      d.lets.push_back(std::move(l));
    }
    d.result = expr(4);
    return d;
  }
  Monoid monoid() {
    Monoid m;
    m.name = name(), m.first = name(), m.second = name();
    for (int n = 1 + below(3); n > 0; --n) {
      MonoidField f{name(), binders(0, 1, false), expr(2)};
      m.fields.push_back(std::move(f));
      m.combine.push_back(expr(3));
    }
    return m;
  }
  Equation equation() {
    Equation e;
    for (int n = chance(80) ? 1 : 2 + below(2); n > 0; --n) {
      LeftSide left{name(), binders(0, 1, false), {}};
      e.lefts.push_back(std::move(left));
    }
    e.value = expr(5);
    return e;
  }
  Dim dim() {
    Dim d;
    for (int n = 1 + below(3); n > 0; --n) {
      DimEntry e;
      e.declared = declared();
      if (chance(40))
        e.value = constant();
      else if (chance(60)) {
        e.range = range();
        if (chance(40)) e.step = constant();
      }
      d.entries.push_back(std::move(e));
    }
    return d;
  }
  Output output() {
    Output o;
    o.tensor = name(), o.external = external(), o.type = type();
    if (chance(30)) o.as = name();
    if (chance(30)) o.over = name();
    return o;
  }
  Grad grad() {
    Grad g;
    g.of = name();
    if (chance(40)) g.cotangent = name();
    for (int n = 1 + below(3); n > 0; --n) g.pairs.push_back({name(), name()});
    return g;
  }
  std::vector<StmtId> body(int depth) {
    std::vector<StmtId> ids;
    for (int n = below(4); n > 0; --n) {
      StmtForm form = body_form(depth);
      ids.push_back(m_.add(Stmt{{}, std::move(form), {}}));
    }
    return ids;
  }
  StmtForm body_form(int depth) {
    switch (below(depth > 0 ? 8 : 6)) {
    case 0: return Store{name(), name()};
    case 1: return Accumulate{name(), name()};
    case 2: {
      Budget b{name(), chance(50) ? BudgetKind::relative : BudgetKind::absolute, expr(1)};
      return b;
    }
    case 3: {
      Let l{name(), expr(3)};
      return l;
    }
    case 4:
    case 5: return equation();
    case 6: {
      Repeat r{name(), range(), {name()}, {}, {}};
      if (chance(50)) r.carry.push_back(name());
      r.body = body(depth - 1);
      return r;
    }
    default: {
      Recur r;
      r.index.name = name();
      if (chance(60)) r.index.extent = constant();
      for (int n = 1 + below(2); n > 0; --n) r.carry.push_back({name(), name()});
      r.body = body(depth - 1);
      for (int n = below(3); n > 0; --n) r.collect.push_back({name(), name()});
      return r;
    }
    }
  }
  StmtForm top_form(int depth) {
    switch (below(12)) {
    case 0: return GraphName{declared()};
    case 1: return dim();
    case 2: return Input{chance(50), declared(), type()};
    case 3: return table();
    case 4: return def();
    case 5: return monoid();
    case 6: return chance(50) ? Include{"nn", true, {}} : Include{"a \"b\".tg", false, {}};
    case 7: return output();
    case 8: return grad();
    default: return body_form(depth);
    }
  }
  StmtId statement(int depth) {
    StmtForm form = top_form(depth);
    std::optional<ForeignPlace> loc;
    if (chance(15)) loc = ForeignPlace{"f \"q\".py", below(1000), below(2) * 7, {}};
    return m_.add(Stmt{{}, std::move(form), std::move(loc)});
  }

  std::mt19937_64 random_;
  Module m_;
};

} // namespace

Module random_module(uint64_t seed, int statements) {
  return Maker(seed).run(statements);
}

} // namespace tang::parse
