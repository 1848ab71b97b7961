#pragma once
// Stores to global memory, read as numerals in the digits that run around them.
#include "kernel/facts.h"

namespace tang::kernel {

/// A number that must take every value below `extent` once, as its digits run.
struct Numeral {
  graph::Polynomial value, extent;
  int lanes = 1;        ///< of a vector: neighbours that are written with this one
  bool guarded = false; ///< the site runs only where value < extent
};

/// One store or copy: it writes once for every value of `digits` that `open` conditions allow.
struct Site {
  std::string fault; ///< why nothing is known; the rest counts only when it is empty
  bool never = false;
  std::vector<Numeral> numerals;
  std::vector<Digit> digits; ///< what the numerals must use up
  std::vector<Digit> steps;  ///< of recurrences around the launch: what they may use
  /// Conditions that may exclude elements.
  std::vector<graph::ExprId> open;
};

/// Reads a site while the facts of its place are in force. `predicate` is its own condition or
/// empty.
Site read_site(Facts& facts, const Place& place, const Ref& ref, int width, ValueId predicate);

} // namespace tang::kernel
