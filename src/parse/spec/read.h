#pragma once
// `.spec` text to programs (grammar/spec.ebnf): what kernel::to_text writes is read back as the
// same program, and what a person writes is held to the same rules.
#include "atomics/table.h"
#include "diagnostics/sink.h"
#include "kernel/program.h"
#include <optional>

namespace tang::parse::spec {

struct ReadOptions {
  std::span<const atomics::Row> rows; ///< of the user's tables; outlive what is read
};

/// An instruction as the text names it.
struct Use {
  const atomics::Row* row = nullptr;
  Span span;
};

struct ReadKernel {
  kernel::Kernel kernel;
  Span name;
  std::vector<Span> statements; ///< first words, as for_each_stmt visits them
  std::vector<Use> uses;
};

struct ReadProgram {
  kernel::Program program;
  Span name, target;               ///< target: of the name in its line; empty where there is none
  std::vector<ReadKernel> kernels; ///< without their kernels, which are the program's
};

/// Reads, resolves and verifies. Every fault is reported, several in one run; what is returned
/// passes kernel::verify.
std::optional<ReadProgram> read_program(const SourceManager& sources, FileId file,
                                        const ReadOptions& options, Sink& sink);

/// Reports instructions that a target lacks, with their places.
bool check_instructions(const ReadProgram& read, const atomics::Target& target, Sink& sink);

/// The file in canonical form: two spaces for each body, one between words where there are any,
/// comments where they are. Empty, and reported, where its words are none.
std::optional<std::string> format(const SourceManager& sources, FileId file, Sink& sink);

} // namespace tang::parse::spec
