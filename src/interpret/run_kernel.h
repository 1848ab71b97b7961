#pragma once
// Kernels on the CPU (kernel-ir.md, "Simulator"): every launch of a program, blocks one after
// another, the threads of a block side by side from statement to statement.
//
// A program that keeps the rules of its level gives what any order of its threads gives, so one
// order is enough; what breaks the rules is found as it happens. Instructions are carried out by
// the layouts of their rows, never by their names. Memory that nothing wrote is known as such,
// element by element: moves carry the mark along, and whatever computes with it, stores it to
// global memory or goes by it is reported.
#include "kernel/program.h"
#include <map>

namespace tang::interpret {

/// What the caller binds to one buffer of kind `argument`.
struct Argument {
  /// Its storage, little-endian, in the buffer's format. Where not `given`, the run sizes it and
  /// fills it with NaN.
  std::vector<uint8_t> bytes;
  bool given = false; ///< an input
  /// Elements that hold data, as offsets: what lies between strided ones does not. Empty: all.
  std::vector<int64_t> holds;
  /// Elements that some launch must write, as offsets.
  std::vector<int64_t> wanted;
};

enum class Fault : uint8_t {
  out_of_range,     ///< an element outside its tensor, or outside the buffer bound to it
  misaligned,       ///< a vector at an address that its bytes do not divide
  unwritten,        ///< an element is used that nothing wrote
  written_twice,    ///< an element of global memory is written by two stores of a launch
  not_written,      ///< an element of an output that no launch wrote
  race,             ///< two threads touch a cell, one of them writes, and no barrier stands between
  early_read,       ///< a cell is read before its asynchronous copy was waited for
  early_write,      ///< a cell is written while an asynchronous copy to it is under way
  divergence,       ///< a barrier that not all threads of the block reach
  missing_lanes,    ///< threads exchange values or share an instruction, and some are not there
  number_too_large, ///< a flat number beyond the product of its extents
  refused           ///< the launcher has no kernel for these dims, or cannot start it
};
std::string_view name(Fault fault);

/// The first of its kind at a statement.
struct Finding {
  Fault fault = Fault::refused;
  std::string kernel, statement, tensor; ///< empty where there is none
  int64_t block = 0;
  int thread = 0;
  std::vector<int64_t> coordinates; ///< of the element
  std::string note;
  int64_t count = 1; ///< how often it happened
};
/// `race in kernel `c`, statement 12, Move of `m_tile`: element (3, 4), block 0, thread 33; ...`
std::string to_text(const Finding& finding);

/// What the launches of one kernel moved. Accesses count once for each warp (32 threads one behind
/// the other) with an active thread.
struct Counts {
  int64_t launches = 0, blocks = 0;
  int64_t global_bytes_read = 0, global_bytes_written = 0; ///< that threads asked for
  /// Different aligned 32 bytes of each access of a warp, summed.
  int64_t sectors_read = 0, sectors_written = 0;
  int64_t shared_bytes_read = 0, shared_bytes_written = 0;
  /// Passes over the 32 banks of 4 bytes. Without conflicts an access takes one for each 128 bytes
  /// that its lanes could move, a matrix of 8 rows of 16 bytes one.
  int64_t shared_passes = 0, shared_conflicts = 0; ///< conflicts: passes beyond these
  int64_t barriers = 0, shuffles = 0;              ///< barriers of blocks, shuffles of warps
  std::map<std::string, int64_t> instructions;     ///< issues of warps, by row
};

struct RunReport {
  std::vector<Finding> findings;
  std::map<std::string, Counts> kernels; ///< by name
};

enum class VariantChoice : uint8_t {
  launcher, ///< the first whose condition holds
  last      ///< the last one: every variant whose condition holds must give the same
};

struct RunOptions {
  VariantChoice variant = VariantChoice::launcher;
  /// Runs only variants of this number where a launch has it and its condition holds.
  std::optional<size_t> only_variant;
};

/// Runs a program, before any legalisation pass or behind all of them. `dims`: one value per
/// Program::dims; `arguments`: by buffer, one for each of kind `argument`, which hold the outputs
/// afterwards.
RunReport run_program(const kernel::Program& program, std::span<const int64_t> dims,
                      std::map<kernel::BufferId, Argument>& arguments,
                      const RunOptions& options = {});

} // namespace tang::interpret
