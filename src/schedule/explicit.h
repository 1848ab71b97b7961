#pragma once
// `--schedule=FILE`: fields that a person states instead of the selector's. The file is what
// `--emit=schedule` writes, with other fields; kernels that it does not name keep their own.
#include "diagnostics/sink.h"
#include "schedule/schedule.h"
#include <map>

namespace tang::schedule {

/// One condition of a variant as written, such as `(N) % 8 == 0` or `N <= 256`.
struct StatedFact {
  plan::Fact::Kind kind = plan::Fact::Kind::divisible;
  std::string extent;
  int64_t value = 1;
  Span span;
};
struct StatedVariant {
  plan::Fields fields;
  std::vector<StatedFact> when;
  Span span;
};
struct StatedKernel {
  std::string name;
  std::optional<plan::Emitter> emitter; ///< to compare with; nobody can choose it
  std::vector<StatedVariant> variants;
  Span span;
};
using StatedSchedule = std::vector<StatedKernel>;

/// Reports what is no schedule: other YAML, unknown fields, values outside their ranges.
std::optional<StatedSchedule> read_schedule(const SourceManager& sources, FileId file, Sink& sink);

/// Puts the stated variants in the place of the selector's. A name that several kernels have means
/// all of them, or with several entries one after the other. Reports kernels that are not there,
/// extents that are not theirs, and fields that cannot be, with the reason. A graph for some sizes
/// only may lack kernels: `general` is false.
void apply(const StatedSchedule& stated, const graph::Graph& graph, plan::Plan& plan,
           const Machine& machine, bool general, Sink& sink);

} // namespace tang::schedule
