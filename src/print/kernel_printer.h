#pragma once
// One walk over a legal kernel, for every dialect: statements, scopes, names.
#include "diagnostics/sink.h"
#include "print/dialect.h"
#include <map>
#include <set>

namespace tang::print {

struct KernelTask {
  const kernel::Kernel* kernel = nullptr;
  std::string symbol;
  std::vector<bool> aliased; ///< per parameter: another parameter may reach the same bytes
  bool fast_math = false;
  std::vector<Span> places; ///< per parameter: where its tensor is declared; may be empty
};

/// What printed kernels call: blocks of the prelude, and instructions by symbol with their
/// definitions.
struct Calls {
  std::set<std::string> helpers;
  std::map<std::string, std::string> instructions;
};

/// The function of a kernel with its comment. Notes what it calls. Empty (and reported) where the
/// target cannot run what the kernel says.
std::optional<std::string> print_kernel(const KernelTask& task, const Dialect& dialect,
                                        Calls& calls, Sink& sink);

} // namespace tang::print
