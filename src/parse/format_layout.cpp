#include "parse/format_layout.h"
#include <algorithm>

namespace tang::parse {

namespace {

constexpr int indent_width = 2;

void strip_trailing_blanks(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(' ') == std::string::npos;
}

} // namespace

Layout::Layout(const SourceManager& sources, const Module& module)
    : sources_(sources), module_(module) {
  if (module.file) text_ = sources.file(module.file).text;
}

size_t Layout::newlines_between(uint32_t begin, uint32_t end) const {
  if (begin >= end || end > text_.size()) return 0;
  return static_cast<size_t>(std::count(text_.begin() + begin, text_.begin() + end, '\n'));
}

bool Layout::spans_lines(Span at) const {
  return at && newlines_between(at.begin, at.end) > 0;
}

void Layout::finish_line() {
  strip_trailing_blanks(line_.text);
  lines_.push_back(std::move(line_));
  line_ = Line{};
}

void Layout::new_line(int extra) {
  if (!is_blank(line_.text)) finish_line();
  line_ = Line{};
  line_.text.assign(static_cast<size_t>(indent_width * (level_ + extra)), ' ');
}

void Layout::trailing_or_own(const Comment& c, int extra) {
  std::string_view text = sources_.text(c.span);
  if (c.own_line || line_.has_comment || is_blank(line_.text)) {
    new_line(extra);
  } else {
    strip_trailing_blanks(line_.text);
    line_.text += "  ";
    line_.comment = line_.text.size();
  }
  line_.text += text;
  line_.has_comment = true;
}

void Layout::word(std::string_view text, Span at) {
  if (at && depth_ > 0) {
    bool starts_line = newlines_between(last_end_, at.begin) > 0;
    for (; next_comment_ < module_.comments.size(); ++next_comment_) {
      const Comment& c = module_.comments[next_comment_];
      if (c.span.begin >= at.begin) break;
      trailing_or_own(c, depth_);
    }
    bool closes = text == ")" || text == "]";
    if (starts_line || line_.has_comment) new_line(closes ? depth_ - 1 : depth_);
  }
  if (at) last_end_ = std::max(last_end_, at.end);
  line_.text += text;
}

void Layout::open(std::string_view text, Span at) {
  word(text, at);
  ++depth_;
}

void Layout::close(std::string_view text, Span at) {
  word(text, at);
  --depth_;
}

void Layout::blank_if_in_source(uint32_t offset) {
  if (!fresh_ && newlines_between(last_end_, offset) > 1) lines_.push_back(Line{});
  fresh_ = false;
}

void Layout::comments_before(uint32_t offset) {
  for (; next_comment_ < module_.comments.size(); ++next_comment_) {
    const Comment& c = module_.comments[next_comment_];
    if (c.span.begin >= offset) return;
    bool trails =
        !c.own_line && !lines_.empty() && !lines_.back().has_comment && !lines_.back().text.empty();
    if (trails) {
      line_ = std::move(lines_.back());
      lines_.pop_back();
    } else {
      blank_if_in_source(c.span.begin);
    }
    trailing_or_own(c, 0);
    finish_line();
    last_end_ = std::max(last_end_, c.span.end);
  }
}

void Layout::start_item(Span at) {
  if (at) {
    comments_before(at.begin);
    blank_if_in_source(at.begin);
    last_end_ = std::max(last_end_, at.begin);
  }
  new_line(0);
}

void Layout::end_item(Span at) {
  finish_line();
  if (at) last_end_ = std::max(last_end_, at.end);
}

void Layout::start_body(Span braces) {
  if (braces) last_end_ = std::max(last_end_, braces.begin + 1);
  finish_line();
  ++level_;
  fresh_ = true;
}

void Layout::end_body(Span braces) {
  if (braces) comments_before(braces.end - 1), last_end_ = std::max(last_end_, braces.end);
  --level_;
  fresh_ = false;
  new_line(0);
}

void Layout::align(int group) {
  line_.column = line_.text.size();
  line_.group = group;
}

/// Pads the columns of neighbouring lines of one group to the widest of them.
void Layout::pad_groups() {
  for (size_t begin = 0; begin < lines_.size();) {
    size_t end = begin, widest = 0;
    for (; end < lines_.size() && lines_[end].group == lines_[begin].group; ++end)
      widest = std::max(widest, lines_[end].column);
    for (; begin < end; ++begin) {
      Line& line = lines_[begin];
      if (line.group == 0) continue;
      line.text.insert(line.column, widest - line.column, ' ');
      if (line.comment != 0) line.comment += widest - line.column;
    }
  }
}

/// Neighbouring lines of one indentation that end with a comment have them in one column.
void Layout::pad_comments() {
  auto indent = [&](size_t i) { return lines_[i].text.find_first_not_of(' '); };
  for (size_t begin = 0, end; begin < lines_.size(); begin = end) {
    size_t widest = lines_[begin].comment;
    for (end = begin + 1; end < lines_.size() && widest != 0 && lines_[end].comment != 0 &&
                          indent(end) == indent(begin);
         ++end)
      widest = std::max(widest, lines_[end].comment);
    for (size_t i = begin; i < end; ++i)
      lines_[i].text.insert(lines_[i].comment, widest - lines_[i].comment, ' ');
  }
}

std::string Layout::take() {
  comments_before(static_cast<uint32_t>(text_.size()));
  pad_groups();
  pad_comments();
  std::string all;
  for (const Line& line : lines_) all.append(line.text).append(1, '\n');
  return all;
}

} // namespace tang::parse
