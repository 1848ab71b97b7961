#pragma once
// Values as `.spec` text (grammar/spec.ebnf).
#include "kernel/value.h"

namespace tang::kernel {

/// What variables and register tensors are called.
struct ValueNames {
  std::function<std::string(VarId)> variable;
  std::function<std::string(TensorId)> tensor;
  /// The format of a register tensor's elements: a value that reads one in another says so.
  std::function<Type(TensorId)> holds = {};
};

/// An integer literal is written without its type where its place tells it: the type of the operand
/// beside it; of the whole, `root`; else `plain`.
struct LiteralTypes {
  Type root = Type::index, plain = Type::index;
};

/// Texts of `roots`, in order. A term that would make a line too long, or a long one that occurs
/// again, is given to `define` first and stands there under the name that `define` returns.
std::vector<std::string> texts_of(const ValueStore& store, std::span<const ValueId> roots,
                                  const ValueNames& names,
                                  const std::function<std::string(Type, std::string)>& define,
                                  LiteralTypes literals = {});

/// A real as text that reads back as the same number: the shortest of its format.
std::string real_text(double value, Type type);

} // namespace tang::kernel
