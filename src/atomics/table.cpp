#include "atomics/table.h"

namespace tang::atomics {

std::vector<const Row*> rows_of(Kind kind, std::string_view target) {
  std::vector<const Row*> rows;
  for (const Entry& entry : embedded_rows())
    if (entry.kind == kind && is_native(entry.native_on, target)) rows.push_back(&entry.get());
  return rows;
}

const Row* find_row(std::string_view name) {
  for (const Entry& entry : embedded_rows())
    if (entry.name == name) return &entry.get();
  return nullptr;
}

} // namespace tang::atomics
