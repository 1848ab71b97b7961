#include "parse/parser_state.h"

namespace tang::parse {

Parser::Parser(const SourceManager& sources, FileId file, Sink& sink)
    : sources_(sources), file_(file), text_(sources.file(file).text), sink_(sink),
      errors_before_(sink.error_count()) {
  Lexed lexed = lex(sources, file, sink);
  tokens_ = std::move(lexed.tokens);
  module_.file = file;
  module_.comments = std::move(lexed.comments);
  module_.exprs.reserve(tokens_.size() / 3);
}

const Token& Parser::current() {
  if (panicking_) return stop_;
  if (!open_.empty())
    while (tokens_[pos_].kind == TokenKind::newline) ++pos_;
  return tokens_[pos_];
}

const Token& Parser::following() {
  if (current().kind == TokenKind::end_of_file || panicking_) return current();
  size_t next = pos_ + 1;
  if (!open_.empty())
    while (tokens_[next].kind == TokenKind::newline) ++next;
  return tokens_[next];
}

bool Parser::at_word(std::string_view word) {
  return at(TokenKind::name) && text_of_token(current()) == word;
}

void Parser::advance() {
  if (current().kind == TokenKind::end_of_file || panicking_) return;
  last_ = pos_++;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

bool Parser::expect(TokenKind kind, std::string_view what) {
  if (accept(kind)) return true;
  fail_expected(what.empty() ? fmt::format("`{}`", text_of(kind)) : std::string(what));
  return false;
}

bool Parser::expect_word(std::string_view word) {
  if (accept_word(word)) return true;
  fail_expected(fmt::format("`{}`", word));
  return false;
}

bool Parser::open(TokenKind opener) {
  if (!expect(opener)) return false;
  open_.push_back(static_cast<uint32_t>(last_));
  return true;
}

bool Parser::close(TokenKind closer, std::string_view separator) {
  if (panicking_) return false;
  if (at(closer)) {
    advance();
    open_.pop_back();
    return true;
  }
  Token opener = tokens_[open_.back()];
  if (std::optional<size_t> line = statement_started_inside()) {
    // Reading resumes with the statement that the open bracket had swallowed.
    pos_ = last_ = *line;
    while (tokens_[--last_].kind == TokenKind::newline) {
    }
    fail_unclosed(closer, opener);
    return false;
  }
  switch (current().kind) {
  case TokenKind::end_of_file:
  case TokenKind::right_paren:
  case TokenKind::right_bracket:
  case TokenKind::left_brace:
  case TokenKind::right_brace: fail_unclosed(closer, opener); return false;
  case TokenKind::equal:
    fail(Kind::assignment_in_expression, here(), "`=` in an expression")
        .help("to compare write `==`");
    return false;
  default: break;
  }
  std::string wanted = separator.empty() ? "" : fmt::format("{} or ", separator);
  fail_expected(fmt::format("{}`{}`", wanted, text_of(closer)))
      .note(span_of(opener), fmt::format("inside this `{}`", text_of(opener.kind)));
  return false;
}

void Parser::fail_unclosed(TokenKind closer, const Token& opener) {
  bool ended = at(TokenKind::end_of_file) || !on_same_line_as_previous();
  Span place = ended ? Span{file_, previous_end(), previous_end()} : here();
  fail(Kind::unclosed_bracket, place,
       fmt::format("expected `{}`, found {}", text_of(closer), found()))
      .note(span_of(opener), fmt::format("this `{}` is not closed", text_of(opener.kind)));
}

/// The first token of the current line, when that line began inside the innermost open bracket and
/// yet reads like a statement of its own.
std::optional<size_t> Parser::statement_started_inside() {
  size_t line = (current(), pos_);
  while (line > 0 && tokens_[line - 1].kind != TokenKind::newline) --line;
  if (line > open_.back() && looks_like_statement(line)) return line;
  return std::nullopt;
}

Span Parser::span_from(uint32_t begin) const {
  return {file_, begin, std::max(begin, previous_end())};
}

Span Parser::here() {
  const Token& t = current();
  bool is_end = t.kind == TokenKind::newline || t.kind == TokenKind::end_of_file;
  if (!is_end || last_ == SIZE_MAX) return span_of(t);
  return {file_, previous_end(), previous_end()};
}

std::string Parser::found() {
  const Token& t = current();
  switch (t.kind) {
  case TokenKind::end_of_file:
  case TokenKind::newline: return std::string(text_of(t.kind));
  case TokenKind::string: return fmt::format("the string `{}`", text_of_token(t));
  default: return fmt::format("`{}`", text_of_token(t));
  }
}

Diagnostic& Parser::fail(Kind kind, Span span, std::string message) {
  bool reported = panicking_ || current().kind == TokenKind::bad;
  panicking_ = true;
  if (!reported) return sink_.report(kind, span, std::move(message));
  swallowed_ = Diagnostic{};
  return swallowed_;
}

Diagnostic& Parser::fail_expected(std::string_view what) {
  return fail(Kind::expected_token, here(), fmt::format("expected {}, found {}", what, found()));
}

void Parser::end_statement() {
  if (panicking_ || at(TokenKind::newline) || at(TokenKind::semicolon) ||
      at(TokenKind::end_of_file) || (blocks_ > 0 && at(TokenKind::right_brace)))
    return;
  if (at(TokenKind::equal)) {
    fail(Kind::assignment_in_expression, here(), "`=` in an expression")
        .help("to compare write `==`");
  } else if (at(TokenKind::right_paren) || at(TokenKind::right_bracket) ||
             at(TokenKind::right_brace)) {
    fail(Kind::unmatched_closer, here(), fmt::format("{} closes nothing", found()));
  } else {
    fail_expected("the end of the statement").help("a statement ends with its line or with `;`");
  }
}

bool Parser::looks_like_statement(size_t index) const {
  const Token& first = tokens_[index];
  if (first.kind == TokenKind::right_brace) return blocks_ > 0;
  if (first.kind == TokenKind::name && statement_rule(text_of_token(first))) {
    TokenKind next = tokens_[index + 1].kind;
    if (next == TokenKind::name || next == TokenKind::string) return true;
  }
  if (first.kind != TokenKind::name && first.kind != TokenKind::left_paren) return false;
  // An equation: its line has a `=` outside all brackets that the line itself opens.
  int depth = 0;
  for (size_t i = index;; ++i) {
    switch (tokens_[i].kind) {
    case TokenKind::left_paren:
    case TokenKind::left_bracket: ++depth; break;
    case TokenKind::right_paren:
    case TokenKind::right_bracket:
      if (--depth < 0) return false;
      break;
    case TokenKind::equal:
      if (depth == 0) return true;
      break;
    case TokenKind::newline:
    case TokenKind::end_of_file: return false;
    default: break;
    }
  }
}

void Parser::recover() {
  if (!panicking_) return;
  panicking_ = false;
  size_t depth = open_.size(), braces = 0, i = last_ == SIZE_MAX ? 0 : last_ + 1;
  open_.clear();
  for (; tokens_[i].kind != TokenKind::end_of_file; ++i) {
    TokenKind kind = tokens_[i].kind;
    if (kind == TokenKind::left_paren || kind == TokenKind::left_bracket) ++depth;
    if ((kind == TokenKind::right_paren || kind == TokenKind::right_bracket) && depth > 0) --depth;
    if (kind == TokenKind::left_brace) ++braces;
    if (kind == TokenKind::right_brace) {
      if (braces == 0 && blocks_ > 0) break;
      if (braces > 0) --braces;
    }
    if (braces > 0) continue;
    if (kind == TokenKind::semicolon && depth == 0) break;
    if (kind == TokenKind::newline && (depth == 0 || looks_like_statement(i + 1))) break;
  }
  pos_ = i;
}

Parser::Nesting::Nesting(Parser& parser, int& level)
    : level_(level), good_(++level <= max_nesting) {
  if (!good_)
    parser
        .fail(Kind::nesting_too_deep, parser.here(),
              fmt::format("nested deeper than {} levels", max_nesting))
        .help("give an inner part a name with an equation of its own");
}

} // namespace tang::parse
