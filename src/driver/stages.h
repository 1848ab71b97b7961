#pragma once
// What a run tells about its stages: traces, times, dumps, and which one was the last to end.
#include "driver/options.h"
#include "graph/graph.h"
#include "kernel/program.h"
#include <chrono>
#include <functional>

namespace tang::driver {

/// Every name that `--dump` knows, in running order, without `all`.
std::vector<std::string> stage_names();
/// Reports those that are neither a stage nor `all`.
void check_stage_names(const std::vector<std::string>& names, Sink& sink);

/// How much there is of what, in the words of a trace.
std::string count_of(const graph::Graph& graph);
std::string count_of(const kernel::Program& program);

/// One chain of stages: the file's, or one target's. Time is counted from the end of one stage to
/// the end of the next.
class Stages {
public:
  using Text = std::function<std::string()>;

  /// `dumps` are names of stages or `all`; with an empty folder they go to stderr.
  Stages(const CommonOptions& common, std::vector<std::string> dumps, std::string dump_dir);
  /// A chain that goes on from this one for a target, or for a variant of one; joined again with
  /// `join`.
  Stages fork(const std::string& part) const;
  void join(const Stages& chain);

  /// A stage has ended. `counts` says how much there was of what; `text` makes its dump,
  /// `extension` is that of a dump's file.
  void done(std::string_view name, const std::string& counts, const Text& text = {},
            std::string_view extension = "tg");
  /// A line of `-v` between two stages.
  void note(std::string_view text) const;
  /// Time that belongs to no stage, such as waiting for other targets.
  void skip_time() { started_ = Clock::now(); }
  /// "schedule (sm_80)": for reports of internal errors.
  std::string last() const;
  /// The table of `--time-report`; empty when it is off.
  std::string time_report() const;

private:
  using Clock = std::chrono::steady_clock;
  struct Record {
    std::string name, target;
    int64_t microseconds;
  };
  bool verbose_;
  TimeReport report_;
  std::vector<std::string> dumps_;
  std::string dump_dir_, target_;
  std::vector<Record> records_;
  int number_ = 0; ///< of the next dump
  Clock::time_point started_ = Clock::now();
};

} // namespace tang::driver
