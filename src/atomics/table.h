#pragma once
// The instructions that are known: the rows of atomics/*.yaml, which are built in, and those of
// files that a command line names, which come first.
#include "atomics/row.h"
#include <concepts>

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

/// A target, as far as its instructions go.
struct Target {
  std::string name;
  std::string dialect;         ///< in which a row must have a text; empty: any
  std::span<const Row> stated; ///< of the user's tables; outlive what is compiled

  Target() = default;
  template <class Text>
  requires std::convertible_to<Text, std::string_view> Target(const Text& text)
      : name(std::string_view(text)) {} // NOLINT: a name is a target
};

/// The rows of a kind that a target has, the stated ones first, each table in its order. A row
/// counts where it is native and has a text.
std::vector<const Row*> rows_of(Kind kind, const Target& target);
/// The row that is built in with this name; null where there is none.
const Row* find_row(std::string_view name);

/// Why a target has no use for a row, whatever is asked for; empty where it has.
std::string why_not(const Row& row, const Target& target);

} // namespace tang::atomics
