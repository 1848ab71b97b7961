// Equations, and the statements that have bodies or parameter lists of their own.
#include "parse/parser_state.h"

namespace tang::parse {

std::vector<Binder> Parser::point_indices() {
  std::vector<Binder> indices;
  Nesting nesting(*this, bracket_level_);
  if (!nesting || !open(TokenKind::left_bracket)) return indices;
  if (at(TokenKind::right_bracket)) {
    fail(Kind::empty_brackets, here(), "empty brackets")
        .help("a tensor of rank 0 is written without brackets");
    return indices;
  }
  do {
    if (!panicking_ && !at(TokenKind::name)) {
      fail(Kind::expected_index, here(),
           fmt::format("expected the name of an index, found {}", found()))
          .help("arithmetic belongs into the reads: `y[i] = x[2*i + 1]`");
      return indices;
    }
    Binder b;
    b.name = declared_name("an index");
    reject_loop_syntax();
    if (accept(TokenKind::colon)) b.extent = extent();
    bool arithmetic =
        at(TokenKind::plus) || at(TokenKind::minus) || at(TokenKind::star) || at(TokenKind::slash);
    if (arithmetic)
      fail(Kind::expected_index, here(),
           fmt::format("expected the name of an index alone, found {}", found()))
          .help("arithmetic belongs into the reads: `y[i] = x[2*i + 1]`");
    indices.push_back(std::move(b));
  } while (accept(TokenKind::comma));
  close(TokenKind::right_bracket);
  return indices;
}

LeftSide Parser::left_side() {
  LeftSide left;
  uint32_t begin = current().begin;
  left.tensor = declared_name("a tensor");
  if (at(TokenKind::left_bracket)) left.indices = point_indices();
  left.span = span_from(begin);
  return left;
}

StmtForm Parser::equation() {
  Equation e;
  if (at(TokenKind::left_paren)) {
    open(TokenKind::left_paren);
    do e.lefts.push_back(left_side());
    while (accept(TokenKind::comma));
    close(TokenKind::right_paren);
  } else {
    e.lefts.push_back(left_side());
  }
  if (at(TokenKind::equal_equal))
    fail(Kind::comparison_as_definition, here(), "`==` where a definition has `=`");
  expect(TokenKind::equal);
  e.value = expression();
  return e;
}

StmtForm Parser::def() {
  Def d;
  d.name = declared_name("a macro");
  if (at(TokenKind::left_bracket)) {
    std::vector<Binder> binders = point_indices();
    for (Binder& b : binders) {
      if (b.extent)
        fail(Kind::expected_index, whole(b.extent), "the index of a macro takes no extent")
            .help("it takes the extent of the index it is used with");
      d.binders.push_back(std::move(b.name));
    }
  }
  if (open(TokenKind::left_paren)) {
    if (!at(TokenKind::right_paren)) {
      do d.parameters.push_back(declared_name("a parameter"));
      while (accept(TokenKind::comma));
    }
    close(TokenKind::right_paren);
  }
  if (accept_word("outside")) d.outside = expression();
  if (at(TokenKind::left_brace)) {
    def_body(d);
  } else {
    expect(TokenKind::equal, "`=` or `{`");
    d.result = expression();
  }
  return d;
}

/// `{ let m = ...; x - m }`
void Parser::def_body(Def& d) {
  uint32_t begin = current().begin;
  expect(TokenKind::left_brace);
  skip_separators();
  while (at_word("let") && following().kind == TokenKind::name) {
    advance();
    StmtForm form = let();
    d.lets.push_back(std::move(std::get<Let>(form)));
    if (!at(TokenKind::newline) && !at(TokenKind::semicolon))
      fail_expected("`;` or the end of the line");
    skip_separators();
  }
  d.result = expression();
  skip_separators();
  expect(TokenKind::right_brace);
  d.braces = span_from(begin);
}

StmtForm Parser::monoid() {
  Monoid m;
  m.name = declared_name("a monoid");
  if (!open(TokenKind::left_paren)) return m;
  do {
    MonoidField f;
    f.name = declared_name("a field");
    if (at(TokenKind::left_bracket)) f.indices = point_indices();
    if (!at(TokenKind::equal)) fail_expected("`=` and the identity of the field");
    accept(TokenKind::equal);
    f.identity = expression();
    m.fields.push_back(std::move(f));
  } while (accept(TokenKind::comma));
  close(TokenKind::right_paren);
  if (!open(TokenKind::left_paren)) return m;
  m.first = declared_name("a parameter");
  expect(TokenKind::comma);
  m.second = declared_name("a parameter");
  close(TokenKind::right_paren, {});
  expect(TokenKind::arrow);
  uint32_t begin = current().begin;
  if (!open(TokenKind::left_paren)) return m;
  do m.combine.push_back(expression());
  while (accept(TokenKind::comma));
  close(TokenKind::right_paren);
  m.parens = span_from(begin);
  return m;
}

Span Parser::body(std::vector<StmtId>& out) {
  uint32_t begin = current().begin;
  Nesting nesting(*this, bracket_level_);
  if (!nesting || !expect(TokenKind::left_brace)) return {};
  size_t opener = last_;
  ++blocks_;
  skip_separators();
  while (!at(TokenKind::right_brace) && !at(TokenKind::end_of_file)) {
    statement(out);
    skip_separators();
  }
  --blocks_;
  if (!accept(TokenKind::right_brace))
    fail(Kind::unclosed_bracket, here(), "expected `}` here, found the end of the file")
        .note(span_of(tokens_[opener]), "this `{` is not closed");
  return span_from(begin);
}

StmtForm Parser::repeat() {
  Repeat r;
  r.index = declared_name("an index");
  expect_word("in");
  r.range = range();
  expect_word("carry");
  do r.carry.push_back(name("a tensor to carry"));
  while (accept(TokenKind::comma));
  r.braces = body(r.body);
  return r;
}

StmtForm Parser::recur() {
  Recur r;
  r.index.name = declared_name("an index");
  reject_loop_syntax();
  if (accept(TokenKind::colon)) r.index.extent = extent();
  expect_word("carry");
  do {
    CarryPair pair;
    pair.carried = declared_name("a carried tensor");
    expect(TokenKind::equal, "`=` and the tensor to start from");
    bool is_number = at(TokenKind::integer) || at(TokenKind::real) || at(TokenKind::minus);
    if (is_number)
      fail_expected("the tensor to start from")
          .help(fmt::format("define it first, such as `{}0[c: C] = 0`, and carry `{} = {}0`",
                            pair.carried.text, pair.carried.text, pair.carried.text));
    else
      pair.start = name("the tensor to start from");
    r.carry.push_back(std::move(pair));
  } while (accept(TokenKind::comma));
  r.braces = body(r.body);
  while (accept_word("collect")) {
    do {
      CollectPair pair;
      pair.collected = declared_name("a collected tensor");
      expect(TokenKind::equal, "`=` and the carried tensor");
      pair.carried = name("a carried tensor");
      r.collect.push_back(std::move(pair));
    } while (accept(TokenKind::comma));
  }
  return r;
}

} // namespace tang::parse
