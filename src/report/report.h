#pragma once
// The speed-of-light report `tangc.sol/1`: written for every compile, read by `tangc report`.
#include "bound/analysis.h"
#include "diagnostics/sink.h"
#include "kernel/program.h"
#include "plan/plan.h"
#include "targets/target.h"

namespace tang::report {

/// A dim that has one value from the command line.
struct BoundDim {
  std::string name;
  int64_t value = 0;
};

/// By how much an output is off: beside the exact result, and beside the largest value of it.
struct PredictedError {
  double absolute = 0, relative = 0;
};

/// An output, or the tensor of its equation: the one that `budget` and `accumulate` lines name.
graph::TensorId stated(const graph::Graph& graph, graph::TensorId output);

struct ReportInput {
  std::string version;              ///< of tangc
  std::vector<std::string> options; ///< those that the output depends on
  std::string file;                 ///< base name of the input
  std::string sha256;               ///< of the input's bytes
  const SourceManager& sources;
  const graph::Graph& elaborated; ///< as written
  const graph::Graph& graph;      ///< as rewritten: what `plan` and `program` are about
  const plan::Plan& plan;
  const kernel::Program& program;
  const bound::Analysis& bounds;     ///< of the plan
  const targets::TargetSpec& target; ///< with a device
  /// What kernels are called in the source, one per kernel of the program; empty: their names.
  std::vector<std::string> symbols;
  std::vector<BoundDim> dims;  ///< bound by `-D`
  bool native_operands = true; ///< `--precision=native`
  bool allow_tf32 = false;     ///< `--allow-tf32`
  /// One per output of the graph; empty: not predicted.
  std::span<const PredictedError> errors;
};

/// The report as JSON, two spaces a level, with a line end. Numbers hold at the dims that it
/// states: those bound, and one choice for the others; formulas hold for all. Of several variants
/// the last is the one for all sizes, and what the report is about; the others are listed in it.
std::string report_json(std::span<const ReportInput> variants);
inline std::string report_json(const ReportInput& input) {
  return report_json(std::span(&input, 1));
}

/// What is known of kernels without equations: how a host launches them. Floors and traffic are
/// not, and the report says so. Of `input` the graph may be empty, and there need be no plan and no
/// bounds.
std::string manifest_report(const ReportInput& input);

/// Adds to the comment of every kernel what it moves and takes at least, with the figures that the
/// report has: at dims that are free as formulas, and at the sizes of the report.
void comment_floors(kernel::Program& program, const bound::Analysis& bounds,
                    const targets::Device& device);

/// Tables for people: a verdict, kernels by floor, traffic from unfused to compulsory; with
/// `other`, what differs, `other` being the baseline. Reports what is wrong with a file.
std::optional<std::string> report_text(const SourceManager& sources, FileId report, FileId other,
                                       Sink& sink);

/// The same for a browser: one page that needs neither scripts nor anything beside it. Bars for
/// floors and traffic, and for each kernel its derivation, schedule and terms.
std::string report_html(std::span<const ReportInput> variants);
std::optional<std::string> report_html(const SourceManager& sources, FileId report, FileId other,
                                       Sink& sink);

/// A report with measurements in it.
struct Measured {
  std::string json;
  std::vector<std::string> failures; ///< one sentence per kernel that fails the gate
};
/// Merges lines `kernel,us[,runs,clock]` (a first line of words is skipped, and so are empty lines
/// and those that start with #) into a report. A time below the warm floor is a violated bound, and
/// always a failure; with `require_sol` R so is one beyond floor/R. A time between the warm and the
/// cold floor is judged by the warm one.
std::optional<Measured> merge_measurements(const SourceManager& sources, FileId report,
                                           FileId times, std::optional<double> require_sol,
                                           Sink& sink);

} // namespace tang::report
