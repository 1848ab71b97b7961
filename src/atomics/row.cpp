#include "atomics/row.h"
#include "base/check.h"
#include <algorithm>

namespace tang::atomics {

std::string_view name(Memory memory) {
  switch (memory) {
  case Memory::global: return "global";
  case Memory::shared: return "shared";
  case Memory::registers: return "register";
  }
  return "";
}

std::string_view name(Kind kind) {
  switch (kind) {
  case Kind::move: return "Move";
  case Kind::matmul: return "MatMul";
  case Kind::unary: return "UnaryPointwise";
  case Kind::commit: return "Commit";
  case Kind::wait: return "Wait";
  case Kind::shfl: return "Shfl";
  case Kind::reduction: return "Reduction";
  case Kind::sync: return "Sync";
  }
  return "";
}

std::string_view name(Rounds rounds) {
  switch (rounds) {
  case Rounds::no: return "no";
  case Rounds::nearest: return "nearest";
  case Rounds::head: return "head";
  case Rounds::rest: return "rest";
  }
  return "";
}

const Operand& Row::operand(std::string_view name) const {
  auto at = std::find_if(operands.begin(), operands.end(),
                         [&](const Operand& operand) { return operand.name == name; });
  TANG_CHECK(at != operands.end(), "`{}` has no operand `{}`", this->name, name);
  return *at;
}

std::string symbol_of(std::string_view name) {
  std::string symbol = "tg_" + std::string(name);
  std::replace(symbol.begin(), symbol.end(), '.', '_');
  return symbol;
}

bool is_native(std::span<const std::string_view> native_on, std::string_view target) {
  return std::any_of(native_on.begin(), native_on.end(), [&](std::string_view name) {
    // What an architecture has, its variant with instructions of its own (`a`) has too.
    return target == name || (target.ends_with('a') && target.substr(0, target.size() - 1) == name);
  });
}

} // namespace tang::atomics
