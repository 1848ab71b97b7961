#include "atomics/explain.h"
#include "base/text_writer.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::atomics {

namespace {

constexpr size_t widest = 100;

std::vector<const Row*> all_rows(const Target& target) {
  std::vector<const Row*> rows;
  for (const Row& row : target.stated) rows.push_back(&row);
  for (const Entry& entry : embedded_rows()) rows.push_back(&entry.get());
  return rows;
}

std::string why_not_taken(const Row& row, const Target& target, const Asked& asked) {
  std::string why = why_not(row, target);
  if (why.empty()) why = mismatch(row, asked.leaf);
  if (!why.empty()) return why;
  if (!asked.row) return "it fits, and the schedule does without";
  return row.fma < asked.row->fma ? "it fits, with less work in one issue"
                                  : "it fits, and stands later in the tables";
}

/// Names behind a reason, in as many lines as they take.
void list(TextWriter& out, const std::string& reason, const std::vector<std::string_view>& names) {
  std::string line = reason + ":";
  for (size_t i = 0; i < names.size(); ++i) {
    std::string name = fmt::format(" {}{}", names[i], i + 1 < names.size() ? "," : "");
    if (line.size() + name.size() > widest) {
      out.raw(line);
      line = " ";
    }
    line += name;
  }
  out.raw(line);
}

void explain(TextWriter& out, const Target& target, const Asked& asked,
             std::string_view otherwise) {
  out.raw(to_text(asked.leaf));
  out.indent();
  if (asked.row)
    out.line("taken: {} ({})", asked.row->name, asked.row->source);
  else
    out.line("no row is taken: {}", otherwise);
  std::vector<std::pair<std::string, std::vector<std::string_view>>> reasons;
  std::map<std::string_view, int> other_kinds;
  for (const Row* row : all_rows(target)) {
    if (row == asked.row) continue;
    if (row->kind != kind_of(asked.leaf)) {
      ++other_kinds[name(row->kind)];
      continue;
    }
    std::string why = why_not_taken(*row, target, asked);
    auto at = std::find_if(reasons.begin(), reasons.end(),
                           [&](const auto& reason) { return reason.first == why; });
    if (at == reasons.end()) at = reasons.insert(reasons.end(), {why, {}});
    at->second.push_back(row->name);
  }
  for (const auto& [why, names] : reasons) list(out, why, names);
  std::string others;
  for (const auto& [kind, count] : other_kinds)
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", count, kind);
  out.line("of another kind: {}", others);
  out.dedent();
}

} // namespace

std::string explain(const Target& target, std::span<const Asked> asked,
                    std::string_view otherwise) {
  TextWriter out;
  std::set<std::string> said;
  for (const Asked& question : asked)
    if (said.insert(to_text(question.leaf)).second) explain(out, target, question, otherwise);
  return out.take();
}

} // namespace tang::atomics
