#pragma once

#include "diagnostics/kind.h"
#include <optional>

/// The first kind that is a warning, if there is one: what tests of warnings report.
inline std::optional<tang::Kind> some_warning() {
  for (const tang::KindInfo& row : tang::all_kinds())
    if (row.severity == tang::Severity::warning) return row.kind;
  return std::nullopt;
}
