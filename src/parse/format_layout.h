#pragma once
// Lines, breaks, comments and alignment; private to format*.cpp.
#include "diagnostics/source.h"
#include "parse/ast.h"
#include <string>
#include <string_view>
#include <vector>

namespace tang::parse {

/// The closing bracket of a bracketed text, or no place.
inline Span last_byte(Span s) {
  return s ? Span{s.file, s.end - 1, s.end} : s;
}

/// Takes the words of the canonical text in order, each with its place in the source where it has
/// one, and puts comments, blank lines and breaks between them as the source had them.
class Layout {
public:
  Layout(const SourceManager& sources, const Module& module);

  /// A word of a statement. Inside brackets it starts a new line when it did in the source.
  void word(std::string_view text, Span at = {});
  /// An opening bracket: until the `close` breaks and comments are possible.
  void open(std::string_view text, Span at = {});
  void close(std::string_view text, Span at = {});

  /// Comments and a blank line that stand before the item at `at`, which starts a line.
  void start_item(Span at);
  /// Ends the line of the item at `at`.
  void end_item(Span at);
  /// Comments before the closing brace of a body, whose braces are `braces`.
  void end_body(Span braces);
  void start_body(Span braces);
  /// The current column is to be aligned with those of neighbouring lines of the same `group`.
  void align(int group);
  /// True when the source has a line end within `at`.
  bool spans_lines(Span at) const;

  /// Remaining comments, then the whole text.
  std::string take();

private:
  struct Line {
    std::string text;
    size_t column = 0; ///< where to pad
    int group = 0;     ///< 0: nothing to align
    bool has_comment = false;
    size_t comment = 0; ///< column of a comment behind other text, or 0
  };
  void new_line(int extra);
  void finish_line();
  void trailing_or_own(const Comment& c, int extra);
  void comments_before(uint32_t offset);
  void blank_if_in_source(uint32_t offset);
  size_t newlines_between(uint32_t begin, uint32_t end) const;
  void pad_groups();
  void pad_comments();

  const SourceManager& sources_;
  const Module& module_;
  std::string_view text_;
  std::vector<Line> lines_;
  Line line_;
  size_t next_comment_ = 0;
  uint32_t last_end_ = 0; ///< in the source, of what was printed last
  int level_ = 0;         ///< bodies
  int depth_ = 0;         ///< brackets
  bool fresh_ = true;     ///< at the head of the file or of a body: no blank line here
};

} // namespace tang::parse
