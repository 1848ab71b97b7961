#include "atomics/check.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>

namespace tang::atomics {

using layout::Layout;
using layout::Mode;

namespace {

/// The coordinates of element `index`, the leftmost mode fastest.
std::map<std::string, int64_t> coordinates_of(const Layout& layout, int64_t index) {
  std::map<std::string, int64_t> at;
  for (const Mode& mode : layout.leaves) {
    int64_t digit = index % mode.size.factor;
    index /= mode.size.factor;
    if (mode.stride.amount.factor) at[mode.stride.basis] += digit * mode.stride.amount.factor;
  }
  return at;
}

/// Names behind `$` in a template.
std::set<std::string> placeholders(const std::string& text) {
  std::set<std::string> names;
  for (size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    names.insert(text.substr(at + 1, end - at - 1));
  }
  return names;
}

/// How many elements an operand names: threads along which it does not change all hold the same.
int64_t named_elements(const Operand& operand) {
  int64_t count = operand.values;
  const Layout threads = operand.layout.parts()[0];
  for (const Mode& mode : threads.leaves)
    if (mode.stride.amount.factor) count *= mode.size.factor;
  return count;
}

/// Threads with stride 0 all name the same elements: one of them issues.
bool repeats(const Operand& operand) {
  return operand.threads == 1;
}

void check_op(const Row& row, std::vector<std::string>& faults) {
  static const std::set<std::string> exchanges{"index", "xor", "up", "down"},
      monoids{"add", "min", "max", "and", "or", "xor"}, functions{"exp2", "reciprocal"};
  bool takes = row.kind == Kind::shfl        ? exchanges.contains(row.op)
               : row.kind == Kind::reduction ? monoids.contains(row.op)
               : row.kind == Kind::unary     ? functions.contains(row.op)
               : row.kind == Kind::sync      ? !row.op.empty()
                                             : row.op.empty();
  if (!takes) faults.push_back(fmt::format("`{}` is no op of a {}", row.op, name(row.kind)));
}

/// A product takes each axis from two operands, or from all three; its work is the product of all.
void check_product(const Row& row, std::vector<std::string>& faults) {
  if (row.operands.size() != 3) {
    faults.push_back(fmt::format("a MatMul has an output and two factors, not {} operands",
                                 row.operands.size()));
    return;
  }
  std::map<std::string, int> uses;
  int64_t work = 1;
  for (const Operand& operand : row.operands)
    for (const auto& [axis, extent] : extents_by_axis(operand.layout))
      if (uses[axis]++ == 0) work *= extent;
  for (const auto& [axis, count] : uses)
    if (count == 1) faults.push_back(fmt::format("only one operand has the axis `{}`", axis));
  if (row.fma != work)
    faults.push_back(fmt::format("`fma: {}` is not the {} products of its axes", row.fma, work));
}

} // namespace

namespace {

/// `asm("...")` or `asm volatile("...")` with one string, which is what a dialect can take apart.
/// Other templates are expressions in which operands stand as they are.
bool can_be_taken_apart(std::string_view text) {
  if (!text.starts_with("asm")) return true;
  std::string_view rest = text.substr(3);
  if (rest.starts_with(" volatile")) rest.remove_prefix(9);
  if (rest.size() < 4 || !rest.starts_with("(\"") || !rest.ends_with("\")")) return false;
  return rest.substr(2, rest.size() - 4).find('"') == rest.npos;
}

} // namespace

std::map<std::string, int64_t> extents_by_axis(const Layout& layout) {
  std::map<std::string, int64_t> extents;
  for (const Mode& mode : layout.leaves) {
    if (mode.stride.amount.factor == 0) continue;
    auto at = extents.try_emplace(mode.stride.basis, 1).first;
    at->second += (mode.size.factor - 1) * mode.stride.amount.factor;
  }
  return extents;
}

std::vector<std::string> faults_of(const Row& row) {
  std::vector<std::string> faults;
  std::map<std::string, std::pair<std::string, int64_t>> known; // axis: operand, extent
  std::set<std::string> names;
  for (const Immediate& immediate : row.immediates) names.insert(immediate.name);
  if (row.zero_fills) names.insert("bytes");
  for (const Operand& operand : row.operands) {
    names.insert(operand.name);
    int64_t box = 1, count = named_elements(operand);
    for (const auto& [axis, extent] : extents_by_axis(operand.layout)) {
      box *= extent;
      auto [at, fresh] = known.try_emplace(axis, operand.name, extent);
      if (!fresh && at->second.second != extent)
        faults.push_back(fmt::format("`{}` has {} elements along `{}`, and `{}` has {}",
                                     at->second.first, at->second.second, axis, operand.name,
                                     extent));
    }
    std::set<std::map<std::string, int64_t>> elements;
    for (int64_t i = 0; i < int64_t{operand.threads} * operand.values; ++i)
      elements.insert(coordinates_of(operand.layout, i));
    if (static_cast<int64_t>(elements.size()) != count)
      faults.push_back(fmt::format("`{}` names an element twice", operand.name));
    if (static_cast<int64_t>(elements.size()) != box)
      faults.push_back(fmt::format("`{}` names {} of the {} elements of its box", operand.name,
                                   elements.size(), box));
    int64_t bits = int64_t{operand.values} * operand.bits;
    if (operand.memory == Memory::registers && operand.values > 1 && bits % 32 != 0)
      faults.push_back(
          fmt::format("`{}` fills no whole registers with {} bits", operand.name, bits));
    bool all = operand.memory != Memory::registers || operand.threads == row.threads;
    if (!all && !repeats(operand))
      faults.push_back(fmt::format("`{}` lies in {} threads, and {} take part", operand.name,
                                   operand.threads, row.threads));
  }
  if (row.kind == Kind::matmul) check_product(row, faults);
  check_op(row, faults);
  for (const auto& [dialect, text] : row.print) {
    if (!can_be_taken_apart(text))
      faults.push_back(fmt::format("the text for {} is neither `asm(\"...\")` nor "
                                   "`asm volatile(\"...\")` with one string",
                                   dialect));
    for (const std::string& name : placeholders(text))
      if (!names.contains(name))
        faults.push_back(fmt::format("`${}` is no operand or immediate", name));
  }
  return faults;
}

} // namespace tang::atomics
