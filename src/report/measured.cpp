// Measurements meet floors.
#include "report/json.h"
#include <charconv>
#include <map>
#include <set>

namespace tang::report {

namespace {

struct Row {
  std::string kernel;
  double us = 0;
  std::optional<int64_t> runs;
  std::string clock;
  Span line;
};

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Table {
public:
  Table(const SourceManager& sources, FileId id, Sink& sink)
      : id_(id), text_(sources.file(id).text), sink_(sink) {}

  std::optional<std::vector<Row>> read() {
    bool first = true;
    for (size_t at = 0; at < text_.size();) {
      size_t end = std::min(text_.find('\n', at), text_.size());
      std::string_view line = trimmed(text_.substr(at, end - at));
      Span span{id_, static_cast<uint32_t>(at), static_cast<uint32_t>(end)};
      at = end + 1;
      if (line.empty() || line.front() == '#') continue;
      bool head = first;
      first = false;
      if (!row(line, span, head)) ok_ = false;
    }
    if (!ok_) return std::nullopt;
    return std::move(rows_);
  }

private:
  bool row(std::string_view line, Span span, bool head) {
    std::vector<std::string_view> cells;
    for (size_t at = 0; at <= line.size();) {
      size_t end = std::min(line.find(',', at), line.size());
      cells.push_back(trimmed(line.substr(at, end - at)));
      at = end + 1;
    }
    if (cells.size() >= 2 && head && cells[0] == "kernel" && cells[1] == "us") return true;
    if (cells.size() < 2 || cells.size() > 4)
      return fault(span, "a line is `kernel,us[,runs,clock]`");
    auto us = number_of<double>(cells[1]);
    if (!us || !(*us > 0) || !(*us < 1e15))
      return fault(span, fmt::format("`{}` is no time in microseconds", cells[1]));
    Row row{std::string(cells[0]), *us, {}, "", span};
    if (cells.size() > 2 && !cells[2].empty()) {
      row.runs = number_of<int64_t>(cells[2]);
      if (!row.runs || *row.runs < 1)
        return fault(span, fmt::format("`{}` is no number of runs", cells[2]));
    }
    if (cells.size() > 3) row.clock = cells[3];
    rows_.push_back(std::move(row));
    return true;
  }
  bool fault(Span span, std::string what) {
    sink_.report(Kind::report_file, span, std::move(what));
    return false;
  }

  FileId id_;
  std::string_view text_;
  Sink& sink_;
  std::vector<Row> rows_;
  bool ok_ = true;
};

/// Kernels by their names in the report.
std::map<std::string, Json*> kernels_by_name(Json& report) {
  std::map<std::string, Json*> known;
  for_each_kernel(report,
                  [&](Json& kernel) { known.emplace(kernel["name"].get<std::string>(), &kernel); });
  return known;
}

} // namespace

std::optional<Measured> merge_measurements(const SourceManager& sources, FileId report,
                                           FileId times, std::optional<double> require_sol,
                                           Sink& sink) {
  auto json = read_report(sources, report, sink);
  auto rows = Table(sources, times, sink).read();
  if (!json || !rows) return std::nullopt;
  auto known = kernels_by_name(*json);
  Measured out;
  bool ok = true;
  std::set<std::string> seen;
  for (const Row& row : *rows) {
    auto at = known.find(row.kernel);
    if (at == known.end()) {
      std::vector<std::string> names;
      for (const auto& [name, kernel] : known) names.push_back(name);
      auto& diagnostic =
          sink.report(Kind::report_file, row.line, "the report has no kernel `{}`", row.kernel);
      if (std::string near = nearest_name(row.kernel, names); !near.empty())
        diagnostic.help(fmt::format("did you mean `{}`?", near));
      ok = false;
      continue;
    }
    if (!seen.insert(row.kernel).second) {
      sink.report(Kind::report_file, row.line, "`{}` is measured twice", row.kernel);
      ok = false;
      continue;
    }
    Json& kernel = *at->second;
    double cold = kernel["floor"]["us"].get<double>();
    double warm = kernel["floor"]["warm_us"].get<double>();
    bool violated = row.us < warm;
    // What is faster than a cold run can be had its inputs in the cache.
    double floor = row.us < cold ? warm : cold;
    double reached = floor / row.us;
    kernel["measured"] = {{"us", row.us},
                          {"runs", row.runs ? Json(*row.runs) : Json()},
                          {"clock", row.clock.empty() ? Json() : Json(row.clock)},
                          {"cache", row.us < cold ? "warm" : "cold"},
                          {"sol", reached},
                          {"bound_violated", violated}};
    if (violated)
      out.failures.push_back(
          fmt::format("kernel `{}` took {} us, less than its floor of {} us: the bound is violated",
                      row.kernel, row.us, warm));
    else if (require_sol && reached < *require_sol)
      out.failures.push_back(
          fmt::format("kernel `{}` took {} us, and its floor is {} us: {:.3f} of "
                      "the speed of light, below {}",
                      row.kernel, row.us, floor, reached, *require_sol));
  }
  if (!ok) return std::nullopt;
  out.json = json->dump(2) + "\n";
  return out;
}

} // namespace tang::report
