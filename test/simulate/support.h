#pragma once
// What the tests of the simulator share: a program of a `.tg` file, run on random data and held to
// the graph interpreter.
#include "driver/test_program.h"
#include "interpret/run_kernel.h"

namespace tang::simulate_test {

struct Request {
  std::string text, name; ///< the module, and what messages call it
  std::string target = "sm_80";
  int level = 2;
  std::vector<std::pair<std::string, int64_t>> dims; ///< sizes of the run
  bool bound = false;                                ///< compiled for these sizes alone
  std::string schedule; ///< text of `--schedule`; empty: the selector's
  bool legal = true;    ///< behind the legalisation passes
  bool tf32 = false;    ///< `--allow-tf32`; only with `legal`
};

/// A module as compiled for a target, with its dims in order.
struct Compiled {
  graph::Graph written, graph; ///< as parsed; as rewritten and lowered
  kernel::Program program;
  std::vector<int64_t> dims;
  bool tf32 = false; ///< f32 may lose bits, and tolerances allow it
};

/// Throws std::runtime_error with the diagnostics where that fails.
Compiled compile(const Request& request);

/// Whether a law stored computed factors in the format of others, which leaves more open.
bool rounds_factors(const Compiled& compiled);

/// Random inputs, and what the interpreter makes of them.
driver::TestVectors data_of(const Compiled& compiled, uint64_t seed);

/// Inputs that were changed: the interpreter's outputs for them.
void evaluate_again(const Compiled& compiled, driver::TestVectors& data);

struct Outcome {
  std::vector<std::string> faults; ///< wrong outputs and findings, one line each
  interpret::RunReport report;
  double worst = 0; ///< largest difference of a real, in parts of what its output allows
};

/// Runs the program; every output must be the interpreter's within what its format leaves open, or
/// four times what computing in f32 changes, if that is more.
Outcome simulate(const Compiled& compiled, const driver::TestVectors& data,
                 const interpret::RunOptions& options = {});

/// The text of a file, from the project's root.
std::string file_text(const std::string& path);

} // namespace tang::simulate_test
