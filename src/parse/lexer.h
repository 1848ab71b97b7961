#pragma once
// Bytes to tokens and comments.
#include "diagnostics/sink.h"
#include "parse/ast.h"
#include "parse/token.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tang::parse {

struct Lexed {
  std::vector<Token> tokens; ///< the last one is `end_of_file`
  std::vector<Comment> comments;
};

/// Splits a file into tokens, reporting kinds 01xx. A character that starts no token becomes a
/// `bad` token. Bytes that are not text (invalid UTF-8, NUL) end the reading at the first of them.
Lexed lex(const SourceManager& sources, FileId file, Sink& sink);

/// Where the number that starts at `text[0]` ends, taking every letter and digit that touches it.
/// `is_real` says which of the two kinds it is; `well_formed` is false for `1e`, `0x`, `12ab`.
struct NumberShape {
  size_t length = 0;
  bool is_real = false;
  bool well_formed = true;
};
NumberShape scan_number(std::string_view text);
/// Reports the character at `at`, or the run of characters beyond ASCII that begins there, which
/// may stand in `places`; returns where it ends.
size_t report_unexpected(Sink& sink, FileId file, std::string_view text, size_t at,
                         std::string_view places);

/// The value of a well-formed integer; empty when it does not fit 64 bits.
std::optional<int64_t> integer_value(std::string_view text);
/// The nearest double; empty when a finite text overflows or a non-zero one underflows to nothing.
std::optional<double> real_value(std::string_view text);
/// The bytes that a well-formed string literal, with its quotes, stands for.
std::string string_value(std::string_view literal);
/// `bytes` as a string literal that `string_value` reads back.
std::string quoted(std::string_view bytes);

/// The offset of the first byte that is not part of valid UTF-8 or is NUL; `npos` when all is text.
size_t first_bad_byte(std::string_view text);

} // namespace tang::parse
