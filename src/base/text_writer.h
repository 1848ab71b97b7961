#pragma once
// Text output with indentation, used by every text form and every printer.
#include <fmt/format.h>
#include <string>

namespace tang {

class TextWriter {
public:
  explicit TextWriter(int width = 2) : width_(width) {}

  /// Writes one line at the current indentation; an empty text writes an empty line without spaces.
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    raw(fmt::format(format, std::forward<Args>(args)...));
  }
  /// One line whose text is not a format string.
  void raw(const std::string& text) {
    if (!text.empty()) text_.append(static_cast<size_t>(width_ * level_), ' ').append(text);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  void indent() { ++level_; }
  void dedent() { --level_; }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  int width_;
  int level_ = 0;
};

} // namespace tang
