#pragma once
// Text of an input, made safe to show.
#include <cstdint>
#include <string>
#include <string_view>

namespace tang {

/// One code point, or one byte that is none.
struct CodePoint {
  uint32_t value = 0;  ///< the byte itself where `valid` is false
  uint32_t length = 1; ///< bytes it takes
  bool valid = false;
};

/// Decodes the code point at the start of `text`, which is not empty. Overlong forms, surrogates
/// and values beyond U+10FFFF are no UTF-8 (RFC 3629).
CodePoint decode_utf8(std::string_view text);

/// Code points in `text`; a byte that is no UTF-8 counts as one.
size_t count_code_points(std::string_view text);

/// A code point as a terminal may see it: as it stands, or `<U+001B>` for a control or direction
/// character, or
/// `<FF>` for a byte that is no UTF-8.
std::string visible(CodePoint point, std::string_view bytes);

/// The whole text made visible; a tab becomes a blank.
std::string visible_text(std::string_view text);

/// The text with each byte that is no UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

} // namespace tang
