#pragma once
// Expressions to words; private to format*.cpp.
#include "parse/format_layout.h"

namespace tang::parse {

/// Prints one expression with the fewest parentheses that keep its tree, plus the author's own.
void format_expr(Layout& out, const Module& module, ExprId id);
/// `i: 4 exclusive`
void format_binder(Layout& out, const Module& module, const Binder& binder);

} // namespace tang::parse
