#pragma once
// One walk over a legal kernel, for every dialect: statements, scopes, names.
#include "diagnostics/sink.h"
#include "print/dialect.h"
#include <set>

namespace tang::print {

struct KernelTask {
  const kernel::Kernel* kernel = nullptr;
  std::string symbol;
  std::vector<bool> aliased; ///< per parameter: another parameter may reach the same bytes
  bool fast_math = false;
  std::vector<Span> places; ///< per parameter: where its tensor is declared; may be empty
};

/// The function of a kernel with its comment. Notes the prelude helpers it calls. Empty (and
/// reported) where the target cannot run what the kernel says.
std::optional<std::string> print_kernel(const KernelTask& task, const Dialect& dialect,
                                        std::set<std::string>& helpers, Sink& sink);

} // namespace tang::print
