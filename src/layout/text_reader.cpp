#include "base/ascii.h"
#include "base/checked.h"
#include "layout/text.h"
#include <algorithm>

namespace tang::layout {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

} // namespace

void TextReader::advance(size_t to) {
  at_ = end_ = to;
}

void TextReader::report(size_t begin, size_t end, std::string message) {
  if (!fault_) fault_ = TextFault{begin, end, std::move(message)};
}

void TextReader::expected(std::string_view what) {
  if (peek() == 0) return report(at_, at_, fmt::format("expected {}, and the text ends", what));
  size_t end = at_ + 1;
  if (is_name_part(text_[at_]))
    while (end < text_.size() && is_name_part(text_[end])) ++end;
  // A character of several bytes stays whole.
  while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
  report(at_, end, fmt::format("expected {}, not `{}`", what, text_.substr(at_, end - at_)));
}

char TextReader::peek() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextReader::take(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  advance(at_ + 1);
  return true;
}

std::string_view TextReader::peek_name() {
  if (!is_name_start(peek())) return {};
  size_t end = at_;
  while (end < text_.size() && is_name_part(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool TextReader::take_word(std::string_view name) {
  if (peek_name() != name) return false;
  advance(at_ + name.size());
  return true;
}

std::optional<int64_t> TextReader::integer() {
  if (!is_digit(peek())) {
    if (text_.substr(at_, 1) == "-")
      report(at_, at_ + 1, "sizes and strides have no sign");
    else
      expected("a number");
    return std::nullopt;
  }
  size_t begin = at_;
  std::optional<int64_t> value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    if (value) value = checked_mul(*value, 10);
    if (value) value = checked_add(*value, text_[at_] - '0');
  }
  advance(at_);
  if (!value) report(begin, end_, "a number beyond 9223372036854775807");
  return value;
}

/// `4*M*N`
std::optional<Monomial> TextReader::factors() {
  Monomial product;
  do {
    peek();
    size_t begin = at_;
    Monomial factor;
    std::string_view name = peek_name();
    if (!name.empty()) {
      factor.symbols.emplace_back(name);
      advance(at_ + name.size());
    } else if (auto number = integer()) {
      factor = Monomial::constant(*number);
    } else {
      return std::nullopt;
    }
    auto next = times(product, factor);
    if (!next) {
      report(begin, end_, next.refusal().reason);
      return std::nullopt;
    }
    product = std::move(*next);
  } while (take('*'));
  return product;
}

std::optional<std::string> TextReader::basis() {
  std::string_view name = peek_name();
  size_t begin = at_, end = begin + name.size();
  if (name.empty())
    while (end < text_.size() && is_digit(text_[end])) ++end;
  if (end == begin || name == "_") {
    expected("the name or number of a basis vector");
    return std::nullopt;
  }
  advance(end);
  return std::string(text_.substr(begin, end - begin));
}

std::optional<Item> TextReader::item() {
  if (take_word("_")) return Item{};
  if (!is_digit(peek()) && peek() != '-' && peek_name().empty()) {
    expected("a number, a name, `_` or `(`");
    return std::nullopt;
  }
  auto amount = factors();
  if (!amount) return std::nullopt;
  Stride out{std::move(*amount), ""};
  if (take('@')) {
    auto axis = basis();
    if (!axis) return std::nullopt;
    if (!out.is_zero()) out.basis = std::move(*axis);
  }
  return Item{std::move(out)};
}

std::optional<Nested<Item>> TextReader::tuple() {
  Nested<Item> out;
  std::vector<size_t> open;
  do {
    // An operand stands here.
    while (peek() == '(') {
      if (open.size() == max_nesting) {
        report(at_, at_ + 1, fmt::format("tuples nest deeper than {} levels", max_nesting));
        return std::nullopt;
      }
      open.push_back(at_);
      advance(at_ + 1);
      out.form += '(';
    }
    auto leaf = item();
    if (!leaf) return std::nullopt;
    out.form += '*';
    out.leaves.push_back(std::move(*leaf));
    while (!open.empty() && take(')')) {
      open.pop_back();
      out.form += ')';
    }
  } while (!open.empty() && take(','));
  if (open.empty()) return out;
  if (peek() == 0)
    report(open.back(), open.back() + 1, "`(` is not closed");
  else
    expected("`,` or `)`");
  return std::nullopt;
}

std::optional<Swizzle> TextReader::swizzle() {
  peek();
  size_t begin = at_;
  if (!take_word("Sw") || !take('<')) {
    expected("`Sw<`");
    return std::nullopt;
  }
  int64_t fields[3] = {};
  for (int i = 0; i < 3; ++i) {
    bool negative = i == 2 && take('-'); // the shift alone has a sign
    auto value = integer();
    if (!value) return std::nullopt;
    fields[i] = negative ? -*value : *value;
    if (!take(i < 2 ? ',' : '>')) {
      expected(i < 2 ? "`,`" : "`>`");
      return std::nullopt;
    }
  }
  auto made = make_swizzle(fields[0], fields[1], fields[2]);
  if (made) return *made;
  report(begin, end_, made.refusal().reason);
  return std::nullopt;
}

std::optional<Shape> TextReader::sizes(const Nested<Item>& items, size_t begin) {
  Shape out{items.form, {}};
  for (const Item& item : items.leaves) {
    std::string why = !item                  ? "`_` is no size"
                      : item->is_zero()      ? "a size is at least 1"
                      : !item->basis.empty() ? "a size has no basis"
                                             : "";
    if (!why.empty()) {
      report(begin, end_, std::move(why));
      return std::nullopt;
    }
    out.leaves.push_back(item->amount);
  }
  return out;
}

std::optional<Layout> TextReader::layout_behind(const Nested<Item>& shape, size_t begin) {
  auto sizes = this->sizes(shape, begin);
  if (!sizes) return std::nullopt;
  if (!take(':')) {
    expected("`:` and the strides");
    return std::nullopt;
  }
  peek();
  size_t from = at_;
  auto strides = tuple();
  if (!strides) return std::nullopt;
  if (strides->form != sizes->form) {
    report(from, end_, "the strides have another form than the shape");
    return std::nullopt;
  }
  Layout out{sizes->form, {}};
  for (size_t i = 0; i < sizes->leaves.size(); ++i) {
    if (!strides->leaves[i]) {
      report(from, end_, "`_` is no stride");
      return std::nullopt;
    }
    out.leaves.push_back({std::move(sizes->leaves[i]), std::move(*strides->leaves[i])});
  }
  return out;
}

std::optional<Swizzled> TextReader::swizzled() {
  Swizzled out;
  if (peek_name() == "Sw") {
    auto read = swizzle();
    if (!read) return std::nullopt;
    out.swizzle = *read;
    if (!take_word("o")) {
      expected("`o` and a layout");
      return std::nullopt;
    }
  }
  for (;;) {
    peek();
    size_t begin = at_;
    auto read = tuple();
    if (!read) return std::nullopt;
    size_t end = end_;
    if (!take('+')) {
      auto inner = layout_behind(*read, begin);
      if (!inner) return std::nullopt;
      out.layout = std::move(*inner);
      break;
    }
    if (!read->is_leaf() || !read->leaves[0])
      report(begin, end, "an offset is a number or a sum of strides");
    else if (!out.offset.add(*read->leaves[0]))
      report(begin, end, "the offset leaves 64 bits");
    if (fault_) return std::nullopt;
  }
  if (!out.swizzle.is_identity() && !is_plain(out)) {
    report(0, end_, "a swizzle permutes addresses, not coordinates");
    return std::nullopt;
  }
  return out;
}

std::variant<Swizzled, TextFault> read_layout(std::string_view text) {
  TextReader reader(text);
  auto layout = reader.swizzled();
  if (layout && reader.peek() != 0) reader.expected("the end of the layout");
  // A NUL byte is no end.
  if (layout && !reader.fault() && reader.at() != text.size())
    reader.report(reader.at(), reader.at() + 1, "a NUL byte is no part of a layout");
  if (reader.fault()) return *reader.fault();
  return std::move(*layout);
}

} // namespace tang::layout
