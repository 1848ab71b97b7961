#include "parse/parser_state.h"
#include <limits>

namespace tang::parse {

namespace {

// Levels of binary operators, loosest first; `not` stands between `and` and the comparisons.
constexpr int level_or = 0, level_and = 1, level_not = 2, level_comparison = 3, level_sum = 4,
              level_product = 5, level_unary = 6;

struct Infix {
  int level = -1; ///< -1: not a binary operator
  BinaryOp op{};
};

Infix infix(TokenKind kind) {
  switch (kind) {
  case TokenKind::kw_or: return {level_or, BinaryOp::logical_or};
  case TokenKind::kw_and: return {level_and, BinaryOp::logical_and};
  case TokenKind::equal_equal: return {level_comparison, BinaryOp::equal};
  case TokenKind::not_equal: return {level_comparison, BinaryOp::not_equal};
  case TokenKind::less: return {level_comparison, BinaryOp::less};
  case TokenKind::less_equal: return {level_comparison, BinaryOp::less_equal};
  case TokenKind::greater: return {level_comparison, BinaryOp::greater};
  case TokenKind::greater_equal: return {level_comparison, BinaryOp::greater_equal};
  case TokenKind::plus: return {level_sum, BinaryOp::add};
  case TokenKind::minus: return {level_sum, BinaryOp::subtract};
  case TokenKind::star: return {level_product, BinaryOp::multiply};
  case TokenKind::slash: return {level_product, BinaryOp::divide};
  default: return {};
  }
}

} // namespace

ExprId Parser::make(uint32_t begin, ExprForm form) {
  return module_.add(Expr{span_from(begin), std::move(form), {}});
}

Span Parser::whole(ExprId id) const {
  if (!id) return {};
  const Expr& e = module_[id];
  return e.parens ? e.parens : e.span;
}

ExprId Parser::expression() {
  return binary(level_or);
}

ExprId Parser::binary(int level) {
  ExprId left = level <= level_not && at(TokenKind::kw_not) ? logical_not() : unary();
  for (;;) {
    Infix next = infix(current().kind);
    if (next.level < level) return left;
    advance();
    ExprId right = binary(next.level + 1);
    if (panicking_) return left;
    Span span = join(whole(left), whole(right));
    left = module_.add(Expr{span, Binary{next.op, left, right}, {}});
    if (next.level == level_comparison && infix(current().kind).level == level_comparison) {
      fail(Kind::chained_comparison, here(), "comparisons do not chain")
          .note(span, "the first comparison")
          .help("join two comparisons with `and`: `a <= b and b < c`");
      return left;
    }
  }
}

ExprId Parser::logical_not() {
  uint32_t begin = current().begin;
  Nesting nesting(*this, prefix_level_);
  if (!nesting) return {};
  advance();
  ExprId operand = binary(level_not);
  return make(begin, Unary{UnaryOp::logical_not, operand});
}

ExprId Parser::unary() {
  if (!at(TokenKind::minus)) return at_reduction() ? reduction() : guarded();
  uint32_t begin = current().begin;
  Nesting nesting(*this, prefix_level_);
  if (!nesting) return {};
  advance();
  // The least integer: its magnitude alone does not fit.
  if (at(TokenKind::integer) && text_of_token(current()) == "9223372036854775808") {
    advance();
    return make(begin,
                Integer{std::numeric_limits<int64_t>::min(), std::string("-9223372036854775808")});
  }
  ExprId operand = unary();
  return make(begin, Unary{UnaryOp::negate, operand});
}

ExprId Parser::guarded() {
  ExprId read = primary();
  if (at_word("if") && on_same_line_as_previous() && !panicking_)
    fail(Kind::expected_token, here(), "`if` behind an expression")
        .help("a choice is written `where(c, a, b)`");
  if (!at(TokenKind::kw_else)) return read;
  Nesting nesting(*this, prefix_level_);
  if (!nesting) return {};
  advance();
  ExprId otherwise = unary();
  return make(whole(read).begin, Guarded{read, otherwise});
}

bool Parser::at_reduction() {
  return at(TokenKind::name) && following().kind == TokenKind::left_bracket &&
         is_builtin_reduction(text_of_token(current()));
}

/// A built-in reduction: its operand is a whole product, `sum[k] a[i, k] * b[k, j]`.
ExprId Parser::reduction() {
  Nesting nesting(*this, prefix_level_);
  if (!nesting) return {};
  Token word = current();
  advance();
  Apply apply;
  apply.callee = {std::string(text_of_token(word)), span_of(word)};
  apply.prefix = true;
  Brackets in = brackets();
  apply.filter = in.filter;
  apply.count = in.count;
  apply.binders = binders_of(std::move(in));
  apply.operands.push_back(binary(level_product));
  return make(word.begin, std::move(apply));
}

ExprId Parser::primary() {
  switch (current().kind) {
  case TokenKind::integer:
  case TokenKind::real:
  case TokenKind::kw_inf:
  case TokenKind::kw_nan: return number();
  case TokenKind::kw_true:
  case TokenKind::kw_false: {
    Token t = current();
    advance();
    return make(t.begin, Boolean{t.kind == TokenKind::kw_true});
  }
  case TokenKind::left_paren: return parenthesised();
  case TokenKind::kw_where: return call();
  case TokenKind::name: return named();
  default: break;
  }
  bool is_not = at(TokenKind::kw_not);
  auto& d = fail(Kind::expected_expression, here(),
                 fmt::format("expected an expression, found {}", found()));
  if (is_not) d.help("`not` needs parentheses here: `(not a)`");
  return {};
}

ExprId Parser::number() {
  Token t = current();
  std::string text(text_of_token(t));
  advance();
  auto out_of_range = [&](std::string_view why) -> Diagnostic& {
    return sink_.report(Kind::number_out_of_range, span_of(t), "`{}` {}", text, why);
  };
  if (t.kind == TokenKind::integer) {
    std::optional<int64_t> value = integer_value(text);
    if (!value)
      out_of_range("does not fit 64 bits").help("write a real number with a point or an exponent");
    return make(t.begin, Integer{value.value_or(0), std::move(text)});
  }
  std::optional<double> value = real_value(text);
  if (!value) out_of_range("is not within the range of a double");
  return make(t.begin, Real{value.value_or(0), std::move(text)});
}

ExprId Parser::parenthesised() {
  uint32_t begin = current().begin;
  Nesting nesting(*this, bracket_level_);
  if (!nesting || !open(TokenKind::left_paren)) return {};
  ExprId inner = expression();
  if (!close(TokenKind::right_paren, {})) return {};
  module_.exprs[inner.value].parens = span_from(begin);
  return inner;
}

/// `scan` is not reserved: it is one only before `name[`.
bool Parser::at_scan() {
  if (!at_word("scan") || following().kind != TokenKind::name) return false;
  size_t index = static_cast<size_t>(&following() - tokens_.data());
  return index == pos_ + 1 && tokens_[index + 1].kind == TokenKind::left_bracket;
}

/// What starts with a name: a scan, a field, a call, a read or an application, or the name alone.
ExprId Parser::named() {
  Token t = current();
  std::string_view text = text_of_token(t);
  const Token& next = following();
  bool adjacent = static_cast<size_t>(&next - tokens_.data()) == pos_ + 1;
  if (at_scan()) {
    advance();
    return bracketed(true, t.begin);
  }
  if (adjacent && next.kind == TokenKind::left_paren) return call();
  if (adjacent && next.kind == TokenKind::left_bracket) return bracketed(false, t.begin);
  if (next.kind == TokenKind::dot) return field();
  if (is_reserved(text)) {
    fail(Kind::reserved_misuse, span_of(t), fmt::format("`{}` stands alone", text))
        .help(is_builtin_reduction(text) ? fmt::format("write `{}[k] ...`", text)
                                         : fmt::format("write `{}(...)`", text));
    return {};
  }
  advance();
  return make(t.begin, NameRef{{std::string(text), span_of(t)}});
}

ExprId Parser::call() {
  Token t = current();
  std::string text(text_of_token(t));
  if (is_builtin_reduction(text) && text != "max" && text != "min") {
    fail(Kind::reserved_misuse, span_of(t),
         fmt::format("`{}` without the index it runs over", text))
        .help(fmt::format("write `{}[k] ...`", text));
    return {};
  }
  advance();
  Call call{{text, span_of(t)}, {}};
  call.arguments = expression_list(TokenKind::left_paren, TokenKind::right_paren);
  return make(t.begin, std::move(call));
}

ExprId Parser::field() {
  Token base = current();
  advance();
  advance();
  Field f{{std::string(text_of_token(base)), span_of(base)}, name("the name of a field"), {}};
  if (at(TokenKind::left_bracket) && on_same_line_as_previous())
    f.places = expression_list(TokenKind::left_bracket, TokenKind::right_bracket);
  return make(base.begin, std::move(f));
}

std::vector<ExprId> Parser::expression_list(TokenKind opener, TokenKind closer) {
  std::vector<ExprId> list;
  Nesting nesting(*this, bracket_level_);
  if (!nesting || !open(opener)) return list;
  if (at(closer) && closer == TokenKind::right_bracket) {
    fail(Kind::empty_brackets, here(), "empty brackets")
        .help("a tensor of rank 0 is written without brackets");
    return list;
  }
  if (!at(closer)) {
    do list.push_back(expression());
    while (accept(TokenKind::comma));
  }
  close(closer);
  return list;
}

/// `f[...]` with what follows it: a read, or an application with its operand.
ExprId Parser::bracketed(bool is_scan, uint32_t begin) {
  Token t = current();
  std::string text(text_of_token(t));
  bool is_reduction = is_builtin_reduction(text);
  if (is_reserved(text) && !is_reduction) {
    fail(Kind::reserved_misuse, span_of(t), fmt::format("the function `{}` with brackets", text))
        .help(fmt::format("write `{}(...)`", text));
    return {};
  }
  advance();
  Brackets in = brackets();
  Name callee{std::move(text), span_of(t)};
  bool applies = is_scan || is_reduction || in.binds || at_operand_start();
  if (!applies) {
    Read read{std::move(callee), {}};
    for (Item& item : in.items) {
      if (!item.place) {
        Span span = item.binder.name.span;
        item.place = module_.add(Expr{span, NameRef{std::move(item.binder.name)}, {}});
      }
      read.places.push_back(item.place);
    }
    return make(begin, std::move(read));
  }
  Apply apply;
  apply.callee = std::move(callee);
  apply.is_scan = is_scan;
  apply.filter = in.filter;
  apply.count = in.count;
  apply.binders = binders_of(std::move(in));
  if (at(TokenKind::left_paren)) {
    apply.operands = expression_list(TokenKind::left_paren, TokenKind::right_paren);
  } else {
    Nesting nesting(*this, prefix_level_);
    if (!nesting) return {};
    apply.prefix = true;
    apply.operands.push_back(primary());
  }
  return make(begin, std::move(apply));
}

bool Parser::at_modifier() {
  return at_word("exclusive") || at_word("desc");
}

bool Parser::at_loc() {
  if (!at_word("loc") || following().kind != TokenKind::left_paren) return false;
  size_t paren = static_cast<size_t>(&following() - tokens_.data());
  return tokens_[paren + 1].kind == TokenKind::string;
}

/// True when `name[...]` is followed, on its line, by what only an operand can be.
bool Parser::at_operand_start() {
  // There `where` begins the filter of the brackets, `exclusive` and `desc` belong to their index.
  bool directly_in_brackets =
      !open_.empty() && tokens_[open_.back()].kind == TokenKind::left_bracket;
  switch (current().kind) {
  case TokenKind::name:
    return on_same_line_as_previous() && !at_loc() && !at_word("if") &&
           !(directly_in_brackets && at_modifier());
  case TokenKind::integer:
  case TokenKind::real:
  case TokenKind::kw_inf:
  case TokenKind::kw_nan:
  case TokenKind::kw_true:
  case TokenKind::kw_false:
  case TokenKind::left_paren: return on_same_line_as_previous();
  case TokenKind::kw_where:
    return on_same_line_as_previous() && following().kind == TokenKind::left_paren &&
           !directly_in_brackets;
  default: return false;
  }
}

// ---- brackets after a name

Parser::Brackets Parser::brackets() {
  Brackets in;
  Nesting nesting(*this, bracket_level_);
  if (!nesting || !open(TokenKind::left_bracket)) return in;
  if (at(TokenKind::right_bracket)) {
    fail(Kind::empty_brackets, here(), "empty brackets")
        .help("a tensor of rank 0 is written without brackets; a reduction names its index: "
              "`sum[k]`");
    return in;
  }
  do in.items.push_back(bracket_item(in));
  while (accept(TokenKind::comma));
  if (accept(TokenKind::kw_where)) in.filter = expression(), in.binds = true;
  if (accept(TokenKind::semicolon)) in.count = expression(), in.binds = true;
  close(TokenKind::right_bracket);
  return in;
}

Parser::Item Parser::bracket_item(Brackets& in) {
  Item item;
  auto ends_name = [&](const Token& t) {
    switch (t.kind) {
    case TokenKind::comma:
    case TokenKind::right_bracket:
    case TokenKind::colon:
    case TokenKind::semicolon:
    case TokenKind::kw_where:
    case TokenKind::name: return true;
    default: return false;
    }
  };
  if (!at(TokenKind::name) || at_reduction() || at_scan() || !ends_name(following())) {
    item.place = expression();
    return item;
  }
  item.binder.name = declared_name("an index");
  reject_loop_syntax();
  if (accept(TokenKind::colon)) item.binder.extent = extent(), in.binds = true;
  binder_modifiers(item.binder, in.binds);
  return item;
}

void Parser::binder_modifiers(Binder& b, bool& seen) {
  for (;;) {
    if (accept_word("exclusive"))
      b.exclusive = true;
    else if (accept_word("desc"))
      b.desc = true;
    else
      return;
    seen = true;
  }
}

/// `i in 0..N`, which other languages have.
void Parser::reject_loop_syntax() {
  if (!at_word("in")) return;
  fail(Kind::loop_syntax, here(), "an index does not take `in`")
      .help("its extent follows from the reads, or is stated after a colon: `k: K`");
}

ExprId Parser::extent() {
  ExprId value = expression();
  if (at(TokenKind::range) || at(TokenKind::range_open))
    fail(Kind::loop_syntax, here(), "an index takes an extent, not a range")
        .help("indices count from 0: write `k: K`, and add an offset where it is read");
  return value;
}

std::vector<Binder> Parser::binders_of(Brackets&& in) {
  std::vector<Binder> binders;
  if (panicking_) return binders;
  for (Item& item : in.items) {
    if (item.place) {
      fail(Kind::expected_index, whole(item.place), "expected the name of an index here")
          .help("the brackets of a reduction or macro name its indices: `sum[k] x[2*k]`");
      return binders;
    }
    binders.push_back(std::move(item.binder));
  }
  return binders;
}

} // namespace tang::parse
