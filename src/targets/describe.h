#pragma once
// The tables as rows and as text. Both `tangc targets T` and its JSON are made from the same rows.
#include "targets/target.h"
#include <variant>

namespace tang::targets {

/// Nothing where a figure is unknown.
using RowValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// One fact. Rows of one group stand together, in the order of the tables.
struct Row {
  std::string
      group;       ///< "target", "features", "hierarchy", "limits", "device", "capacities", "roofs"
  std::string key; ///< "max_threads_per_block"; roofs have two rows: "dram_bytes_per_s.hard",
                   ///< "....achievable"
  RowValue value;
  std::string unit;   ///< empty where there is none
  std::string source; ///< of a figure; of a feature or level what it means
};
std::vector<Row> rows_of(const TargetSpec& spec);

/// The value as text: numbers in their shortest form, nothing as `-`.
std::string text_of(const RowValue& value);

/// What `tangc targets` prints: every target and device, one a line.
std::string describe_targets();
/// What `tangc targets T` prints: everything, each figure with its source.
std::string describe_target(const TargetSpec& spec);

} // namespace tang::targets
