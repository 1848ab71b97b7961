#include "atomics/table.h"
#include <fmt/format.h>

namespace tang::atomics {

namespace {

std::vector<std::string_view> views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

bool has_text(const Row& row, const Target& target) {
  return target.dialect.empty() || row.print.contains(target.dialect);
}

} // namespace

std::vector<const Row*> rows_of(Kind kind, const Target& target) {
  std::vector<const Row*> rows;
  for (const Row& row : target.stated)
    if (row.kind == kind && why_not(row, target).empty()) rows.push_back(&row);
  // Only what is asked for is built.
  for (const Entry& entry : embedded_rows())
    if (entry.kind == kind && is_native(entry.native_on, target.name) &&
        has_text(entry.get(), target))
      rows.push_back(&entry.get());
  return rows;
}

const Row* find_row(std::string_view name) {
  for (const Entry& entry : embedded_rows())
    if (entry.name == name) return &entry.get();
  return nullptr;
}

std::string why_not(const Row& row, const Target& target) {
  if (!is_native(views(row.native_on), target.name))
    return fmt::format("not native on {}", target.name);
  if (!has_text(row, target)) return fmt::format("has no text in {}", target.dialect);
  return "";
}

} // namespace tang::atomics
