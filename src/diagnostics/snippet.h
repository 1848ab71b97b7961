#pragma once
// A source line with a mark below it.
#include "diagnostics/source.h"

namespace tang {

/// Lines to print below a message, without line ends.
struct Snippet {
  std::string line;  ///< the source line, made visible, cut around the mark where it is very long
  std::string mark;  ///< `^~~~` below the span
  size_t column = 0; ///< blanks before the mark
};

/// The first line that `span` touches, marked from its begin to its end, or to the end of the line
/// where the span goes on. An empty span has a single caret, also behind the last character. `span`
/// must name a file.
Snippet snippet_of(Span span, const SourceManager& sources);

} // namespace tang
