#include "driver/layout/expression.h"

namespace tang::driver {

namespace {

using namespace layout;

/// Recursive descent; calls and tilers are what nests, and `max_nesting` bounds them.
class ExpressionParser {
public:
  ExpressionParser(std::string_view text, FileId file) : reader_(text), text_(text), file_(file) {}

  bool whole() {
    if (!expression()) return false;
    if (reader_.peek() != 0)
      reader_.expected("`o`, `+` or the end of the expression");
    else if (reader_.at() != text_.size())
      reader_.report(reader_.at(), reader_.at() + 1, "a NUL byte is no part of an expression");
    return !reader_.fault();
  }
  const TextFault& fault() const { return *reader_.fault(); }
  LayoutExpression take() { return std::move(steps_); }

private:
  Span from(size_t begin) const {
    return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(reader_.end())};
  }
  size_t here() {
    reader_.peek();
    return reader_.at();
  }
  bool push(LayoutValue value, size_t begin) {
    steps_.push_back({PushValue{std::move(value)}, from(begin)});
    return true;
  }

  bool expression() {
    size_t begin = here();
    if (!sum()) return false;
    while (reader_.take_word("o")) {
      if (!sum()) return false;
      steps_.push_back({ComposeTwo{}, from(begin)});
    }
    return true;
  }

  bool sum() {
    size_t begin = here();
    if (!operand()) return false;
    while (reader_.take('+')) {
      if (!operand()) return false;
      steps_.push_back({AddTwo{}, from(begin)});
    }
    return true;
  }

  bool is_call() {
    TextReader ahead = reader_;
    std::string_view name = ahead.peek_name();
    return !name.empty() && name != "_" && ahead.take_word(name) && ahead.take('(');
  }

  bool operand() {
    if (is_call()) return nested([&] { return call(); });
    if (reader_.peek() == '<') return nested([&] { return tiler(); });
    size_t begin = here();
    if (reader_.peek_name() == "Sw") {
      auto swizzle = reader_.swizzle();
      return swizzle && push(*swizzle, begin);
    }
    auto tuple = reader_.tuple();
    if (!tuple) return false;
    if (reader_.peek() == ':') {
      auto layout = reader_.layout_behind(*tuple, begin);
      return layout && push(Swizzled{{}, {}, std::move(*layout)}, begin);
    }
    if (!tuple->is_leaf() || !tuple->leaves[0]) return push(std::move(*tuple), begin);
    Sum number;
    if (!number.add(*tuple->leaves[0])) return false;
    return push(std::move(number), begin);
  }

  template <class F>
  bool nested(F&& read) {
    if (depth_ == max_nesting) {
      size_t begin = here();
      reader_.report(begin, begin + 1,
                     fmt::format("calls nest deeper than {} levels", max_nesting));
      return false;
    }
    ++depth_;
    bool good = read();
    --depth_;
    return good;
  }

  bool closed(char closer, size_t opener, std::string_view what) {
    if (reader_.take(closer)) return true;
    if (reader_.peek() == 0)
      reader_.report(opener, opener + 1, fmt::format("`{}` is not closed", text_[opener]));
    else
      reader_.expected(what);
    return false;
  }

  bool call() {
    size_t begin = here();
    CallFunction step{std::string(reader_.peek_name()), {}, 0};
    reader_.take_word(step.name);
    step.name_span = from(begin);
    size_t opener = here();
    reader_.take('(');
    if (reader_.peek() != ')') {
      do {
        if (!expression()) return false;
        ++step.arguments;
      } while (reader_.take(','));
    }
    if (!closed(')', opener, "`,` or `)`")) return false;
    steps_.push_back({std::move(step), from(begin)});
    return true;
  }

  bool tiler() {
    size_t begin = here();
    MakeTiler step;
    reader_.take('<');
    do {
      step.given.push_back(!reader_.take_word("_"));
      if (step.given.back() && !expression()) return false;
    } while (reader_.take(','));
    if (!closed('>', begin, "`,` or `>`")) return false;
    steps_.push_back({std::move(step), from(begin)});
    return true;
  }

  TextReader reader_;
  std::string_view text_;
  FileId file_;
  LayoutExpression steps_;
  int depth_ = 0;
};

} // namespace

std::optional<LayoutExpression> parse_layout_expression(const SourceManager& sources, FileId file,
                                                        Sink& sink) {
  ExpressionParser parser(sources.file(file).text, file);
  if (parser.whole()) return parser.take();
  const TextFault& fault = parser.fault();
  sink.report(Kind::layout_text,
              Span{file, static_cast<uint32_t>(fault.begin), static_cast<uint32_t>(fault.end)},
              fault.message);
  return std::nullopt;
}

} // namespace tang::driver
