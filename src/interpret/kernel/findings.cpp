#include "interpret/kernel/findings.h"
#include <fmt/format.h>

namespace tang::interpret {

std::string_view name(Fault fault) {
  switch (fault) {
  case Fault::out_of_range: return "out of range";
  case Fault::misaligned: return "misaligned";
  case Fault::unwritten: return "unwritten";
  case Fault::written_twice: return "written twice";
  case Fault::not_written: return "not written";
  case Fault::race: return "race";
  case Fault::early_read: return "read before the wait";
  case Fault::early_write: return "written before the wait";
  case Fault::divergence: return "divergence";
  case Fault::missing_lanes: return "missing lanes";
  case Fault::number_too_large: return "number too large";
  case Fault::refused: return "refused";
  }
  return "";
}

std::string to_text(const Finding& finding) {
  std::string text(name(finding.fault));
  if (!finding.kernel.empty()) text += fmt::format(" in kernel `{}`", finding.kernel);
  if (!finding.statement.empty()) text += ", " + finding.statement;
  if (!finding.tensor.empty()) text += fmt::format(": `{}`", finding.tensor);
  if (!finding.coordinates.empty())
    text += fmt::format("[{}]", fmt::join(finding.coordinates, ", "));
  if (!finding.statement.empty())
    text += fmt::format(", block {}, thread {}", finding.block, finding.thread);
  if (!finding.note.empty()) text += "; " + finding.note;
  if (finding.count > 1) text += fmt::format(" ({} times)", finding.count);
  return text;
}

namespace simulator {

Finding* Findings::add(Fault fault, const std::string& kernel, uint32_t statement,
                       const std::string& tensor) {
  auto [at, fresh] = known_.try_emplace({fault, kernel, statement, tensor}, list_.size());
  if (!fresh) {
    ++list_[at->second].count;
    return nullptr;
  }
  list_.push_back({fault, kernel, {}, tensor, 0, 0, {}, {}, 1});
  return &list_.back();
}

} // namespace simulator
} // namespace tang::interpret
