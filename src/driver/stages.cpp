#include "driver/stages.h"
#include "driver/files.h"
#include "legalize/passes.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tang::driver {

namespace {

/// Tracing goes to stderr, one plain line a stage.
spdlog::logger& tracer() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("tangc",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("tangc: %v");
    return made;
  }();
  return *logger;
}

} // namespace

std::string count_of(const graph::Graph& graph) {
  return fmt::format("{} nodes, {} terms", graph.nodes.size(), graph.exprs.size());
}

std::string count_of(const kernel::Program& program) {
  return fmt::format("{} kernels, {} buffers", program.kernels.size(), program.buffers.size());
}

std::vector<std::string> stage_names() {
  std::vector<std::string> names{"parse"};
  for (const rewrite::Pass& pass : rewrite::passes()) names.emplace_back(pass.name);
  names.emplace_back("round_factors");
  names.emplace_back("share_contractions");
  names.emplace_back("split_reduction");
  names.emplace_back("schedule");
  names.emplace_back("lower");
  for (const legalize::Pass& pass : legalize::passes()) names.emplace_back(pass.name);
  return names;
}

void check_stage_names(const std::vector<std::string>& names, Sink& sink) {
  std::vector<std::string> known = stage_names();
  known.emplace_back("all");
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    auto& diagnostic = sink.report(Kind::command_line, {}, "no stage is called `{}`", name);
    diagnostic.help(fmt::format("one of `{}`", fmt::join(known, "`, `")));
  }
}

Stages::Stages(const CommonOptions& common, std::vector<std::string> dumps, std::string dump_dir)
    : verbose_(common.verbose), report_(common.time_report), dumps_(std::move(dumps)),
      dump_dir_(std::move(dump_dir)) {}

Stages Stages::fork(const std::string& part) const {
  Stages chain = *this;
  chain.target_ += (target_.empty() ? "" : ".") + part;
  chain.records_.clear();
  chain.skip_time();
  return chain;
}

void Stages::join(const Stages& chain) {
  records_.insert(records_.end(), chain.records_.begin(), chain.records_.end());
  number_ = std::max(number_, chain.number_);
}

void Stages::done(std::string_view name, const std::string& counts, const Text& text,
                  std::string_view extension) {
  auto spent =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_).count();
  records_.push_back({std::string(name), target_, spent});
  std::string where = target_.empty() ? "" : " (" + target_ + ")";
  if (verbose_)
    tracer().info("{}{}: {}{}{:.3f} ms", name, where, counts, counts.empty() ? "" : ", ",
                  static_cast<double>(spent) / 1000);
  bool wanted = std::any_of(dumps_.begin(), dumps_.end(),
                            [&](const std::string& d) { return d == name || d == "all"; });
  if (text) {
    if (wanted && dump_dir_.empty())
      write_stderr(fmt::format("# after {}{}\n{}", name, where, text()));
    else if (wanted)
      write_dump(fmt::format("{}/{:02}-{}{}.{}", dump_dir_, number_, name,
                             target_.empty() ? "" : "." + target_, extension),
                 text());
    ++number_;
  }
  skip_time();
}

void Stages::note(std::string_view text) const {
  if (verbose_) tracer().info("note: {}", text);
}

std::string Stages::last() const {
  if (records_.empty()) return "none";
  const Record& record = records_.back();
  return record.target.empty() ? record.name : fmt::format("{} ({})", record.name, record.target);
}

std::string Stages::time_report() const {
  int64_t total = 0;
  for (const Record& record : records_) total += record.microseconds;
  if (report_ == TimeReport::json) {
    nlohmann::ordered_json stages = nlohmann::ordered_json::array();
    for (const Record& r : records_)
      stages.push_back({{"stage", r.name}, {"target", r.target}, {"us", r.microseconds}});
    return nlohmann::ordered_json{{"stages", stages}, {"total_us", total}}.dump() + "\n";
  }
  if (report_ == TimeReport::off) return "";
  std::string text;
  for (const Record& r : records_)
    text += fmt::format(
        "{:>12.3f} ms  {:5.1f} %  {}{}\n", static_cast<double>(r.microseconds) / 1e3,
        total ? 100.0 * static_cast<double>(r.microseconds) / static_cast<double>(total) : 0.0,
        r.name, r.target.empty() ? "" : " (" + r.target + ")");
  return text + fmt::format("{:>12.3f} ms  total\n", static_cast<double>(total) / 1e3);
}

} // namespace tang::driver
