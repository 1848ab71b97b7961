#include "diagnostics/sink.h"
#include <algorithm>
#include <numeric>

namespace tang {

Diagnostic& Sink::report(Kind kind, Span span, std::string message) {
  Severity severity = info(kind).severity;
  auto listed = [&](const std::vector<Kind>& list) {
    return std::find(list.begin(), list.end(), kind) != list.end();
  };
  if (severity == Severity::warning) {
    if (policy_.all_off || listed(policy_.disabled)) {
      scratch_ = Diagnostic{kind, severity, span, std::move(message), {}, {}};
      return scratch_;
    }
    if (policy_.all_errors || listed(policy_.errors)) severity = Severity::error;
  }
  if (severity == Severity::error) ++errors_;
  diagnostics_.push_back(Diagnostic{kind, severity, span, std::move(message), {}, {}});
  return diagnostics_.back();
}

namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions and neighbour swaps.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

} // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  // Long names make the distance quadratic and no longer say what was meant.
  if (name.size() > 64) return {};
  size_t limit = std::max<size_t>(1, name.size() / 3);
  // All one-letter names are one letter apart: only the other case is near.
  if (name.size() <= 1) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    for (const std::string& candidate : candidates)
      if (candidate.size() == name.size() && !name.empty() && lower(candidate[0]) == lower(name[0]))
        return candidate;
    return {};
  }
  std::string best;
  size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit) continue;
    size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}

std::string name_help(std::string_view name, std::string_view kind,
                      const std::vector<std::string>& candidates) {
  constexpr size_t most_listed = 12;
  std::string near = nearest_name(name, candidates);
  if (!near.empty()) return fmt::format("did you mean `{}`?", near);
  if (candidates.empty()) return fmt::format("there is no {} here", kind);
  if (candidates.size() == 1) return fmt::format("the only {} is `{}`", kind, candidates[0]);
  size_t shown = std::min(candidates.size(), most_listed);
  return fmt::format(
      "the {}s are `{}`{}", kind,
      fmt::join(candidates.begin(), candidates.begin() + static_cast<long>(shown), "`, `"),
      shown < candidates.size() ? " and others" : "");
}

} // namespace tang
