#pragma once
// Text to AST. The grammar is grammar/tg.ebnf.
#include "diagnostics/sink.h"
#include "parse/ast.h"
#include <optional>

namespace tang::parse {

/// Reads a file that `sources` holds. Every fault is reported to `sink` (kinds 01xx and 02xx), with
/// recovery at the end of the statement, so one run shows several; with any fault the result is
/// empty. Time and memory are linear in the text; nesting deeper than `max_nesting` is a fault.
std::optional<Module> parse_module(const SourceManager& sources, FileId file, Sink& sink);

/// Levels of brackets, operators that nest to the right, and blocks.
inline constexpr int max_nesting = 256;

} // namespace tang::parse
