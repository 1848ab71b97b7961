// Proofs about whole kernels and programs.
#include "base/check.h"
#include "kernel/launches.h"
#include "kernel/proofs.h"
#include <fmt/ranges.h>

namespace tang::kernel {
namespace {

Report ranges_of(Facts& facts) {
  RangeProof proof(facts);
  facts.walk([&](const Stmt& stmt, const Place&) { proof.visit(stmt); });
  return proof.take();
}

Report coverage_of(Facts& facts) {
  CoverageProof proof(facts);
  facts.walk([&](const Stmt& stmt, const Place& place) { proof.visit(stmt, place); });
  return proof.take();
}

template <class F>
Report of_launches(const Program& program, F&& report_of) {
  Report report;
  for_each_launch(program, [&](const Launch& launch) {
    Facts facts(launch.kernel, program.values, launch.variant, launch.loops);
    report += report_of(facts);
  });
  return report;
}

} // namespace

Report check_ranges(const Kernel& kernel) {
  Facts facts(kernel);
  return ranges_of(facts);
}

Report check_ranges(const Program& program) {
  return of_launches(program, ranges_of);
}

Report check_coverage(const Kernel& kernel) {
  Facts facts(kernel);
  return coverage_of(facts);
}

Report check_coverage(const Program& program) {
  return of_launches(program, coverage_of);
}

namespace {

/// Both proofs, in one walk.
Report report_of(const Program& program, const Launch& launch) {
  Facts facts(launch.kernel, program.values, launch.variant, launch.loops);
  RangeProof ranges(facts);
  CoverageProof coverage(facts);
  facts.walk([&](const Stmt& stmt, const Place& place) {
    ranges.visit(stmt);
    coverage.visit(stmt, place);
  });
  Report report = coverage.take();
  report += ranges.take();
  return report;
}

void require(const Report& report, const Kernel& kernel, std::string_view stage) {
  if (report.unproved.empty()) return;
  throw InternalError(
      fmt::format("after `{}`: {}\n{}", stage, fmt::join(report.unproved, "\n"), to_text(kernel)));
}

} // namespace

int prove(const Program& program, std::string_view stage) {
  int proved = 0;
  for_each_launch(program, [&](const Launch& launch) {
    Report report = report_of(program, launch);
    require(report, launch.kernel, stage);
    proved += report.proved;
  });
  return proved;
}

std::vector<Unproved> find_unproved(const Program& program) {
  std::vector<Unproved> found;
  for_each_launch(program, [&](const Launch& launch) {
    Report report = report_of(program, launch);
    for (std::string& text : report.unproved)
      found.push_back({launch.variant.kernel, std::move(text)});
  });
  return found;
}

int prove_coverage(const Program& program, std::string_view stage) {
  int proved = 0;
  for_each_launch(program, [&](const Launch& launch) {
    Facts facts(launch.kernel, program.values, launch.variant, launch.loops);
    Report report = coverage_of(facts);
    require(report, launch.kernel, stage);
    proved += report.proved;
  });
  return proved;
}

} // namespace tang::kernel
