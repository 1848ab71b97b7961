#include "print/instructions.h"
#include <fmt/ranges.h>

namespace tang::print {

using namespace kernel;
using enum Precedence;

namespace {

/// A pointer with an offset; the parts of one that begins with 0 are added to the pointer one by
/// one.
std::string address(KernelState& k, const std::string& pointer, ValueId offset) {
  std::vector<ValueId> parts;
  for (ValueId at = offset;;) {
    const Value& v = k.kernel.values[at];
    bool sum = v.form == Form::operation && v.op == graph::Op::add;
    if (!sum) {
      if (k.kernel.values.as_integer(at) != 0) parts = {offset};
      break;
    }
    parts.push_back(v.operands[1]), at = v.operands[0];
  }
  std::string text = pointer;
  for (size_t i = parts.size(); i-- > 0;) {
    bool one = parts.size() == 1;
    text += " + " + k.values.text(parts[i], one ? additive : multiplicative);
  }
  return text;
}

/// The address of a memory operand's first element, or of a register operand's first register.
std::string operand(KernelState& k, const Ref& ref, const atomics::Operand& operand) {
  const Tensor& tensor = k.kernel[ref.tensor];
  const std::string& name = k.tensor_names[ref.tensor.value];
  if (operand.memory == Memory::global && !ref.coordinates.empty())
    return address(k, name, ref.coordinates[0]);
  std::string offset = ref.coordinates.empty() ? "0" : k.values.text(ref.coordinates[0], additive);
  // Numbers that an instruction reads as words keep their bits.
  if (is_word(operand) && !k.words.contains(ref.tensor.value)) {
    std::string at = k.tensor_sizes[ref.tensor.value] == 1 ? "&" + name : name + " + " + offset;
    return fmt::format("({} *)({})", k.dialect.words.fragment_type.text(), at);
  }
  if (operand.memory == Memory::registers && k.tensor_sizes[ref.tensor.value] == 1)
    return "&" + name;
  if (is_fragment(tensor))
    offset = fmt::format("({}) / {}", offset, 32 / graph::info(tensor.type).bits);
  return offset == "0" ? name : fmt::format("{} + {}", name, offset);
}

} // namespace

void print_instruction(KernelState& k, const Atom& atom) {
  const atomics::Row& row = *atom.row;
  std::string symbol = atomics::symbol_of(row.name);
  for (int64_t immediate : atom.immediates) symbol += fmt::format("_{}", immediate);
  k.calls.instructions.try_emplace(
      symbol, k.dialect.sentences.instruction(Instruction{&row, atom.immediates, symbol}));
  std::vector<std::string> arguments;
  for (size_t i = 0; i < atom.operands.size(); ++i)
    arguments.push_back(operand(k, atom.operands[i], row.operands[i]));
  if (row.zero_fills) {
    int bytes = row.operands[1].run_bytes();
    arguments.push_back(
        atom.predicate
            ? fmt::format("{} ? {} : 0", k.values.text(atom.predicate, logical_or), bytes)
            : fmt::format("{}", bytes));
  }
  k.out.line("{}({});", symbol, fmt::join(arguments, ", "));
}

} // namespace tang::print
