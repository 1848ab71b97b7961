// Reports as tables.
#include "base/text_writer.h"
#include "report/json.h"
#include <algorithm>
#include <map>

namespace tang::report {

namespace {

/// A number below an object, or nothing: readers of other people's files never rely on one.
std::optional<double> number(const Json& json, const char* key) {
  auto at = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || at == json.end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}
/// Without control characters, which a terminal might obey.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}
std::string text(const Json& json, const char* key) {
  if (!json.is_object()) return "";
  auto at = json.find(key);
  if (at == json.end() || !at->is_string()) return "";
  return printable(at->get<std::string>());
}

/// Three digits that count, in the largest unit below the value.
std::string scaled(std::optional<double> value, std::initializer_list<const char*> units,
                   double step) {
  if (!value) return "-";
  auto unit = units.begin();
  while (*value >= step && unit + 1 != units.end()) *value /= step, ++unit;
  std::string digits = *value == 0     ? "0"
                       : *value >= 100 ? fmt::format("{:.0f}", *value)
                       : *value >= 10  ? fmt::format("{:.1f}", *value)
                                       : fmt::format("{:.2f}", *value);
  return **unit ? fmt::format("{} {}", digits, *unit) : digits;
}
std::string bytes(std::optional<double> value) {
  return scaled(value, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}, 1024);
}
std::string count(std::optional<double> value) {
  return scaled(value, {"", "K", "M", "G", "T", "P", "E"}, 1000);
}
std::string kernel_count(size_t kernels) {
  return fmt::format("{} kernel{}", kernels, kernels == 1 ? "" : "s");
}
std::string micros(std::optional<double> value) {
  return scaled(value, {"us", "ms", "s"}, 1000);
}

/// Text in columns; the first column stands left, numbers right.
class Columns {
public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void write(TextWriter& out) const {
    std::vector<size_t> widths;
    for (const auto& row : rows_)
      for (size_t c = 0; c < row.size(); ++c) {
        if (c == widths.size()) widths.push_back(0);
        widths[c] = std::max(widths[c], row[c].size());
      }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t c = 0; c < row.size(); ++c) {
        std::string space(widths[c] - row[c].size(), ' ');
        bool left = c == 0 || c + 1 == row.size();
        line += (c ? "  " : "") + (left ? row[c] + space : space + row[c]);
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out.raw(line);
    }
  }

private:
  std::vector<std::vector<std::string>> rows_;
};

double floor_of(const Json& kernel) {
  return *number(kernel["floor"], "us");
}
std::optional<double> measured_of(const Json& kernel) {
  return kernel.contains("measured") ? number(kernel["measured"], "us") : std::nullopt;
}

/// Bytes of a kernel's tensors: at least, or whole.
double traffic_of(const Json& kernel, const char* key) {
  double sum = 0;
  for (const Json& entry : kernel["traffic"]["per_tensor"]) sum += number(entry, key).value_or(0);
  return sum;
}

std::vector<const Json*> by_floor(std::vector<const Json*> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Json* a, const Json* b) { return floor_of(*a) > floor_of(*b); });
  return kernels;
}

std::string place(const Json& kernel) {
  if (!kernel.contains("loc") || !kernel["loc"].is_object()) return "";
  auto line = number(kernel["loc"], "line");
  return line ? fmt::format("{}:{:.0f}", text(kernel["loc"], "file"), *line) : "";
}

std::string dims_text(const Json& report) {
  std::string text;
  if (report.contains("dims") && report["dims"].is_object())
    for (const auto& [name, value] : report["dims"].items())
      if (value.is_number()) text += fmt::format(" {}={}", printable(name), value.dump());
  return text;
}

void verdict(const Json& report, TextWriter& out) {
  const Json& totals = report["totals"];
  out.raw(fmt::format("{} for {} on {}: {}, at least {} cold, {} warm",
                      text(report["input"], "file"), text(report["target"], "name"),
                      text(report["target"], "device"), kernel_count(report["kernels"].size()),
                      micros(number(totals, "floor_us")), micros(number(totals, "floor_warm_us"))));
  std::string bound = text(totals, "fused_graph_bound_by");
  out.raw(fmt::format("  as one kernel at least {}{}",
                      micros(number(totals, "fused_graph_floor_us")),
                      bound.empty() ? "" : ", bound by " + bound));
  if (std::string dims = dims_text(report); !dims.empty()) out.raw("  at" + dims);
  double total = 0;
  bool all = !report["kernels"].empty(), violated = false;
  for (const Json& kernel : report["kernels"]) {
    auto us = measured_of(kernel);
    all = all && us;
    total += us.value_or(0);
    if (us) {
      const Json& measured = kernel["measured"];
      violated |= measured.contains("bound_violated") && measured["bound_violated"] == true;
    }
  }
  if (all) out.raw(fmt::format("  measured {}", micros(total)));
  if (violated) out.raw("  A FLOOR IS VIOLATED: a measurement is below it");
}

void kernels(const Json& report, TextWriter& out) {
  Columns table;
  table.add({"kernel", "floor", "warm", "least traffic", "operations", "measured", "reached",
             "bound by", "defined at"});
  std::vector<const Json*> all;
  for (const Json& kernel : report["kernels"]) all.push_back(&kernel);
  for (const Json* kernel : by_floor(std::move(all))) {
    auto us = measured_of(*kernel);
    std::string reached = "-";
    if (us) {
      auto sol = number((*kernel)["measured"], "sol");
      if (sol) reached = fmt::format("{:.0f}%", *sol * 100);
    }
    std::optional<double> flops =
        kernel->contains("flops_math") ? number((*kernel)["flops_math"], "value") : std::nullopt;
    table.add({text(*kernel, "name"), micros(floor_of(*kernel)),
               micros(number((*kernel)["floor"], "warm_us")),
               bytes(traffic_of(*kernel, "compulsory")), count(flops), micros(us), reached,
               text((*kernel)["floor"], "bound_by"), place(*kernel)});
  }
  out.blank();
  table.write(out);
}

/// Sizes with code of their own.
void variants(const Json& report, TextWriter& out) {
  if (!report.contains("variants")) return;
  size_t position = 0;
  for (const Json& variant : report["variants"]) {
    const Json& totals = variant["totals"];
    out.blank();
    out.raw(fmt::format("variant {}, {}: {}, at least {} cold, {} warm", ++position,
                        text(variant, "when"), kernel_count(variant["kernels"].size()),
                        micros(number(totals, "floor_us")),
                        micros(number(totals, "floor_warm_us"))));
    if (std::string dims = dims_text(variant); !dims.empty()) out.raw("  at" + dims);
    kernels(variant, out);
  }
}

void waterfall(const Json& report, TextWriter& out) {
  const Json& totals = report["totals"];
  Columns table;
  auto row = [&](const char* name, const char* key, const char* meaning) {
    table.add({name, bytes(number(totals, key)), meaning});
  };
  row("unfused", "unfused_bytes", "each definition by itself, its tensors whole");
  row("fused", "fused_bytes", "the kernels of this plan, their tensors whole");
  row("compulsory", "compulsory_bytes", "what any implementation moves");
  row("workspace", "workspace_bytes", "memory between kernels");
  out.blank();
  out.raw("traffic");
  table.write(out);
}

void warnings(const Json& report, TextWriter& out) {
  if (!report.contains("warnings") || !report["warnings"].is_array()) return;
  bool first = true;
  for (const Json& warning : report["warnings"]) {
    if (!warning.is_string()) continue;
    if (first) out.blank();
    first = false;
    out.raw("note: " + printable(warning.get<std::string>()));
  }
}

std::string change(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return "-";
  if (*before == *after) return "=";
  if (*before == 0) return "new";
  return fmt::format("{:+.1f}%", (*after / *before - 1) * 100);
}

void difference(const Json& report, const Json& base, TextWriter& out) {
  Columns totals;
  totals.add({"", "baseline", "now", "change"});
  auto row = [&](const char* name, const char* key, auto&& format) {
    auto before = number(base["totals"], key), after = number(report["totals"], key);
    totals.add({name, format(before), format(after), change(before, after)});
  };
  row("floor", "floor_us", micros);
  row("as one kernel", "fused_graph_floor_us", micros);
  row("unfused", "unfused_bytes", bytes);
  row("fused", "fused_bytes", bytes);
  row("compulsory", "compulsory_bytes", bytes);
  row("workspace", "workspace_bytes", bytes);
  out.blank();
  out.raw(fmt::format("against {} for {} on {}", text(base["input"], "file"),
                      text(base["target"], "name"), text(base["target"], "device")));
  totals.write(out);

  std::map<std::string, const Json*> known;
  for_each_kernel(base, [&](const Json& kernel) { known.emplace(text(kernel, "name"), &kernel); });
  Columns table;
  table.add({"kernel", "floor was", "is", "change", "measured was", "is", "change"});
  std::vector<const Json*> all;
  for_each_kernel(report, [&](const Json& kernel) { all.push_back(&kernel); });
  for (const Json* kernel : by_floor(std::move(all))) {
    auto at = known.find(text(*kernel, "name"));
    if (at == known.end()) {
      table.add({text(*kernel, "name"), "-", micros(floor_of(*kernel)), "new", "-",
                 micros(measured_of(*kernel)), "-"});
      continue;
    }
    double before = floor_of(*at->second), after = floor_of(*kernel);
    auto was = measured_of(*at->second), is = measured_of(*kernel);
    table.add({text(*kernel, "name"), micros(before), micros(after), change(before, after),
               micros(was), micros(is), change(was, is)});
    known.erase(at);
  }
  for (const auto& [name, kernel] : known)
    table.add(
        {name, micros(floor_of(*kernel)), "-", "gone", micros(measured_of(*kernel)), "-", "-"});
  out.blank();
  table.write(out);
}

} // namespace

std::optional<std::string> report_text(const SourceManager& sources, FileId report, FileId other,
                                       Sink& sink) {
  auto json = read_report(sources, report, sink);
  std::optional<Json> base;
  if (other) base = read_report(sources, other, sink);
  if (!json || (other && !base)) return std::nullopt;
  TextWriter out;
  verdict(*json, out);
  kernels(*json, out);
  variants(*json, out);
  waterfall(*json, out);
  if (base) difference(*json, *base, out);
  warnings(*json, out);
  return out.take();
}

} // namespace tang::report
