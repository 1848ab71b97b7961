#pragma once
// The interpreter's value of a program against that of the C made of it.
#include "generate.h"

namespace tang::fuzz {

struct Verdict {
  bool rejected = false;    ///< the file is not valid, or the interpreter has no value for it
  bool only_tinycc = false; ///< differs under TinyCC and not under `cc`: that compiler's fault
  std::string fault;        ///< empty when all agree
  std::string why;          ///< why it was rejected
};

/// Interprets the program, compiles it at -O0 and -O2 with its dims left for run time and bound,
/// with a variant for its own sizes, and also for a device target up to its text; runs the C and
/// compares every element.
Verdict verdict_of(const Case& program);

} // namespace tang::fuzz
