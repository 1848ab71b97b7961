#pragma once
// AST to canonical text (language.md, section 7).
#include "diagnostics/source.h"
#include "parse/ast.h"
#include <string>

namespace tang::parse {

/// The canonical text of a module: one statement a line, single blanks, the `:` of neighbouring
/// declarations aligned, numbers in their shortest form. Comments stay where they were, and so do
/// single blank lines, the author's parentheses, and line breaks inside brackets (moved behind the
/// operator or comma). `format(parse(format(m)))` is `format(m)`, and `parse(format(m))` equals
/// `m`.
///
/// A module that was not read from a file (all spans empty) prints without breaks and comments.
std::string format_module(const SourceManager& sources, const Module& module);

/// The shortest decimal text that reads back as `value` and as a real: `1.0`, `0.002`, `1e-5`.
std::string format_real(double value);

} // namespace tang::parse
