#pragma once
// Classes of ASCII characters, whatever the locale says.

namespace tang {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// What names of the languages start with, and what they go on with.
constexpr bool is_name_start(char c) {
  return is_letter(c) || c == '_';
}
constexpr bool is_name_part(char c) {
  return is_name_start(c) || is_digit(c);
}

} // namespace tang
