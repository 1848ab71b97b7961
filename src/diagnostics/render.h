#pragma once
// Diagnostics as text: for people, for editors, and for tools that read JSON or SARIF.
#include "diagnostics/sink.h"

namespace tang {

enum class DiagnosticsFormat : uint8_t {
  gcc,   ///< `file:line:col: error: text [E0123]`, the source line, a caret
  msvc,  ///< `file(line,col): error E0123: text`
  json,  ///< one object a line: {file,line,column,severity,code,message,notes}
  sarif, ///< one SARIF 2.1.0 log
};
std::optional<DiagnosticsFormat> diagnostics_format_of_name(std::string_view name);

struct RenderOptions {
  DiagnosticsFormat format = DiagnosticsFormat::gcc;
  bool color = false; ///< escape sequences in the gcc format; the others never have any
  size_t max_errors =
      0; ///< errors to show, 0 for all; what comes after the last one is only counted
  std::string tool = "tangc"; ///< stands where a file would, for diagnostics about no file
  std::string version;        ///< of the tool, for SARIF; may be empty
};

/// Everything a compile has to say, ready for stderr. Lines count from 1, columns from 1 in bytes
/// (in SARIF in code points, as it says there). Nothing the input holds can move the terminal or
/// break a line: control characters and bytes that are not UTF-8 are shown as `<U+001B>` and
/// `<FF>`. Empty for no diagnostics, except in SARIF, where a log without results says that all is
/// well.
std::string render_all(const std::vector<Diagnostic>& diagnostics, const SourceManager& sources,
                       const RenderOptions& options);

/// The text of one diagnostic with its notes, in the gcc, msvc or json format.
std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                   const RenderOptions& options);

} // namespace tang
