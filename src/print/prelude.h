#pragma once
// Helper functions of generated code: real files in targets/preludes/, cut into blocks of which
// only those that are used are printed.
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace tang::print {

/// The blocks of `files` that `used` names and those they call, in the order of the files. A block
/// starts with a line `//// name`, ends before the next one, and defines the function `name`.
/// A language's own block stands before the file that has one of that name for all: the first
/// counts. `static inline` becomes `head`. Every `tg_` name in `used` must have a block.
std::string prelude(std::span<const std::string_view> files, const std::set<std::string>& used,
                    std::string_view head);

/// Whether one of the files defines `name`.
bool prelude_has(std::span<const std::string_view> files, const std::string& name);

} // namespace tang::print
