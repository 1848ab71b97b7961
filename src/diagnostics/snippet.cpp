#include "diagnostics/snippet.h"
#include "diagnostics/visible.h"
#include <algorithm>

namespace tang {
namespace {

constexpr size_t tab_width = 8;
constexpr size_t max_width = 120;  ///< longer lines are cut
constexpr size_t before_mark = 40; ///< what is kept in front of the mark, in bytes
constexpr std::string_view cut = "...";

/// Moves back to the first byte of the character that holds `at`.
size_t start_of_character(std::string_view line, size_t at) {
  size_t i = at;
  while (i > 0 && i < line.size() && at - i < 3 &&
         (static_cast<unsigned char>(line[i]) & 0xc0) == 0x80)
    --i;
  return i;
}

/// The part of a line that is shown: bytes [begin, end).
struct Window {
  size_t begin, end;
};

Window window_of(std::string_view line, size_t mark) {
  if (line.size() <= max_width) return {0, line.size()};
  size_t begin = mark > before_mark ? start_of_character(line, mark - before_mark) : 0;
  size_t end = std::min(begin + max_width, line.size());
  if (end == line.size())
    begin = std::min(begin, start_of_character(line, line.size() - max_width));
  else
    end = start_of_character(line, end);
  return {begin, end};
}

} // namespace

Snippet snippet_of(Span span, const SourceManager& sources) {
  std::string_view line = sources.line_at(span.file, span.begin);
  size_t line_begin = span.begin - (sources.position(span.file, span.begin).column - 1);
  size_t begin = std::min<size_t>(span.begin - line_begin, line.size());
  size_t end =
      std::clamp<size_t>(span.end - std::min<size_t>(line_begin, span.end), begin, line.size());
  Window window = window_of(line, begin);
  Snippet snippet;
  size_t column = 0, mark_begin = 0, mark_end = 0;
  auto put = [&](std::string_view text, size_t width) { snippet.line += text, column += width; };
  if (window.begin > 0) put(cut, cut.size());
  for (size_t at = window.begin; at < window.end;) {
    CodePoint point = decode_utf8(line.substr(at));
    if (at <= begin) mark_begin = column;
    if (line[at] == '\t') {
      size_t width = tab_width - column % tab_width;
      put(std::string(width, ' '), width);
    } else {
      std::string text = visible(point, line.substr(at));
      put(text, count_code_points(text));
    }
    at += point.length;
    if (at <= end) mark_end = column;
  }
  if (begin >= window.end) mark_begin = column;
  if (end >= window.end) mark_end = column;
  if (window.end < line.size()) snippet.line += cut;
  snippet.column = mark_begin;
  snippet.mark = "^" + std::string(std::max(mark_end, mark_begin + 1) - mark_begin - 1, '~');
  return snippet;
}

} // namespace tang
