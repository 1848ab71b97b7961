// Declarations: everything that is neither an equation nor has a body.
#include "parse/parser_state.h"
#include <limits>

namespace tang::parse {

Name Parser::name(std::string_view what) {
  Token t = current();
  if (!expect(TokenKind::name, what)) return {};
  return {std::string(text_of_token(t)), span_of(t)};
}

Name Parser::declared_name(std::string_view what) {
  if (panicking_) return {};
  Token t = current();
  std::string_view text = text_of_token(t);
  if (is_reserved(text)) {
    fail(Kind::reserved_name, span_of(t),
         fmt::format("`{}` is reserved and cannot name {}", text, what));
    return {};
  }
  return name(what);
}

std::optional<std::string> Parser::external_name() {
  Token t = current();
  if (!accept(TokenKind::string)) return std::nullopt;
  return string_value(text_of_token(t));
}

Declared Parser::declared(std::string_view what) {
  Declared d{declared_name(what), {}};
  d.external = external_name();
  return d;
}

Range Parser::range() {
  Range r;
  r.lo = expression();
  if (accept(TokenKind::range_open))
    r.inclusive = false;
  else
    expect(TokenKind::range, "`..` or `..<`");
  r.hi = expression();
  return r;
}

TensorType Parser::tensor_type() {
  uint32_t begin = current().begin;
  TensorType type;
  type.element = name("an element type such as `f32`");
  if (at(TokenKind::left_bracket))
    type.shape = expression_list(TokenKind::left_bracket, TokenKind::right_bracket);
  if (accept(TokenKind::colon))
    type.strides = expression_list(TokenKind::left_bracket, TokenKind::right_bracket);
  type_clauses(type);
  type.span = span_from(begin);
  return type;
}

void Parser::type_clauses(TensorType& type) {
  for (;;) {
    Token t = current();
    bool repeated = false;
    if (accept_word("align")) {
      repeated = static_cast<bool>(type.align);
      type.align = expression();
    } else if (accept_word("in")) {
      repeated = type.range.has_value();
      type.range = range();
    } else if (accept_word("sorted")) {
      repeated = type.sorted;
      type.sorted = true;
    } else {
      return;
    }
    if (repeated) {
      fail(Kind::repeated_clause, span_of(t),
           fmt::format("`{}` is stated twice", text_of_token(t)));
      return;
    }
  }
}

/// `loc("file.py":12:3)`; the column may be left out.
ForeignPlace Parser::foreign_place() {
  ForeignPlace place;
  uint32_t begin = current().begin;
  expect_word("loc");
  if (!open(TokenKind::left_paren)) return place;
  auto number = [&](std::string_view what) {
    Token t = current();
    if (!expect(TokenKind::integer, what)) return int64_t{0};
    std::optional<int64_t> value = integer_value(text_of_token(t));
    if (!value)
      sink_.report(Kind::number_out_of_range, span_of(t), "`{}` does not fit 64 bits",
                   text_of_token(t));
    return value.value_or(0);
  };
  place.file = external_name().value_or("");
  expect(TokenKind::colon);
  place.line = number("a line number");
  if (accept(TokenKind::colon)) place.column = number("a column number");
  close(TokenKind::right_paren, {});
  place.span = span_from(begin);
  return place;
}

// ---- one rule per statement; the word is consumed already

StmtForm Parser::version() {
  Token t = current();
  Version v;
  expect(TokenKind::integer, "the version of the language, `1`");
  if (panicking_) return v;
  v.number = integer_value(text_of_token(t)).value_or(std::numeric_limits<int64_t>::max());
  bool is_first = module_.stmts.empty() && blocks_ == 0;
  if (!is_first)
    fail(Kind::unsupported_version, span_of(t), "a second `tg`")
        .help("`tg 1` stands once, at the head of the file");
  else if (v.number != 1)
    fail(Kind::unsupported_version, span_of(t),
         fmt::format("version `{}` of the language is not known", text_of_token(t)))
        .help("this compiler reads `tg 1`");
  return v;
}

StmtForm Parser::graph_name() {
  return GraphName{declared("a graph")};
}

StmtForm Parser::dim() {
  Dim d;
  do {
    DimEntry e;
    e.declared = declared("a dim");
    if (accept(TokenKind::equal))
      e.value = expression();
    else if (accept_word("in")) {
      e.range = range();
      if (accept_word("step")) e.step = expression();
    }
    d.entries.push_back(std::move(e));
  } while (accept(TokenKind::comma));
  return d;
}

StmtForm Parser::input() {
  Input i;
  i.declared = declared("a tensor");
  expect(TokenKind::colon);
  i.type = tensor_type();
  return i;
}

StmtForm Parser::param() {
  StmtForm form = input();
  std::get<Input>(form).is_param = true;
  return form;
}

StmtForm Parser::constant() {
  Const c;
  c.declared = declared("a table");
  expect(TokenKind::colon);
  c.type = tensor_type();
  expect(TokenKind::equal);
  uint32_t begin = current().begin;
  table_values(c, 0);
  if (!c.extents.empty()) c.brackets = span_from(begin);
  return c;
}

/// One list of the level `level`, or one value below the innermost list. The first list of a level
/// sets the level's length.
void Parser::table_values(Const& c, size_t level) {
  uint32_t begin = current().begin;
  bool is_list = at(TokenKind::left_bracket);
  bool first = c.values.empty();
  if (!first && is_list != (level < c.extents.size())) {
    fail(Kind::ragged_table, here(),
         is_list ? "a list where the others are numbers" : "a number where the others are lists");
    return;
  }
  if (!is_list) {
    c.values.push_back(expression());
    return;
  }
  Nesting nesting(*this, bracket_level_);
  if (!nesting || !open(TokenKind::left_bracket)) return;
  if (at(TokenKind::right_bracket)) {
    fail(Kind::empty_brackets, here(), "a table without values");
    return;
  }
  if (first) c.extents.push_back(0);
  uint32_t length = 0;
  do table_values(c, level + 1), ++length;
  while (accept(TokenKind::comma));
  if (!close(TokenKind::right_bracket)) return;
  if (first)
    c.extents[level] = length;
  else if (c.extents[level] != length)
    fail(Kind::ragged_table, span_from(begin),
         fmt::format("a list of {} where the others have {}", length, c.extents[level]));
}

StmtForm Parser::let() {
  Let l;
  l.name = declared_name("a constant");
  expect(TokenKind::equal);
  l.value = expression();
  return l;
}

StmtForm Parser::include() {
  Include i;
  uint32_t begin = current().begin;
  if (std::optional<std::string> path = external_name()) {
    i.path = *path;
  } else {
    expect(TokenKind::less, "a file `\"name.tg\"` or `<nn>`");
    i.is_library = true;
    i.path = name("the name of a library").text;
    expect(TokenKind::greater);
  }
  i.span = span_from(begin);
  return i;
}

StmtForm Parser::output() {
  Output o;
  o.tensor = declared_name("a tensor");
  if (accept_word("as")) o.as = declared_name("an output");
  o.external = external_name();
  expect(TokenKind::colon);
  o.type = tensor_type();
  if (accept_word("over")) o.over = name("the input it is stored over");
  return o;
}

StmtForm Parser::grad() {
  Grad g;
  g.of = name("a tensor");
  if (accept_word("with")) g.cotangent = name("the cotangent");
  expect_word("wrt");
  do {
    GradPair pair;
    pair.wrt = name("a tensor");
    expect(TokenKind::arrow);
    pair.gradient = declared_name("a gradient");
    g.pairs.push_back(std::move(pair));
  } while (accept(TokenKind::comma));
  return g;
}

StmtForm Parser::store() {
  Store s;
  s.tensor = name("a tensor");
  expect(TokenKind::colon);
  s.element = name("an element type such as `bf16`");
  return s;
}

StmtForm Parser::accumulate() {
  Accumulate a;
  a.tensor = name("a tensor");
  expect(TokenKind::colon);
  a.element = name("an element type such as `f16`");
  return a;
}

StmtForm Parser::budget() {
  Budget b;
  b.tensor = name("a tensor");
  expect(TokenKind::colon);
  if (accept_word("abs"))
    b.kind = BudgetKind::absolute;
  else if (!accept_word("rel"))
    fail_expected("`rel` or `abs`");
  b.limit = expression();
  return b;
}

} // namespace tang::parse
