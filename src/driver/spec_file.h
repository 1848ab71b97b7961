#pragma once
// Kernel-level files: from `.spec` text to the source text of each target (kernel-ir.md).
#include "driver/pipeline.h"
#include "parse/spec/read.h"

namespace tang::driver {

bool is_spec_file(const std::string& path);

/// A `.spec` file, read and verified. Its graph has a name and dims: what a caller sees.
struct SpecInput {
  Input input;
  parse::spec::ReadProgram read;
};

/// The dims of a program as those of a graph without equations.
graph::Graph interface_of(const kernel::Program& program);

/// Reports every fault. `rows`: of the user's tables.
std::optional<SpecInput> read_spec(const std::string& path, std::span<const atomics::Row> rows,
                                   SourceManager& sources, Sink& sink, Stages& stages);

/// Warns of accesses that are not proved to be in range, and outputs that are not proved to be
/// written once. Kernels with typed addresses are behind the passes that such proofs are made
/// before; nothing is said about them.
void warn_unproved(const parse::spec::ReadProgram& read, Sink& sink);
/// Whether all kernels have typed addresses: they are as legalisation leaves them.
bool is_typed(const kernel::Program& program);

/// What a kernel-level file cannot be compiled with, because there is no equation behind it.
bool check_spec_options(const CommonOptions& common, const CompileOptions& options, Sink& sink);

/// From what was read to source text. Empty, and reported, where the target cannot run it.
std::optional<TargetResult> compile_spec_target(const SpecInput& spec,
                                                const targets::TargetSpec& target,
                                                const CompileOptions& options, Sink& sink,
                                                Stages& stages);

} // namespace tang::driver
