// Prints the rows that are native on one target as CUDA, each in a kernel; products also in one
// that issues them 17 times. What ptxas accepts it can assemble; where one more issue costs one
// more instruction, it is an instruction.
//
//   rows_cu            the targets that rows name
//   rows_cu TARGET     their source text
//   rows_cu --products TARGET    the products that are issued 17 times
#include "atomics/table.h"
#include "print/dialect.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <set>

namespace tang::atomics {
namespace {

/// Of an architecture with instructions of its own only those: the others are tried without the
/// `a`.
std::vector<const Row*> rows_for(std::string_view target) {
  std::vector<const Row*> rows;
  for (const Entry& entry : embedded_rows()) {
    const auto& native = entry.native_on;
    bool named = std::find(native.begin(), native.end(), target) != native.end();
    if (named && entry.get().print.contains("cuda")) rows.push_back(&entry.get());
  }
  return rows;
}

std::string symbol_of(const Row& row) {
  return atomics::symbol_of(row.name);
}

/// Registers of one operand as the function's parameters are declared.
struct Registers {
  std::string type;
  int count = 1;
};
Registers registers_of(const Operand& o) {
  if (o.type == graph::ElemType::f64) return {"double", o.values};
  if (o.bits == 64) return {"uint64_t", o.values};
  if (o.type == graph::ElemType::f32 && !o.tf32) return {"float", o.values};
  if (o.type == graph::ElemType::i32) return {"int32_t", o.values};
  return {"uint32_t", std::max(o.values * o.bits / 32, 1)};
}

/// Products that threads wait for: those that run beside them are ordered by instructions around.
bool is_counted(const Row& row) {
  return row.kind == Kind::matmul && row.token.empty();
}

std::string kernel(const Row& row, std::string_view prefix, int issues) {
  std::string before, after, arguments;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const Operand& o = row.operands[i];
    arguments += arguments.empty() ? "" : ", ";
    if (o.described) {
      arguments += "descriptor";
    } else if (o.memory == Memory::global) {
      arguments += "memory + 4096";
    } else if (o.memory == Memory::shared) {
      arguments += "shared";
    } else {
      Registers r = registers_of(o);
      before += fmt::format(
          "  {0} {1}[{2}];\n  for (int i = 0; i < {2}; ++i) {1}[i] = (({0} *)memory)[i];\n", r.type,
          o.name, r.count);
      if (i == 0)
        after += fmt::format("  for (int i = 0; i < {2}; ++i) (({0} *)memory)[i] = {1}[i];\n",
                             r.type, o.name, r.count);
      arguments += o.name;
    }
  }
  if (row.zero_fills) arguments += arguments.empty() ? "0" : ", 0";
  std::string calls;
  for (int i = 0; i < issues; ++i) calls += fmt::format("  {}({});\n", symbol_of(row), arguments);
  return fmt::format(
      "extern \"C\" __global__ void {}_{}(unsigned char *memory, uint64_t descriptor) {{\n"
      "  __shared__ __align__(1024) unsigned char shared[4096];\n"
      "  if (!memory) memory = shared;\n{}{}{}}}\n",
      prefix, symbol_of(row), before, calls, after);
}

void print(std::string_view target) {
  fmt::print("#include <stdint.h>\n");
  const print::Dialect* cuda = print::dialect_named("cuda");
  for (const Row* row : rows_for(target)) {
    print::Instruction instruction{row, {}, symbol_of(*row)};
    for (const Immediate& i : row->immediates)
      instruction.immediates.push_back(i.takes(1) ? 1 : i.least);
    fmt::print("{}{}", cuda->sentences.instruction(instruction), kernel(*row, "once", 1));
    if (is_counted(*row)) fmt::print("{}", kernel(*row, "often", 17));
  }
}

} // namespace
} // namespace tang::atomics

int main(int count, char** values) {
  using namespace tang::atomics;
  if (count == 3) {
    for (const Row* row : rows_for(values[2]))
      if (is_counted(*row)) fmt::print("{}\n", symbol_of(*row));
  } else if (count == 2) {
    print(values[1]);
  } else {
    std::set<std::string_view> targets;
    for (const Entry& entry : embedded_rows())
      for (std::string_view target : entry.native_on)
        if (target.starts_with("sm_")) targets.insert(target);
    for (std::string_view target : targets) fmt::print("{}\n", target);
  }
  return 0;
}
