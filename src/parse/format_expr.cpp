#include "parse/format_expr.h"
#include "base/check.h"
#include "parse/format.h"
#include <cmath>

namespace tang::parse {

namespace {

// How tightly a form binds, as in the parser.
enum Level : int { any, conjunction, negation, comparison, sum, product, unary, guard, primary };

Level level_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::logical_or: return any;
  case BinaryOp::logical_and: return conjunction;
  case BinaryOp::equal:
  case BinaryOp::not_equal:
  case BinaryOp::less:
  case BinaryOp::less_equal:
  case BinaryOp::greater:
  case BinaryOp::greater_equal: return comparison;
  case BinaryOp::add:
  case BinaryOp::subtract: return sum;
  case BinaryOp::multiply:
  case BinaryOp::divide: return product;
  }
  return any;
}

/// A built-in reduction takes a whole product as its operand.
bool is_prefix_reduction(const Apply& a) {
  return !a.is_scan && is_builtin_reduction(a.callee.text);
}

Level level_of(const Expr& e) {
  if (const auto* b = std::get_if<Binary>(&e.form)) return level_of(b->op);
  if (const auto* u = std::get_if<Unary>(&e.form))
    return u->op == UnaryOp::logical_not ? negation : unary;
  if (std::holds_alternative<Guarded>(e.form)) return guard;
  if (const auto* a = std::get_if<Apply>(&e.form)) return is_prefix_reduction(*a) ? unary : primary;
  return primary;
}

/// Expressions wait on a stack as the words and operands they consist of, so a chain of any length
/// needs no recursion.
class Printer {
public:
  Printer(Layout& out, const Module& module) : out_(out), module_(module) {}

  void run(ExprId id) {
    operand(id);
    drain();
  }
  void run(const Binder& b) {
    binder(b);
    drain();
  }

private:
  enum class Act : uint8_t { expr, word, open, close };
  struct Task {
    ExprId id;
    Level least; ///< parentheses are needed below this level
    std::string_view text;
    Span at;
    Act act;
  };

  void drain() {
    for (;;) {
      // What one step added is done in its order, before what waited already.
      for (; !batch_.empty(); batch_.pop_back()) waiting_.push_back(batch_.back());
      if (waiting_.empty()) return;
      Task task = waiting_.back();
      waiting_.pop_back();
      switch (task.act) {
      case Act::expr: expr(task); break;
      case Act::word: out_.word(task.text, task.at); break;
      case Act::open: out_.open(task.text, task.at); break;
      case Act::close: out_.close(task.text, task.at); break;
      }
    }
  }
  void later(const Task& t) { batch_.push_back(t); }
  void word(std::string_view text, Span at = {}) { later({{}, any, text, at, Act::word}); }
  void open(std::string_view text, Span at = {}) { later({{}, any, text, at, Act::open}); }
  void close(std::string_view text, Span at = {}) { later({{}, any, text, at, Act::close}); }
  void operand(ExprId id, Level least = any) { later({id, least, {}, {}, Act::expr}); }
  void list(const std::vector<ExprId>& ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) word(", ");
      operand(ids[i]);
    }
  }
  static Span first_byte(Span s) { return s ? Span{s.file, s.begin, s.begin + 1} : s; }

  /// Whether a `*` behind `id` would be taken into a reduction at its end.
  bool ends_with_reduction(ExprId id) const {
    for (;;) {
      const Expr& e = module_[id];
      if (e.parens) return false;
      if (const auto* a = std::get_if<Apply>(&e.form)) return is_prefix_reduction(*a);
      if (const auto* b = std::get_if<Binary>(&e.form)) {
        if (level_of(b->op) < product) return false;
        id = b->right;
      } else if (const auto* u = std::get_if<Unary>(&e.form))
        id = u->operand;
      else if (const auto* g = std::get_if<Guarded>(&e.form))
        id = g->otherwise;
      else
        return false;
    }
  }

  void expr(const Task& task) {
    const Expr& e = module_[task.id];
    bool needs = level_of(e) < task.least;
    bool bracketed = needs || e.parens;
    if (bracketed) open("(", first_byte(e.parens));
    std::visit([&](const auto& form) { print(form, e.span); }, e.form);
    if (bracketed) close(")", last_byte(e.parens));
  }

  void print(const Integer& x, Span at) {
    bool is_hex = x.text.size() > 1 && (x.text[1] == 'x' || x.text[1] == 'X');
    std::string text = is_hex ? fmt::format("0x{:x}", x.value) : fmt::format("{}", x.value);
    word(kept(std::move(text)), at);
  }
  void print(const Real& x, Span at) { word(kept(format_real(x.value)), at); }
  void print(const Boolean& x, Span at) { word(x.value ? "true" : "false", at); }
  void print(const NameRef& x, Span) { word(x.name.text, x.name.span); }
  void print(const Read& x, Span at) {
    word(x.tensor.text, x.tensor.span);
    open("[");
    list(x.places);
    close("]", last_byte(at));
  }
  void print(const Call& x, Span at) {
    word(x.callee.text, x.callee.span);
    open("(");
    list(x.arguments);
    close(")", last_byte(at));
  }
  void print(const Unary& x, Span at) {
    bool is_not = x.op == UnaryOp::logical_not;
    word(is_not ? "not " : "-", first_byte(at));
    operand(x.operand, is_not ? negation : unary);
  }
  void print(const Binary& x, Span) {
    Level level = level_of(x.op);
    Level right = static_cast<Level>(level + 1);
    bool absorbs = level == product && ends_with_reduction(x.left);
    operand(x.left, absorbs ? primary : level == comparison ? right : level);
    word(" ");
    word(spelling(x.op));
    word(" ");
    operand(x.right, right);
  }
  void print(const Guarded& x, Span) {
    operand(x.read, primary);
    word(" else ");
    operand(x.otherwise, unary);
  }
  void print(const Field& x, Span at) {
    word(x.base.text, x.base.span);
    word(".");
    word(x.field.text);
    if (x.places.empty()) return;
    open("[");
    list(x.places);
    close("]", last_byte(at));
  }
  void print(const Apply& x, Span at) {
    if (x.is_scan) word("scan ", first_byte(at));
    word(x.callee.text, x.is_scan ? Span{} : x.callee.span);
    open("[");
    for (size_t i = 0; i < x.binders.size(); ++i) {
      if (i > 0) word(", ");
      binder(x.binders[i]);
    }
    if (x.filter) word(" where "), operand(x.filter);
    if (x.count) word("; "), operand(x.count);
    close("]");
    bool has_list = x.operands.size() != 1 || (!is_prefix_reduction(x) && !takes_prefix(x));
    if (has_list) {
      open("(");
      list(x.operands);
      close(")", x.prefix ? Span{} : last_byte(at));
    } else {
      word(" ");
      operand(x.operands[0], is_prefix_reduction(x) ? product : primary);
    }
  }
  void binder(const Binder& b) {
    word(b.name.text, b.name.span);
    if (b.extent) word(": "), operand(b.extent);
    if (b.exclusive) word(" exclusive");
    if (b.desc) word(" desc");
  }
  /// Whether the one operand may stand without its own parentheses.
  bool takes_prefix(const Apply& x) const {
    const Expr& e = module_[x.operands[0]];
    if (!x.prefix || e.parens || level_of(e) < primary) return false;
    const auto* call = std::get_if<Call>(&e.form);
    return !call || call->callee.text != "where";
  }

  std::string_view kept(std::string text) {
    kept_ = std::move(text);
    return kept_;
  }

  Layout& out_;
  const Module& module_;
  std::vector<Task> waiting_, batch_;
  std::string kept_; ///< of a number: printed before the next one is made
};

} // namespace

void format_expr(Layout& out, const Module& module, ExprId id) {
  Printer(out, module).run(id);
}

void format_binder(Layout& out, const Module& module, const Binder& binder) {
  Printer(out, module).run(binder);
}

std::string format_real(double value) {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (std::isinf(value)) return text;
  size_t e = text.find('e');
  if (e == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  // `1e-05` to `1e-5`, `1e+20` to `1e20`.
  std::string exponent = text.substr(e + 1), sign;
  if (exponent[0] == '-') sign = "-";
  size_t digits = exponent.find_first_of("123456789");
  return text.substr(0, e + 1) + sign + exponent.substr(digits);
}

} // namespace tang::parse
