#pragma once
// The words of a `.tg` file.
#include <cstdint>
#include <string_view>

namespace tang::parse {

enum class TokenKind : uint8_t {
#define TANG_TOKEN(name, text) name,
#define TANG_PUNCTUATION(name, text) name,
#define TANG_KEYWORD(name, text) name,
#include "parse/token.def"
#undef TANG_TOKEN
#undef TANG_PUNCTUATION
#undef TANG_KEYWORD
};

/// A token is a byte range of its file. Newlines are always tokens; whether one ends a statement
/// the parser knows, because that depends on open brackets.
struct Token {
  TokenKind kind = TokenKind::end_of_file;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The spelling of punctuation and keywords; a description such as `a name` of the others.
std::string_view text_of(TokenKind kind);

} // namespace tang::parse
