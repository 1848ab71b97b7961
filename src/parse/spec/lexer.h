#pragma once
// Bytes of a `.spec` file to tokens and comments (grammar/spec.ebnf).
#include "diagnostics/sink.h"
#include <optional>

namespace tang::parse::spec {

enum class TokenKind : uint8_t {
  end_of_file,
  newline,
  name,   ///< letters, digits, `_`, with parts behind dots: `row`, `row.2`, `cp.async.cg.16.b16`
  shared, ///< `$1`
  number, ///< with the suffix that touches it
  symbol, ///< one of the grammar's
  bad     ///< reported
};

struct Token {
  TokenKind kind = TokenKind::end_of_file;
  uint32_t begin = 0, end = 0;
};

struct Comment {
  Span span;
  bool own_line = false; ///< nothing stands before it
};

struct Lexed {
  std::vector<Token> tokens; ///< the last one is `end_of_file`
  std::vector<Comment> comments;
};

/// Splits a file, reporting kinds 01xx. What begins no token is one report and one `bad` token.
Lexed lex(const SourceManager& sources, FileId file, Sink& sink);

/// A number in its parts. `is_real` and `suffix` say what the text is; the value is in one of
/// the two fields. Integers are magnitudes, up to 2^63.
struct Number {
  bool is_real = false;
  std::string_view suffix; ///< i32, i64, index, f64 or empty
  uint64_t integer = 0;
  double real = 0;
};
/// Empty where it has no value of 64 bits.
std::optional<Number> number_of(std::string_view text);

} // namespace tang::parse::spec
