#pragma once
// What a command line asks for, checked: everything that can be wrong with options is reported
// here.
#include "diagnostics/render.h"
#include "driver/arguments.h"
#include "driver/variants.h"
#include "legalize/capabilities.h"
#include "parse/elaborate/elaborate.h"
#include "print/printer.h"
#include "targets/target.h"

namespace tang::driver {

/// What `--emit` names.
enum class Emit : uint8_t {
  source,
  header,
  report,
  tg,
  graph,
  schedule,
  spec,
  test,
  html,
  launcher,
  cmake
};

enum class TimeReport : uint8_t { off, text, json };

/// What every verb has.
struct CommonOptions {
  RenderOptions render;
  WarningPolicy warnings;
  bool verbose = false, quiet = false;
  TimeReport time_report = TimeReport::off;
  std::vector<parse::DimBinding> dims;
};

/// How depfiles are asked for.
struct DependencyOptions {
  bool beside = false, only = false, phony = false;
  std::string file;                 ///< -MF; empty: beside the first output
  std::vector<std::string> targets; ///< the left side as make reads it; empty: the outputs
};

/// `--error-budget`: beside an output's largest value, or absolute.
struct ErrorBudget {
  double relative = 0;
  std::optional<double> absolute;
};

/// What the way from a graph to a source file depends on.
struct CompileOptions {
  std::vector<targets::TargetSpec> targets;
  int level = 2;
  int jobs = 1;
  std::string prefix; ///< empty: the graph's name
  print::Checks checks = print::Checks::cheap;
  legalize::IndexBits index_bits = legalize::IndexBits::automatic;
  bool embed = false; ///< sources also as data
  bool split = false, fast_math = false, batch_invariant = false;
  std::vector<std::string> canonical; ///< the options that the output depends on
  bool native_operands = true;        ///< `--precision=native`
  bool allow_tf32 = false;            ///< a permission
  std::optional<ErrorBudget> budget;
  std::string schedule;             ///< a file of fields; empty: the selector's
  std::vector<SizeCase> cases;      ///< `--specialize`
  std::vector<std::string> atomics; ///< files of rows, in order
  bool explain_atoms = false;

  std::vector<Emit> emit; ///< without repeats, in the order of the enumeration
  std::string output;     ///< -o
  std::string directory;  ///< -d; empty: the current one, or that of `output`
  bool print_outputs = false, write_if_changed = false;
  DependencyOptions dependencies;

  bool emits(Emit kind) const;
};

/// The launcher of a target's code where that is a file of its own; null where it is part of the
/// source.
const print::HostFile* host_file_of(const targets::Target& target);

/// Readable even when `arguments` has faults, so that they can be shown as asked for: what is wrong
/// here is reported, and the default stays.
CommonOptions common_options(const Arguments& arguments, Sink& sink);

/// For compile and verify.
std::optional<CompileOptions> compile_options(const Arguments& arguments, Sink& sink);

/// A whole number from `least`; reported where it is none.
std::optional<int64_t> number_option(const Arguments& arguments, OptionId id, int64_t initial,
                                     int64_t least, int64_t greatest, Sink& sink);

} // namespace tang::driver
