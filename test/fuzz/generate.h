#pragma once
// Well-typed programs whose every value is a small integer, so that f32 holds it exactly and any
// order of evaluation gives the same bits.
#include "choices.h"
#include <map>
#include <string>
#include <vector>

namespace tang::fuzz {

/// A program as statements, so that some can be dropped.
struct Case {
  std::vector<std::string> statements; ///< `tg 1` and `graph` not among them
  std::map<std::string, int64_t> dims; ///< values of the symbolic ones
  uint64_t data_seed = 0;

  /// The file, with the values of the dims in a comment.
  std::string text() const;
};

/// Every decision comes from `choices`; when they run out, the program ends soon.
Case generate(Choices& choices);

} // namespace tang::fuzz
