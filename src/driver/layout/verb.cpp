// `tangc layout 'EXPR'`: evaluates an expression, and prints the value or draws it.
#include "driver/files.h"
#include "driver/layout/call.h"
#include "driver/layout/picture.h"
#include "driver/verbs.h"

namespace tang::driver {

namespace {

/// Reports what cannot be drawn, at the whole expression.
std::optional<std::string> drawn(Session& session, const LayoutValue& value, Span whole, bool svg) {
  auto taken = as_layout(value);
  if (!taken) {
    session.sink.report(Kind::layout_call, whole, "pictures show layouts, and this is `{}`",
                        value_text(value));
    return std::nullopt;
  }
  auto picture = *taken ? picture_of(**taken) : layout::Result<LayoutPicture>(taken->refusal());
  if (!picture) {
    session.sink.report(Kind::layout_refused, whole, "no picture: {}", picture.refusal().reason);
    return std::nullopt;
  }
  return svg ? picture_svg(*picture, value_text(value)) : picture_text(*picture);
}

} // namespace

void evaluate_layout(Session& session) {
  bool table = session.arguments.has(OptionId::layout_table),
       svg = session.arguments.has(OptionId::layout_svg);
  if (table && svg)
    session.sink.report(Kind::command_line, {}, "`--table` and `--svg` both say how to print");
  std::string text = session.arguments.operands[0];
  std::string name = "<expression>";
  if (text == "-") {
    auto read = read_file(text);
    if (!read)
      session.sink.report(Kind::cannot_read, {}, "cannot read standard input: {}", last_error());
    text = read.value_or("");
    name = "<stdin>";
  }
  if (!session.sink.ok()) return;
  FileId file = session.sources.add(name, std::move(text));
  auto expression = parse_layout_expression(session.sources, file, session.sink);
  if (!expression) return;
  auto value = evaluate_layout_expression(*expression, session.sink);
  if (!value) return;
  if (!table && !svg) return print_text(session, value_text(*value) + "\n");
  auto picture = drawn(session, *value, expression->back().span, svg);
  if (picture) print_text(session, *picture);
}

} // namespace tang::driver
