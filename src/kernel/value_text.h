#pragma once
// Values as `.spec` text (grammar/spec.ebnf).
#include "kernel/value.h"

namespace tang::kernel {

/// What variables and register tensors are called.
struct ValueNames {
  std::function<std::string(VarId)> variable;
  std::function<std::string(TensorId)> tensor;
};

/// Whether literals that stand alone are written with their type.
enum class RootLiterals : uint8_t { bare, typed };

/// Texts of `roots`, in order. A term that would make a line too long, or a long one that occurs
/// again, is given to `define` first and stands there under the name that `define` returns.
std::vector<std::string> texts_of(const ValueStore& store, std::span<const ValueId> roots,
                                  const ValueNames& names,
                                  const std::function<std::string(Type, std::string)>& define,
                                  RootLiterals root_literals = RootLiterals::bare);

} // namespace tang::kernel
