#pragma once
// Pieces of HTML. Everything that comes from a report passes through `escaped` or `prose`; the
// result is well-formed XML as well.
#include "report/shown.h"

namespace tang::report {

/// Text inside an element or a quoted attribute.
std::string escaped(std::string_view text);
/// A sentence: what stands between backquotes is code.
std::string prose(std::string_view text);
/// Text as code, which wraps only where it must.
std::string code(std::string_view text);

/// `part` of the whole width, at least a visible line where it is above 0. `kind` is a class of the
/// style, or several.
std::string bar(double part, std::string_view kind);

/// Cells are HTML; the first row has the headings. `columns` has a letter for each column: `t`
/// text, `n` numbers, which stand right, `b` bars.
std::string table(std::string_view columns, const Rows& rows);

/// A folded part of the page.
std::string details(std::string_view summary, std::string_view body);
/// List items are HTML; `tag` is `ul` or `ol`.
std::string list(std::string_view tag, const std::vector<std::string>& items);

/// The start of every page, up to and with `<body>`.
std::string page_head(std::string_view title);

/// A kernel's part of the page; `id` is its anchor.
std::string kernel_section(const Json& kernel, std::string_view id);

} // namespace tang::report
