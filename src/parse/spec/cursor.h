#pragma once
// A place in the tokens of a `.spec` file, and the words for what does not go on as it should.
#include "parse/spec/lexer.h"

namespace tang::parse::spec {

/// Functions that read something return false, or nothing, once a fault was reported; who called
/// them goes on behind the line.
class Cursor {
public:
  Cursor(const SourceManager& sources, FileId file, Sink& sink)
      : sources_(sources), file_(file), sink_(sink), lexed_(lex(sources, file, sink)) {}

  /// The next token. Inside round and square brackets lines go on.
  const Token& peek();
  /// The one behind it.
  const Token& peek_second();
  Token take();
  std::string_view text(const Token& token) const { return sources_.text(span(token)); }
  std::string_view next_text() { return text(peek()); }
  Span span(const Token& token) const { return {file_, token.begin, token.end}; }
  std::string_view source(Span span) const { return sources_.text(span); }
  Span here() { return span(peek()); }
  /// From a place to the last token that was taken.
  Span since(Span first) const { return join(first, span(last_)); }

  bool at(std::string_view symbol_or_word);
  bool accept(std::string_view symbol_or_word);
  bool expect(std::string_view symbol_or_word);
  /// A name, said to be `what`: "the name of a tensor".
  std::optional<Token> name(std::string_view what);
  /// A whole number with its sign.
  std::optional<int64_t> integer(std::string_view what);
  /// A number with its sign; integers are reals too.
  std::optional<double> real(std::string_view what);
  /// `lo..hi`, both ends free.
  bool range(std::optional<int64_t>& lo, std::optional<int64_t>& hi);
  /// The end of a statement.
  bool end_of_line();
  /// Behind the next line end, out of all brackets, unless what began at the mark `start` has come
  /// to a new line by itself, within brackets. Says whether the line ended with `{`.
  bool skip_line(size_t start);
  void skip_blank_lines();
  /// Lists between braces go on over line ends.
  void skip_line_ends() { skip_blank_lines(); }
  bool at_end() { return peek().kind == TokenKind::end_of_file; }

  /// Reports that something else was expected; false.
  bool expected(std::string_view what);
  template <class... Args>
  Diagnostic& report(Kind kind, Span span, fmt::format_string<Args...> format, Args&&... args) {
    return sink_.report(kind, span, format, std::forward<Args>(args)...);
  }
  Diagnostic& report(Kind kind, Span span, std::string text) {
    return sink_.report(kind, span, std::move(text));
  }
  Sink& sink() { return sink_; }

  size_t mark() const { return at_; }
  void go_back(size_t mark) { at_ = mark, depth_ = 0; }
  /// Comments on lines of their own directly above the line of `token`, without their `#`.
  std::vector<std::string> comments_above(const Token& token) const;

private:
  const SourceManager& sources_;
  FileId file_;
  Sink& sink_;
  Lexed lexed_;
  size_t at_ = 0;
  int depth_ = 0; ///< open round and square brackets
  Token last_;
};

} // namespace tang::parse::spec
