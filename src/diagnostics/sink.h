#pragma once
// Where diagnostics go. One sink is passed down from the driver; no folder throws for bad input.
#include "diagnostics/kind.h"
#include "diagnostics/source.h"
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace tang {

struct Note {
  Severity severity = Severity::note; ///< note or help
  Span span;                          ///< may be empty
  std::string message;
};

struct Diagnostic {
  Kind kind;
  Severity severity; ///< after -W and -Werror
  Span span;         ///< may be empty: a diagnostic about no file
  std::string message;
  std::vector<Note> notes;
  /// Text that replaces `span` to mend the fault, where one exists.
  std::string fix;

  Diagnostic& note(Span at, std::string text) {
    notes.push_back({Severity::note, at, std::move(text)});
    return *this;
  }
  Diagnostic& help(std::string text, Span at = {}) {
    notes.push_back({Severity::help, at, std::move(text)});
    return *this;
  }
};

/// What the -W options decide.
struct WarningPolicy {
  bool all_off = false;                          ///< -w
  bool all_errors = false;                       ///< -Werror
  std::vector<Kind> disabled{Kind::law_stopped}; ///< -Wno-x; -Wperf is off until asked for
  std::vector<Kind> errors;                      ///< -Werror=x
};

/// Collects diagnostics in order. A function that fails reports here and returns an empty optional.
class Sink {
public:
  explicit Sink(WarningPolicy policy = {}) : policy_(std::move(policy)) {}

  /// Adds a diagnostic; the reference is valid until the next report. A disabled warning goes to a
  /// scratch entry that nobody prints.
  Diagnostic& report(Kind kind, Span span, std::string message);
  template <class... Args>
  Diagnostic& report(Kind kind, Span span, fmt::format_string<Args...> format, Args&&... args) {
    return report(kind, span, fmt::format(format, std::forward<Args>(args)...));
  }

  size_t error_count() const { return errors_; }
  bool ok() const { return errors_ == 0; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

private:
  WarningPolicy policy_;
  std::vector<Diagnostic> diagnostics_;
  Diagnostic scratch_{};
  size_t errors_ = 0;
};

/// The candidate nearest to `name` by edit distance, or empty when none is near (distance at most
/// a third of the length, at least 1; of one letter only the same in the other case).
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);
/// What to do about an unknown name, for a help line: the near one, or which there are. `kind` says
/// what is named: "dim".
std::string name_help(std::string_view name, std::string_view kind,
                      const std::vector<std::string>& candidates);

} // namespace tang
