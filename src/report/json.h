#pragma once
// What the sources of this folder share. Not for other folders: the JSON library is heavy.
#include "bound/analysis.h"
#include "report/report.h"
#include <map>
#include <nlohmann/json.hpp>

namespace tang::report {

using Json = nlohmann::ordered_json;
using Numbers = std::vector<int64_t>;

/// The size at which a report's numbers hold where dims are free.
constexpr int64_t main_sample = 1024;
/// The values of a graph's dims for a wish of one size, each brought into its dim's range.
Numbers dims_at(const graph::Graph& graph, int64_t size);

/// Microseconds as a number with six decimals at most: picoseconds, exactly.
double microseconds(int64_t ps);
/// A whole number, or null where it leaves 64 bits.
Json amount(std::optional<int64_t> value);

/// The value of a host integer at dims; empty where it leaves 64 bits or needs a loop's variable.
std::optional<int64_t> host_value(const kernel::Program& program, kernel::ValueId id,
                                  std::span<const int64_t> dims);
/// A host value as text; an empty id is empty text.
std::string host_text(const kernel::Program& program, kernel::ValueId id);

/// The launches of a program by their kernel's position in the plan.
std::map<uint32_t, const kernel::Dispatch*> launches_by_plan(const kernel::Program& program);

/// One kernel plan of the report, with the launch that runs it.
struct KernelEntry {
  std::string name; ///< unique in the report
  const bound::KernelBound* bound = nullptr;
  const kernel::Dispatch* dispatch = nullptr; ///< null where it was not lowered
};

Json target_json(const targets::TargetSpec& target);
Json kernel_json(const ReportInput& input, const bound::Analysis& analysis,
                 const KernelEntry& entry, std::span<const int64_t> dims);
Json manifest_json(const ReportInput& input);
std::string symbol_of(const ReportInput& input, kernel::KernelId id);
/// Bytes of shared memory that a kernel declares.
int64_t shared_bytes(const kernel::Kernel& kernel);

/// Calls `visit` with every kernel of a report, those of its variants behind the others.
template <class Report, class Visit>
void for_each_kernel(Report& report, const Visit& visit) {
  for (auto& kernel : report["kernels"]) visit(kernel);
  if (!report.contains("variants")) return;
  for (auto& variant : report["variants"])
    for (auto& kernel : variant["kernels"]) visit(kernel);
}

/// Reads a report and checks what the readers rely on; reports what is wrong.
std::optional<Json> read_report(const SourceManager& sources, FileId file, Sink& sink);

} // namespace tang::report
