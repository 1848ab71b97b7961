// Numbers and strings: their shape, their value, and back.
#include "base/ascii.h"
#include "parse/lexer.h"
#include <algorithm>
#include <charconv>

namespace tang::parse {

namespace {

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_hex_text(std::string_view t) {
  return t.size() > 1 && (t[1] == 'x' || t[1] == 'X');
}

/// The digits after a point, unless it begins `..`.
template <class Digit>
size_t skip_fraction(std::string_view t, size_t i, bool& is_real, Digit digit) {
  if (i >= t.size() || t[i] != '.' || (i + 1 < t.size() && t[i + 1] == '.')) return i;
  is_real = true;
  for (++i; i < t.size() && digit(t[i]);) ++i;
  return i;
}

/// `e-5` or `p3` at `i`, of which at least one digit is required.
size_t skip_exponent(std::string_view t, size_t i, NumberShape& shape) {
  shape.is_real = true;
  if (++i < t.size() && (t[i] == '+' || t[i] == '-')) ++i;
  size_t digits = i;
  while (i < t.size() && is_digit(t[i])) ++i;
  if (i == digits) shape.well_formed = false;
  return i;
}

} // namespace

NumberShape scan_number(std::string_view t) {
  NumberShape shape;
  size_t i = 0;
  if (t[0] == '0' && is_hex_text(t)) {
    for (i = 2; i < t.size() && is_hex(t[i]);) ++i;
    bool has_point = false;
    size_t digits = i - 2, after = skip_fraction(t, i, has_point, is_hex);
    if (has_point) digits += after - i - 1;
    i = after;
    bool has_exponent = i < t.size() && (t[i] == 'p' || t[i] == 'P');
    if (has_exponent) i = skip_exponent(t, i, shape);
    shape.is_real = has_point || has_exponent;
    if (digits == 0 || (has_point && !has_exponent)) shape.well_formed = false;
  } else {
    while (i < t.size() && is_digit(t[i])) ++i;
    i = skip_fraction(t, i, shape.is_real, is_digit);
    if (i < t.size() && (t[i] == 'e' || t[i] == 'E')) i = skip_exponent(t, i, shape);
  }
  for (; i < t.size() && is_name_part(t[i]); ++i) shape.well_formed = false;
  shape.length = i;
  return shape;
}

std::optional<int64_t> integer_value(std::string_view t) {
  int base = is_hex_text(t) ? 16 : 10;
  if (base == 16) t.remove_prefix(2);
  int64_t value = 0;
  auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value, base);
  if (error != std::errc() || end != t.data() + t.size()) return std::nullopt;
  return value;
}

std::optional<double> real_value(std::string_view t) {
  auto format = is_hex_text(t) ? std::chars_format::hex : std::chars_format::general;
  if (format == std::chars_format::hex) t.remove_prefix(2);
  double value = 0;
  auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value, format);
  if (error != std::errc() || end != t.data() + t.size()) return std::nullopt;
  return value;
}

std::string string_value(std::string_view literal) {
  std::string bytes;
  for (size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      bytes += literal[i];
      continue;
    }
    char c = literal[++i];
    bytes += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return bytes;
}

std::string quoted(std::string_view bytes) {
  std::string literal = "\"";
  for (char c : bytes) {
    if (c == '\n')
      literal += "\\n";
    else if (c == '\t')
      literal += "\\t";
    else {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
  }
  return literal + '"';
}

size_t first_bad_byte(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  for (size_t i = 0; i < text.size();) {
    uint32_t c = byte(i);
    if (c < 0x80) {
      if (c == 0) return i;
      ++i;
      continue;
    }
    // The ranges of the second byte exclude overlong forms, surrogates and what is beyond U+10FFFF.
    size_t length = c >= 0xc2 && c <= 0xdf   ? 2
                    : (c & 0xf0) == 0xe0     ? 3
                    : c >= 0xf0 && c <= 0xf4 ? 4
                                             : 0;
    uint32_t low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    uint32_t high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (length == 0 || byte(i + 1) < low || byte(i + 1) > high) return i;
    for (size_t k = 2; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    i += length;
  }
  return std::string_view::npos;
}

} // namespace tang::parse
