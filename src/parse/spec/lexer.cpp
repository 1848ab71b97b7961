#include "parse/spec/lexer.h"
#include "base/ascii.h"
#include "parse/lexer.h"
#include <charconv>
#include <limits>

namespace tang::parse::spec {
namespace {

constexpr std::string_view symbols[] = {"<-", "<=", "==", "!=", "..", "(", ")", "[", "]", "{", "}",
                                        ",",  ";",  ":",  "=",  "<",  ">", "+", "-", "*", "/"};
constexpr std::string_view suffixes[] = {"i32", "i64", "index", "f64"};

/// What is left of a number without its suffix.
std::string_view without_suffix(std::string_view text, std::string_view& suffix) {
  bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  for (std::string_view s : suffixes)
    if (!hexadecimal && text.size() > s.size() && text.ends_with(s)) {
      suffix = s;
      return text.substr(0, text.size() - s.size());
    }
  return text;
}

class Lexer {
public:
  Lexer(const SourceManager& sources, FileId file, Sink& sink)
      : file_(file), text_(sources.file(file).text), sink_(sink) {}

  Lexed run() {
    size_t whole = text_.size();
    if (whole >= std::numeric_limits<uint32_t>::max()) {
      sink_.report(Kind::file_too_large, {}, "the file has 4 GiB or more");
      text_ = {};
    } else if (size_t bad = first_bad_byte(text_); bad != std::string_view::npos) {
      auto byte = static_cast<uint8_t>(text_[bad]);
      if (byte == 0)
        sink_.report(Kind::nul_byte, span(bad, bad + 1), "a NUL byte in the text");
      else
        sink_.report(Kind::invalid_utf8, span(bad, bad + 1),
                     "byte 0x{:02x} is not valid UTF-8 here", byte);
      text_ = text_.substr(0, bad);
    }
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (at_ < text_.size()) next();
    if (text_.size() < whole) push(TokenKind::bad, at_);
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
  size_t word_end(size_t from) const {
    while (from < text_.size() && is_name_part(text_[from])) ++from;
    return from;
  }

  void next() {
    char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r') return void(++at_);
    if (c == '\n') {
      line_has_token_ = false;
      return push(TokenKind::newline, at_ + 1);
    }
    if (c == '#') return comment();
    line_has_token_ = true;
    if (is_digit(c)) return number();
    if (is_name_part(c)) return name();
    if (c == '$' && at_ + 1 < text_.size() && is_name_part(text_[at_ + 1]))
      return push(TokenKind::shared, word_end(at_ + 1));
    for (std::string_view symbol : symbols)
      if (text_.compare(at_, symbol.size(), symbol) == 0)
        return push(TokenKind::symbol, at_ + symbol.size());
    unexpected();
  }

  void comment() {
    size_t end = std::min(text_.find('\n', at_), text_.size()), after = end;
    while (end > at_ && (text_[end - 1] == '\r' || text_[end - 1] == ' ' || text_[end - 1] == '\t'))
      --end;
    out_.comments.push_back({span(at_, end), !line_has_token_});
    at_ = after;
  }

  void name() {
    size_t end = word_end(at_);
    while (end + 1 < text_.size() && text_[end] == '.' && is_name_part(text_[end + 1]))
      end = word_end(end + 1);
    push(TokenKind::name, end);
  }

  void number() {
    size_t length = scan_number(text_.substr(at_)).length;
    std::string_view text = text_.substr(at_, length), suffix;
    std::string_view body = without_suffix(text, suffix);
    NumberShape shape = scan_number(body);
    if (!shape.well_formed || shape.length != body.size()) {
      sink_.report(Kind::malformed_number, span(at_, at_ + length), "`{}` is not a number", text)
          .help("numbers are `12`, `0.5`, `1e-5`, `0x1f`, and with a type `12i32`, `0.5f64`");
      return push(TokenKind::bad, at_ + length);
    }
    if (!number_of(text)) {
      sink_.report(Kind::number_out_of_range, span(at_, at_ + length),
                   "`{}` does not fit 64 bits, or is too small to be told from 0", text);
      return push(TokenKind::bad, at_ + length);
    }
    push(TokenKind::number, at_ + length);
  }

  void unexpected() {
    push(TokenKind::bad, report_unexpected(sink_, file_, text_, at_, "comments"));
  }

  FileId file_;
  std::string_view text_;
  Sink& sink_;
  size_t at_ = 0;
  bool line_has_token_ = false;
  Lexed out_;
};

} // namespace

std::optional<Number> number_of(std::string_view text) {
  Number number;
  std::string_view body = without_suffix(text, number.suffix);
  number.is_real = scan_number(body).is_real || number.suffix == "f64";
  if (number.is_real) {
    auto real = real_value(body);
    if (!real) return std::nullopt;
    number.real = *real;
    return number;
  }
  bool hexadecimal = body.starts_with("0x") || body.starts_with("0X");
  if (hexadecimal) body.remove_prefix(2);
  auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), number.integer,
                                      hexadecimal ? 16 : 10);
  if (error != std::errc() || end != body.data() + body.size()) return std::nullopt;
  if (number.integer > uint64_t{1} << 63) return std::nullopt;
  return number;
}

Lexed lex(const SourceManager& sources, FileId file, Sink& sink) {
  return Lexer(sources, file, sink).run();
}

} // namespace tang::parse::spec
