// Canonical form by the words of a file alone: what nobody understands is not touched, and comments
// stay where they are.
#include "graph/type.h"
#include "parse/spec/lexer.h"
#include "parse/spec/read.h"
#include <algorithm>

namespace tang::parse::spec {
namespace {

/// Words after which a bracket is no call.
constexpr std::string_view spaced_words[] = {"blocks", "threads", "arguments", "shape", "if",
                                             "and",    "or",      "not",       "in",    "else"};

class Formatter {
public:
  Formatter(const SourceManager& sources, FileId file, Lexed lexed)
      : sources_(sources), file_(file), lexed_(std::move(lexed)) {}

  std::string run() {
    size_t comment = 0;
    for (size_t at = 0;;) {
      size_t end = at;
      while (lexed_.tokens[end].kind != TokenKind::newline &&
             lexed_.tokens[end].kind != TokenKind::end_of_file)
        ++end;
      uint32_t stop = lexed_.tokens[end].begin;
      std::string remark;
      if (comment < lexed_.comments.size() && lexed_.comments[comment].span.begin < stop)
        remark = comment_text(lexed_.comments[comment++].span);
      line({lexed_.tokens.data() + at, end - at}, remark);
      if (lexed_.tokens[end].kind == TokenKind::end_of_file) break;
      at = end + 1;
    }
    return std::move(out_);
  }

private:
  std::string_view text(const Token& token) const {
    return sources_.text({file_, token.begin, token.end});
  }
  bool is(const Token& token, std::string_view word) const { return text(token) == word; }

  std::string comment_text(Span span) const {
    std::string_view words = sources_.text(span).substr(1);
    if (words.empty()) return "#";
    return (words[0] == ' ' ? "#" : "# ") + std::string(words);
  }

  void line(std::span<const Token> tokens, const std::string& remark) {
    if (tokens.empty() && remark.empty()) {
      blank_ = !out_.empty();
      return;
    }
    bool closes = !tokens.empty() && is(tokens[0], "}") && brackets_ == 0;
    if (closes) --level_, blank_ = false;
    if (blank_ && !opened_) out_ += '\n';
    blank_ = opened_ = false;
    std::string words = text_of(tokens);
    int indent = 2 * std::max(level_, 0) + (brackets_ > 0 ? 4 : 0);
    out_.append(static_cast<size_t>(indent), ' ');
    out_ += words;
    if (!remark.empty()) out_ += (words.empty() ? "" : "  ") + remark;
    out_ += '\n';
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string_view t = text(tokens[i]);
      bool list = t == "{" && ((i > 0 && is(tokens[i - 1], "=")) || brackets_ > 0);
      if (t == "(" || t == "[" || list) ++brackets_;
      if ((t == ")" || t == "]") && brackets_ > 0) --brackets_;
      if (t == "}" && brackets_ > 0)
        --brackets_;
      else if (t == "}" && i > 0)
        --level_;
      if (t == "{" && !list) ++level_, opened_ = i + 1 == tokens.size();
    }
  }

  std::string text_of(std::span<const Token> tokens) {
    if (tokens.size() > 2 && is(tokens[0], "launch") && is(tokens.back(), "{")) {
      uint32_t begin = tokens[1].begin, end = tokens[tokens.size() - 2].end;
      return fmt::format("launch {} {{", sources_.text({file_, begin, end}));
    }
    std::string out;
    angle_ = false;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && space_between(tokens, i)) out += ' ';
      out += text(tokens[i]);
      if (is(tokens[i], "<") && is_angle(tokens, i)) angle_ = true;
      if (is(tokens[i], ">")) angle_ = false;
    }
    return out;
  }

  /// `<` of `Move<4>`, `convert<f32>`: not a comparison.
  bool is_angle(std::span<const Token> tokens, size_t i) const {
    if (i == 0 || tokens[i - 1].kind != TokenKind::name) return false;
    std::string_view word = text(tokens[i - 1]);
    return word == "convert" || word == "round" || word == "as" ||
           (i > 1 && is(tokens[i - 2], "<-"));
  }

  bool is_operand(const Token& token) const {
    if (token.kind == TokenKind::number || token.kind == TokenKind::shared) return true;
    if (token.kind == TokenKind::name)
      return !is(token, "in") && std::find(std::begin(spaced_words), std::end(spaced_words),
                                           text(token)) == std::end(spaced_words);
    return is(token, ")") || is(token, "]");
  }

  /// Whether the sign at `i` stands between two operands.
  bool is_binary(std::span<const Token> tokens, size_t i) const {
    return i > 0 && is_operand(tokens[i - 1]);
  }

  bool space_between(std::span<const Token> tokens, size_t i) const {
    const Token &a = tokens[i - 1], &b = tokens[i];
    std::string_view left = text(a), right = text(b), first = text(tokens[0]);
    for (std::string_view tight : {")", "]", ",", ";", ":", "["})
      if (right == tight) return false;
    if (left == "(" || left == "[") return false;
    if (left == ",") return true;
    if (left == ";") return true;
    if (left == ":") return i < 2 || !is(tokens[i - 2], ")");
    if (left == "{" || (right == "}" && i > 0 && !is(a, "}"))) return false;
    if (right == "<" && is_angle(tokens, i)) return false;
    if (angle_) return false; // between `<` and `>`
    if (left == ">" && right == "(") return false;
    if (left == "*" || right == "*") return false;
    if (first == "target" && (left == "+" || right == "+")) return false;
    if (left == "-" && !is_binary(tokens, i - 1)) return false;
    if (left == ".." || right == "..") {
      bool known = std::any_of(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                               [&](const Token& t) { return is(t, "known"); });
      if ((first == "for" || first == "loop") && !known) return true;
      // An end that is left out.
      return left == "in" || right == "<-" || right == "step" || right == "{";
    }
    if (right == "(" && a.kind == TokenKind::name) return !is_call(tokens, i - 1);
    return true;
  }

  /// Whether the name at `i`, behind which a bracket opens, is called.
  bool is_call(std::span<const Token> tokens, size_t i) const {
    std::string_view word = text(tokens[i]), first = text(tokens[0]);
    for (std::string_view spaced : spaced_words)
      if (word == spaced) return false;
    bool declares = first == "param" || first == "allocate" || first == "buffer";
    if (declares && graph::type_of_name(word)) return false;
    return !((first == "promise" || first == "room") && i == 1);
  }

  const SourceManager& sources_;
  FileId file_;
  Lexed lexed_;
  std::string out_;
  int level_ = 0, brackets_ = 0;
  bool blank_ = false, opened_ = false, angle_ = false;
};

} // namespace

std::optional<std::string> format(const SourceManager& sources, FileId file, Sink& sink) {
  Sink own;
  Lexed lexed = lex(sources, file, own);
  for (const Diagnostic& d : own.diagnostics()) {
    Diagnostic& copy = sink.report(d.kind, d.span, d.message);
    copy.notes = d.notes, copy.fix = d.fix;
  }
  if (!own.ok()) return std::nullopt;
  return Formatter(sources, file, std::move(lexed)).run();
}

} // namespace tang::parse::spec
