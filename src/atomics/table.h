#pragma once
// The instructions that are known: the rows of atomics/*.yaml, which are built in, and those of
// files that a command line names, which come first.
#include "atomics/row.h"

namespace tang::atomics {

/// A row and what it is asked for before it is built.
struct Entry {
  std::string_view name;
  Kind kind = Kind::move;
  std::span<const std::string_view> native_on;
  const Row& (*get)() = nullptr; ///< built on first use; lives to the end of the program
};
/// In the order of the files' names and of the rows in them.
std::span<const Entry> embedded_rows();

/// The rows of a kind that are native on a target, in the order of the table.
std::vector<const Row*> rows_of(Kind kind, std::string_view target);
/// The row with this name; null where there is none.
const Row* find_row(std::string_view name);

} // namespace tang::atomics
