#include "parse/spec/cursor.h"
#include <algorithm>
#include <limits>

namespace tang::parse::spec {

const Token& Cursor::peek() {
  while (depth_ > 0 && lexed_.tokens[at_].kind == TokenKind::newline) ++at_;
  return lexed_.tokens[at_];
}

const Token& Cursor::peek_second() {
  peek();
  return lexed_.tokens[std::min(at_ + 1, lexed_.tokens.size() - 1)];
}

Token Cursor::take() {
  last_ = peek();
  if (last_.kind == TokenKind::symbol) {
    char c = text(last_)[0];
    if (c == '(' || c == '[') ++depth_;
    if ((c == ')' || c == ']') && depth_ > 0) --depth_;
  }
  if (last_.kind != TokenKind::end_of_file) ++at_;
  return last_;
}

bool Cursor::at(std::string_view wanted) {
  const Token& token = peek();
  return (token.kind == TokenKind::symbol || token.kind == TokenKind::name) &&
         text(token) == wanted;
}

bool Cursor::accept(std::string_view wanted) {
  if (!at(wanted)) return false;
  take();
  return true;
}

bool Cursor::expect(std::string_view wanted) {
  return accept(wanted) || expected(fmt::format("`{}`", wanted));
}

bool Cursor::expected(std::string_view what) {
  const Token& token = peek();
  if (token.kind == TokenKind::bad) return false; // reported
  std::string seen = token.kind == TokenKind::end_of_file ? "the end of the file"
                     : token.kind == TokenKind::newline   ? "the end of the line"
                                                          : fmt::format("`{}`", text(token));
  Span place = token.kind == TokenKind::newline ? Span{file_, token.begin, token.begin} : here();
  report(Kind::expected_token, place, "expected {}, found {}", what, seen);
  return false;
}

std::optional<Token> Cursor::name(std::string_view what) {
  if (peek().kind == TokenKind::name) return take();
  expected(what);
  return std::nullopt;
}

std::optional<int64_t> Cursor::integer(std::string_view what) {
  bool negative = accept("-");
  const Token& token = peek();
  auto number = token.kind == TokenKind::number ? number_of(text(token)) : std::nullopt;
  if (!number || number->is_real || !number->suffix.empty()) {
    expected(what);
    return std::nullopt;
  }
  if (!negative && number->integer > uint64_t{INT64_MAX}) {
    report(Kind::number_out_of_range, here(), "`{}` does not fit 64 bits", text(token));
    return std::nullopt;
  }
  take();
  return static_cast<int64_t>(negative ? 0 - number->integer : number->integer);
}

std::optional<double> Cursor::real(std::string_view what) {
  bool negative = accept("-");
  const Token& token = peek();
  std::optional<double> value;
  if (token.kind == TokenKind::number) {
    auto number = number_of(text(token));
    if (number && number->suffix.empty())
      value = number->is_real ? number->real : static_cast<double>(number->integer);
  } else if (at("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (at("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  }
  if (!value) {
    expected(what);
    return std::nullopt;
  }
  take();
  return negative ? -*value : *value;
}

bool Cursor::range(std::optional<int64_t>& lo, std::optional<int64_t>& hi) {
  Span first = here();
  auto end = [&](std::optional<int64_t>& value) {
    if (peek().kind != TokenKind::number && !at("-")) return true;
    value = integer("a whole number");
    return value.has_value();
  };
  if (!end(lo) || !expect("..") || !end(hi)) return false;
  if (lo && hi && *lo > *hi) {
    report(Kind::dim_range, since(first), "the range {}..{} is empty", *lo, *hi);
    return false;
  }
  return true;
}

bool Cursor::end_of_line() {
  const Token& token = peek();
  if (token.kind == TokenKind::newline) {
    take();
    return true;
  }
  if (token.kind == TokenKind::end_of_file || at("}")) return true;
  return expected("the end of the line");
}

bool Cursor::skip_line(size_t start) {
  depth_ = 0;
  if (at_ > start && lexed_.tokens[at_ - 1].kind == TokenKind::newline) return false;
  bool opens = false;
  for (; lexed_.tokens[at_].kind != TokenKind::end_of_file; ++at_) {
    const Token& token = lexed_.tokens[at_];
    if (token.kind == TokenKind::newline) {
      ++at_;
      break;
    }
    opens = token.kind == TokenKind::symbol && text(token) == "{";
  }
  return opens;
}

void Cursor::skip_blank_lines() {
  while (lexed_.tokens[at_].kind == TokenKind::newline) ++at_;
}

std::vector<std::string> Cursor::comments_above(const Token& token) const {
  uint32_t line = sources_.position(file_, token.begin).line;
  auto at = std::lower_bound(
      lexed_.comments.begin(), lexed_.comments.end(), token.begin,
      [](const Comment& comment, uint32_t begin) { return comment.span.begin < begin; });
  std::vector<std::string> lines;
  while (at != lexed_.comments.begin()) {
    --at;
    if (!at->own_line || sources_.position(file_, at->span.begin).line != line - 1) break;
    std::string_view words = sources_.text(at->span).substr(1);
    if (words.starts_with(' ')) words.remove_prefix(1);
    lines.emplace_back(words);
    --line;
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

} // namespace tang::parse::spec
