#pragma once
// A kernel while it is printed: what its statements, its moves (moves.h) and its instructions
// (instructions.h) share. The text so far, the names in scope, and how tensors are spelled.
#include "print/expressions.h"
#include "print/kernel_printer.h"

namespace tang::print {

/// Whether an instruction sees a register as a word of no format.
inline bool is_word(const atomics::Operand& o) {
  return o.memory == kernel::Memory::registers && o.bits == 32 && (o.tf32 || !o.type);
}

struct KernelState {
  /// Everything referred to outlives the object.
  KernelState(const KernelTask& task, const Dialect& dialect, Calls& calls, Sink& sink);
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;

  bool in_registers(const kernel::Ref& ref) const {
    return kernel[ref.tensor].memory == kernel::Memory::registers;
  }
  /// An element of a register tensor: a variable where it is the only one.
  std::string register_text(kernel::TensorId tensor, const std::string& offset) const;
  std::string element(const kernel::Value& value);
  std::string offset_text(const kernel::Ref& ref);

  /// A branch around what is written until `close_if`; nothing where the predicate is empty.
  void open_if(kernel::ValueId predicate);
  void close_if();

  const KernelTask& task;
  const kernel::Kernel& kernel;
  const Dialect& dialect;
  Sink& sink;
  Calls& calls;
  TextWriter out;
  NameScope names;
  std::vector<std::string> tensor_names; ///< by tensor; empty = not declared yet
  std::set<uint32_t> words;              ///< register tensors of words without a format
  std::vector<int64_t> tensor_sizes;     ///< by tensor: elements of those in registers
  Expressions values;
  bool failed = false; ///< and reported
};

} // namespace tang::print
