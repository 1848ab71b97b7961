#include "diagnostics/visible.h"
#include <fmt/format.h>

namespace tang {
namespace {

/// Characters that have no picture of their own but move, hide or turn what stands beside them.
bool is_hidden(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe0fff);
}

} // namespace

CodePoint decode_utf8(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  uint32_t first = byte(0);
  CodePoint bad{first, 1, false};
  if (first < 0x80) return {first, 1, true};
  uint32_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return bad;
  uint32_t value = first & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return bad;
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < least[length] || value > 0x10ffff || surrogate) return bad;
  return {value, length, true};
}

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(decode_utf8(text).length);
  return count;
}

std::string visible(CodePoint point, std::string_view bytes) {
  if (!point.valid) return fmt::format("<{:02X}>", point.value);
  if (is_hidden(point.value)) return fmt::format("<U+{:04X}>", point.value);
  return std::string(bytes.substr(0, point.length));
}

std::string visible_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    CodePoint point = decode_utf8(text);
    out += text[0] == '\t' ? " " : visible(point, text);
    text.remove_prefix(point.length);
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    CodePoint point = decode_utf8(text);
    out += point.valid ? text.substr(0, point.length) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(point.length);
  }
  return out;
}

} // namespace tang
