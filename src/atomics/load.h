#pragma once
// Rows from YAML: the files of atomics/, and those that a command line names.
#include "atomics/row.h"
#include "diagnostics/sink.h"
#include <set>

namespace tang::atomics {

/// Reads a list of rows. Every fault is reported with its place: unknown and missing keys, wrong
/// types, layouts that are none or do not fit the threads, operands of one row that disagree about
/// an extent or leave an element out, templates that name no operand, and names of which the symbol
/// is `taken`, which those of the rows join.
std::optional<std::vector<Row>> load_rows(const SourceManager& sources, FileId file,
                                          std::set<std::string>& taken, Sink& sink);

/// The values of one thread and the threads of a layout (threads, values).
struct Extents {
  int threads = 1, values = 1;
};
layout::Result<Extents> extents_of(const layout::Layout& layout);

} // namespace tang::atomics
