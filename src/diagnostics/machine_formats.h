#pragma once
// The formats that tools read. Used by render.cpp.
#include "diagnostics/render.h"

namespace tang {

/// "error", "warning", "note", "help".
std::string_view severity_name(Severity severity);

/// What is shown, and what `max_errors` hides.
struct Selection {
  std::vector<const Diagnostic*> shown;
  size_t hidden_errors = 0, hidden_warnings = 0;
  std::string hidden_text; ///< "3 more errors not shown", or empty
};

/// `{file,line,column,severity,code,message,notes}` and a line end. A diagnostic about no file has
/// nulls for its place; notes have the same fields but code and notes.
std::string json_line(const Diagnostic& diagnostic, const SourceManager& sources);
/// The same for a remark about the diagnostics themselves.
std::string json_note(std::string_view message);

/// SARIF 2.1.0 (OASIS, 2020): one run, its rules the kinds that occur, columns in code points.
std::string sarif_log(const Selection& selection, const SourceManager& sources,
                      const RenderOptions& options);

} // namespace tang
