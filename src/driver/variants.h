#pragma once
// `--specialize`: the sizes that have code of their own.
#include "diagnostics/sink.h"
#include "graph/graph.h"
#include "parse/elaborate/elaborate.h"

namespace tang::driver {

/// What one variant says about dims: each within a range, and a multiple of a step.
using SizeCase = std::vector<parse::DimBinding>;

/// Reads `S=1;S%16=0,B=2..8;S=1..`. Reports what is of another form.
std::vector<SizeCase> read_size_cases(std::string_view text, Sink& sink);

/// One graph per case, in their order, with the dims' ranges narrowed, and the graph itself behind
/// them where no case is for all sizes. Reports names that are no dims, sizes outside the declared
/// ranges, and cases that are never reached.
std::optional<std::vector<graph::Graph>>
variant_graphs(const graph::Graph& graph, const std::vector<SizeCase>& cases, Sink& sink);

} // namespace tang::driver
