#pragma once
// The language of `tangc layout`: calls of functions, literals, and two operators.
//
//   expression = sum { "o" sum }                   composition, the right one first
//   sum        = operand { "+" operand }           an offset and a layout, or numbers
//   operand    = name "(" expression { "," expression } ")"
//              | tuple ":" tuple | tuple | "Sw<" B "," M "," S ">" | "<" tile { "," tile } ">"
//   tile       = expression | "_"
#include "diagnostics/sink.h"
#include "layout/text.h"

namespace tang::driver {

/// What is printed and can be no argument: a truth value, a list, a word.
struct Answer {
  std::string text;
};

/// A number is a sum; a tuple with its `_`, which can be a shape or a coordinate; a layout, with or
/// without swizzle and offset; a swizzle; tiles by mode.
using LayoutValue = std::variant<layout::Sum, layout::Nested<layout::Item>, layout::Swizzled,
                                 layout::Swizzle, layout::Tiler, Answer>;
std::string value_text(const LayoutValue& value);

struct PushValue {
  LayoutValue value;
};
struct CallFunction {
  std::string name;
  Span name_span;
  size_t arguments = 0;
};
struct ComposeTwo {};
struct AddTwo {};
/// Makes a tiler of the last values, one for each `true`.
struct MakeTiler {
  std::vector<bool> given;
};

/// A step takes its operands from a stack and leaves its value there.
struct ExpressionStep {
  std::variant<PushValue, CallFunction, ComposeTwo, AddTwo, MakeTiler> action;
  Span span; ///< of the whole part of the expression that the value comes from
};
/// Operands before their operation; one value is left.
using LayoutExpression = std::vector<ExpressionStep>;

/// Reports faults of kind `layout_text`. Calls and tilers nest to 64 levels.
std::optional<LayoutExpression> parse_layout_expression(const SourceManager& sources, FileId file,
                                                        Sink& sink);

/// Reports what has no exact answer (`layout_refused`) and calls that fit no function
/// (`layout_call`).
std::optional<LayoutValue> evaluate_layout_expression(const LayoutExpression& expression,
                                                      Sink& sink);

} // namespace tang::driver
