#pragma once
// What the tests of the syntax share.
#include "parse/format.h"
#include "parse/parser.h"
#include <optional>
#include <string>
#include <vector>

namespace tang::parse {

/// A text with what the parser made of it.
struct Parsed {
  SourceManager sources;
  Sink sink;
  FileId file;
  std::optional<Module> module;
};
/// Parses `text` as a file of its own.
Parsed parsed(std::string text);
/// The diagnostics as `E0201 2:7 message` lines, with ` / note 1:3 message` behind each.
std::string diagnostics_of(const Parsed& p);
/// The tree of an expression, every operator in parentheses: `a + b * c` is `(+ a (* b c))`.
std::string tree(const Module& module, ExprId id);
/// The tree of the right side of `y = text`, or the first diagnostic.
std::string tree(const std::string& text);
/// Canonical text of `text`, or the first diagnostic.
std::string formatted(const std::string& text);

std::string read_file(const std::string& path);
/// Every `.tg` file of `samples/` and `specs/`, sorted.
std::vector<std::string> sample_files();

} // namespace tang::parse
