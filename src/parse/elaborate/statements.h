#pragma once
// Dispatch over statements, and the loops that hold statements.
#include "parse/elaborate/context.h"

namespace tang::parse {

void elaborate_statement(Context& context, const Module& module, const Stmt& stmt, bool is_root);
void elaborate_repeat(Context& context, const Module& module, const Repeat& repeat, Span span);
void elaborate_recur(Context& context, const Module& module, const Recur& recur, Span span);
/// Reads an included file, once.
void elaborate_include(Context& context, const Module& module, const Include& include);

} // namespace tang::parse
