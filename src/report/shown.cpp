#include "report/shown.h"
#include <algorithm>

namespace tang::report {

const Json& member(const Json& json, const char* key) {
  static const Json none;
  if (!json.is_object()) return none;
  auto at = json.find(key);
  return at == json.end() ? none : *at;
}
std::optional<double> number(const Json& json, const char* key) {
  const Json& value = member(json, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}
std::string text(const Json& json, const char* key) {
  const Json& value = member(json, key);
  return value.is_string() ? printable(value.get<std::string>()) : "";
}

namespace {

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

} // namespace

std::string bytes(std::optional<double> value) {
  return scaled(value, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}, 1024);
}
std::string count(std::optional<double> value) {
  return scaled(value, {"", "K", "M", "G", "T", "P", "E"}, 1000);
}
std::string micros(std::optional<double> value) {
  return scaled(value, {"us", "ms", "s"}, 1000);
}
std::string kernel_count(size_t kernels) {
  return fmt::format("{} kernel{}", kernels, kernels == 1 ? "" : "s");
}
std::string change(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return "-";
  if (*before == *after) return "=";
  if (*before == 0) return "new";
  return fmt::format("{:+.1f}%", (*after / *before - 1) * 100);
}

double floor_of(const Json& kernel) {
  return *number(member(kernel, "floor"), "us");
}
std::optional<double> measured_of(const Json& kernel) {
  return number(member(kernel, "measured"), "us");
}
std::string reached(const Json& kernel) {
  auto sol = number(member(kernel, "measured"), "sol");
  return measured_of(kernel) && sol ? fmt::format("{:.0f}%", *sol * 100) : "-";
}
MeasuredTotal measured_total(const Json& report) {
  MeasuredTotal out{0, false};
  for (const Json& kernel : member(report, "kernels")) {
    auto us = measured_of(kernel);
    out.us = out.us && us ? std::optional(*out.us + *us) : std::nullopt;
    out.violated |= us && member(member(kernel, "measured"), "bound_violated") == true;
  }
  if (member(report, "kernels").empty()) out.us.reset();
  return out;
}
double traffic_of(const Json& kernel, const char* key) {
  double sum = 0;
  for (const Json& entry : member(member(kernel, "traffic"), "per_tensor"))
    sum += number(entry, key).value_or(0);
  return sum;
}

namespace {

std::vector<const Json*> longest_first(std::vector<const Json*> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Json* a, const Json* b) { return floor_of(*a) > floor_of(*b); });
  return kernels;
}

} // namespace

std::vector<const Json*> by_floor(const Json& kernels) {
  std::vector<const Json*> all;
  for (const Json& kernel : kernels) all.push_back(&kernel);
  return longest_first(std::move(all));
}
std::string place(const Json& kernel) {
  const Json& loc = member(kernel, "loc");
  auto line = number(loc, "line");
  return line ? fmt::format("{}:{:.0f}", text(loc, "file"), *line) : "";
}
std::string dims_text(const Json& report) {
  std::string text;
  const Json& dims = member(report, "dims");
  if (dims.is_object())
    for (const auto& [name, value] : dims.items())
      if (value.is_number()) text += fmt::format(" {}={}", printable(name), value.dump());
  return text;
}

Rows differing_totals(const Json& report, const Json& base) {
  Rows rows{{"", "baseline", "now", "change"}};
  auto row = [&](const char* name, const char* key, auto&& format) {
    auto before = number(base["totals"], key), after = number(report["totals"], key);
    rows.push_back({name, format(before), format(after), change(before, after)});
  };
  row("floor", "floor_us", micros);
  row("as one kernel", "fused_graph_floor_us", micros);
  row("unfused", "unfused_bytes", bytes);
  row("fused", "fused_bytes", bytes);
  row("compulsory", "compulsory_bytes", bytes);
  row("workspace", "workspace_bytes", bytes);
  return rows;
}

Rows differing_kernels(const Json& report, const Json& base) {
  std::map<std::string, const Json*> known;
  for_each_kernel(base, [&](const Json& kernel) { known.emplace(text(kernel, "name"), &kernel); });
  Rows rows{{"kernel", "floor was", "is", "change", "measured was", "is", "change"}};
  std::vector<const Json*> all;
  for_each_kernel(report, [&](const Json& kernel) { all.push_back(&kernel); });
  for (const Json* kernel : longest_first(std::move(all))) {
    auto at = known.find(text(*kernel, "name"));
    if (at == known.end()) {
      rows.push_back({text(*kernel, "name"), "-", micros(floor_of(*kernel)), "new", "-",
                      micros(measured_of(*kernel)), "-"});
      continue;
    }
    double before = floor_of(*at->second), after = floor_of(*kernel);
    auto was = measured_of(*at->second), is = measured_of(*kernel);
    rows.push_back({text(*kernel, "name"), micros(before), micros(after), change(before, after),
                    micros(was), micros(is), change(was, is)});
    known.erase(at);
  }
  for (const auto& [name, kernel] : known)
    rows.push_back(
        {name, micros(floor_of(*kernel)), "-", "gone", micros(measured_of(*kernel)), "-", "-"});
  return rows;
}

} // namespace tang::report
