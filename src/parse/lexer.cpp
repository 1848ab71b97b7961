#include "parse/lexer.h"
#include "base/ascii.h"
#include <array>
#include <limits>

namespace tang::parse {

namespace {

struct Word {
  TokenKind kind;
  std::string_view text;
};
constexpr Word punctuation[] = {
#define TANG_TOKEN(name, text)
#define TANG_PUNCTUATION(name, text) {TokenKind::name, text},
#define TANG_KEYWORD(name, text)
#include "parse/token.def"
#undef TANG_PUNCTUATION
#undef TANG_KEYWORD
};
constexpr Word keyword_tokens[] = {
#define TANG_PUNCTUATION(name, text)
#define TANG_KEYWORD(name, text) {TokenKind::name, text},
#include "parse/token.def"
#undef TANG_TOKEN
#undef TANG_PUNCTUATION
#undef TANG_KEYWORD
};

/// What people write out of habit, and what to write here.
struct Habit {
  std::string_view text;
  std::string_view advice;
};
constexpr Habit habits[] = {
    {"**", "write `pow(a, b)`"},
    {"^", "write `pow(a, b)`, or `bitxor(a, b)` for bits"},
    {"&&", "write `and`"},
    {"||", "write `or`"},
    {"&", "write `bitand(a, b)`, or `and` for conditions"},
    {"|", "write `bitor(a, b)`, or `or` for conditions"},
    {"~", "write `bitxor(a, -1)`, or `not` for conditions"},
    {"//", "write `floordiv(a, b)`; a comment starts with `#`"},
    {"/*", "a comment starts with `#` and ends with the line"},
    {"%", "write `mod(a, b)`"},
    {"<<", "write `shl(a, b)`"},
    {">>", "write `shr(a, b)`"},
    {"@", "write the contraction: `sum[k] a[i, k] * b[k, j]`"},
    {"?", "write `where(condition, a, b)`"},
    {"+=", "a tensor is defined once: write the whole sum in one equation"},
    {"-=", "a tensor is defined once: write the whole sum in one equation"},
    {"*=", "a tensor is defined once: write the whole product in one equation"},
    {"/=", "a tensor is defined once; to compare write `!=`"},
    {":=", "write `=`"},
    {"=>", "write `>=` to compare, `->` in `monoid` and `grad`"},
    {"!", "write `not`"},
    {"'", "strings stand in double quotes: `\"name\"`"},
    {"\\", "inside brackets a statement simply continues on the next line"},
    {"\xc3\x97", "write `*`"},              // ×
    {"\xc2\xb7", "write `*`"},              // ·
    {"\xc3\xb7", "write `/`"},              // ÷
    {"\xe2\x88\x92", "write `-`"},          // minus sign
    {"\xe2\x80\x93", "write `-`"},          // en dash
    {"\xe2\x89\xa4", "write `<=`"},         // ≤
    {"\xe2\x89\xa5", "write `>=`"},         // ≥
    {"\xe2\x89\xa0", "write `!=`"},         // ≠
    {"\xe2\x86\x92", "write `->`"},         // →
    {"\xe2\x88\x9e", "write `inf`"},        // ∞
    {"\xe2\x88\x91", "write `sum[k] ...`"}, // ∑
    {"\xce\xa3", "write `sum[k] ...`"},     // Σ
    {"\xe2\x80\xa6", "write `..`"},         // …
    {"\xe2\x80\x9c", "strings stand in double quotes: `\"name\"`"},
    {"\xe2\x80\x9d", "strings stand in double quotes: `\"name\"`"},
};

class Lexer {
public:
  Lexer(const SourceManager& sources, FileId file, Sink& sink)
      : file_(file), text_(sources.file(file).text), sink_(sink) {}

  Lexed run() {
    size_t full_size = text_.size(), end = full_size;
    if (end >= std::numeric_limits<uint32_t>::max()) {
      sink_.report(Kind::file_too_large, {}, "the file has 4 GiB or more");
      end = 0;
    } else if (size_t bad = first_bad_byte(text_); bad != std::string_view::npos) {
      report_bad_byte(bad);
      end = bad;
    }
    text_ = text_.substr(0, end);
    out_.tokens.reserve(text_.size() / 3 + 8);
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;
    while (at_ < text_.size()) next();
    // The parser says nothing more about the place where the text broke off.
    if (end < full_size) push(TokenKind::bad, at_);
    push(TokenKind::end_of_file, at_);
    return std::move(out_);
  }

private:
  Span span(size_t begin, size_t end) const {
    return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  void push(TokenKind kind, size_t end) {
    out_.tokens.push_back({kind, static_cast<uint32_t>(at_), static_cast<uint32_t>(end)});
    at_ = end;
  }
  bool starts(std::string_view s) const {
    return text_[at_] == s[0] && text_.compare(at_, s.size(), s) == 0;
  }

  void report_bad_byte(size_t at) {
    uint8_t byte = static_cast<uint8_t>(text_[at]);
    if (byte == 0)
      sink_.report(Kind::nul_byte, span(at, at + 1), "a NUL byte in the text");
    else
      sink_.report(Kind::invalid_utf8, span(at, at + 1), "byte 0x{:02x} is not valid UTF-8 here",
                   byte);
  }

  void next() {
    char c = text_[at_];
    if (c == ' ' || c == '\t') return void(++at_);
    if (c == '\n') {
      line_has_token_ = false;
      return push(TokenKind::newline, at_ + 1);
    }
    if (starts("\r\n")) return void(++at_);
    if (c == '#') return comment();
    line_has_token_ = true;
    if (is_name_start(c)) return word();
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      return number();
    if (c == '"') return string();
    symbol();
  }

  void comment() {
    size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    size_t after = end;
    while (text_[end - 1] == '\r' || text_[end - 1] == ' ' || text_[end - 1] == '\t') --end;
    out_.comments.push_back({span(at_, end), !line_has_token_});
    at_ = after;
  }

  void word() {
    size_t end = at_;
    while (end < text_.size() && is_name_part(text_[end])) ++end;
    std::string_view name = text_.substr(at_, end - at_);
    for (const Word& keyword : keyword_tokens)
      if (keyword.text == name) return push(keyword.kind, end);
    push(TokenKind::name, end);
  }

  void number() {
    NumberShape shape = scan_number(text_.substr(at_));
    size_t end = at_ + shape.length;
    if (shape.well_formed) return push(shape.is_real ? TokenKind::real : TokenKind::integer, end);
    sink_
        .report(Kind::malformed_number, span(at_, end), "`{}` is not a number",
                text_.substr(at_, end - at_))
        .help("numbers are written `12`, `0.5`, `1e-5`, `0x1f` or `0x1.8p3`; a name cannot start "
              "with a digit");
    push(TokenKind::bad, end);
  }

  void string() {
    bool good = true;
    size_t end = at_ + 1;
    for (; end < text_.size() && text_[end] != '"' && text_[end] != '\n'; ++end) {
      if (text_[end] != '\\' || end + 1 == text_.size() || text_[end + 1] == '\n') continue;
      std::string_view escape = text_.substr(end++, 2);
      if (escape == "\\\\" || escape == "\\\"" || escape == "\\n" || escape == "\\t") continue;
      good = false;
      sink_.report(Kind::unknown_escape, span(end - 1, end + 1), "an unknown escape in a string")
          .help("the escapes are `\\\\`, `\\\"`, `\\n` and `\\t`");
    }
    if (end == text_.size() || text_[end] == '\n') {
      if (text_[end - 1] == '\r') --end;
      sink_.report(Kind::unterminated_string, span(at_, end), "a string without its closing `\"`")
          .help("a string ends on the line it starts on");
      return push(TokenKind::bad, end);
    }
    push(good ? TokenKind::string : TokenKind::bad, end + 1);
  }

  void symbol() {
    // `=>` and the like start with operators of ours, so the longer of the two lists' matches wins.
    const Word* word = nullptr;
    for (const Word& p : punctuation)
      if (!word && starts(p.text)) word = &p;
    const Habit* habit = nullptr;
    for (const Habit& h : habits)
      if (!habit && starts(h.text)) habit = &h;
    if (word && (!habit || habit->text.size() <= word->text.size()))
      return push(word->kind, at_ + word->text.size());
    if (!habit) return unexpected();
    size_t end = at_ + habit->text.size();
    sink_
        .report(Kind::foreign_operator, span(at_, end), "`{}` is not part of the language",
                habit->text)
        .help(std::string(habit->advice));
    push(TokenKind::bad, end);
  }

  void unexpected() {
    push(TokenKind::bad, report_unexpected(sink_, file_, text_, at_, "strings and comments"));
  }

  FileId file_;
  std::string_view text_;
  Sink& sink_;
  size_t at_ = 0;
  bool line_has_token_ = false;
  Lexed out_;
};

} // namespace

size_t report_unexpected(Sink& sink, FileId file, std::string_view text, size_t at,
                         std::string_view places) {
  size_t end = at + 1;
  auto beyond_ascii = [&](size_t i) { return static_cast<uint8_t>(text[i]) >= 0x80; };
  if (beyond_ascii(at))
    while (end < text.size() && beyond_ascii(end)) ++end;
  auto byte = static_cast<uint8_t>(text[at]);
  bool control = byte < 0x20 || byte == 0x7f;
  std::string shown = control ? fmt::format("control character 0x{:02x}", byte)
                              : fmt::format("character `{}`", text.substr(at, end - at));
  Span seen{file, static_cast<uint32_t>(at), static_cast<uint32_t>(end)};
  auto& d = sink.report(Kind::unexpected_character, seen, "unexpected {}", shown);
  if (!control)
    d.help(fmt::format("names are made of `A-Z a-z 0-9 _`; other characters stand in {}", places));
  return end;
}

std::string_view text_of(TokenKind kind) {
  static constexpr std::array texts = {
#define TANG_TOKEN(name, text) std::string_view(text),
#define TANG_PUNCTUATION(name, text) std::string_view(text),
#define TANG_KEYWORD(name, text) std::string_view(text),
#include "parse/token.def"
#undef TANG_TOKEN
#undef TANG_PUNCTUATION
#undef TANG_KEYWORD
  };
  return texts[static_cast<size_t>(kind)];
}

Lexed lex(const SourceManager& sources, FileId file, Sink& sink) {
  return Lexer(sources, file, sink).run();
}

} // namespace tang::parse
