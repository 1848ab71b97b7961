#pragma once
// The instructions that kernels may use: tables of the user, and what `--explain-atoms` says.
#include "driver/pipeline.h"

namespace tang::driver {

/// Reads the tables of `--atomics` into the input. The options' canonical form then tells which
/// they were. Reports what is no row, and names that are taken.
bool read_rows_of(Input& input, CompileOptions& options, SourceManager& sources, Sink& sink);

/// The instructions of a target, the user's first.
atomics::Target instructions_of(const targets::Target& target, const Input& input);

/// For each kernel of each target, which rows its leaves got and why they got no others.
std::string explained_atoms(const Input& input, std::span<const TargetResult> results);

} // namespace tang::driver
