// `tangc report`: tables from the JSON alone, so that reports of other versions can be read.
#include "driver/files.h"
#include "driver/verbs.h"
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace tang::driver {

namespace {

using Json = nlohmann::ordered_json;

std::optional<Json> read_report(Session& session, const std::string& path) {
  auto text = read_file(path);
  if (!text) {
    session.sink.report(Kind::cannot_read, {}, "cannot read `{}`: {}", path, last_error());
    return std::nullopt;
  }
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != "tangc.sol/1") {
    session.sink.report(Kind::report_file, {}, "`{}` is no report of schema `tangc.sol/1`", path);
    return std::nullopt;
  }
  return json;
}

/// The number at a JSON pointer; nothing where there is none (symbolic dims).
std::optional<double> number(const Json& json, const char* pointer) {
  Json::json_pointer at(pointer);
  if (!json.contains(at) || !json[at].is_number()) return std::nullopt;
  return json[at].get<double>();
}

std::string text_of(const Json& json, const char* pointer) {
  Json::json_pointer at(pointer);
  return json.contains(at) && json[at].is_string() ? json[at].get<std::string>() : "-";
}

std::string shown(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

/// Kernels by name, in the order of the report.
std::vector<std::pair<std::string, const Json*>> kernels_of(const Json& report) {
  std::vector<std::pair<std::string, const Json*>> kernels;
  if (report.contains("kernels") && report["kernels"].is_array())
    for (const Json& kernel : report["kernels"])
      if (kernel.is_object()) kernels.emplace_back(text_of(kernel, "/name"), &kernel);
  return kernels;
}

std::string one_report(const Json& report) {
  std::string text =
      fmt::format("{} for {} ({})\n", text_of(report, "/input/file"),
                  text_of(report, "/target/name"), text_of(report, "/target/device"));
  for (const char* key : {"kernels", "floor_us", "floor_warm_us", "fused_graph_floor_us",
                          "compulsory_bytes", "unfused_bytes", "workspace_bytes"})
    text += fmt::format("  {:<22}{}\n", key,
                        shown(number(report, fmt::format("/totals/{}", key).c_str())));
  text += fmt::format("\n{:<28}{:>14}{:>12}  {:<10}{:>14}\n", "kernel", "floor us", "bound by", "",
                      "operations");
  for (const auto& [name, kernel] : kernels_of(report))
    text += fmt::format("{:<28}{:>14}{:>12}  {:<10}{:>14}\n", name,
                        shown(number(*kernel, "/floor/us")), text_of(*kernel, "/floor/bound_by"),
                        "", shown(number(*kernel, "/flops_math/value")));
  return text;
}

std::string change(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *before == 0) return "";
  return fmt::format("{:+.1f} %", (*after / *before - 1) * 100);
}

std::string difference(const Json& before, const Json& after) {
  std::string text;
  auto line = [&](const std::string& name, std::optional<double> a, std::optional<double> b) {
    if (a != b)
      text += fmt::format("{:<40}{:>14}{:>14}  {}\n", name, shown(a), shown(b), change(a, b));
  };
  for (const char* key : {"kernels", "floor_us", "floor_warm_us", "fused_graph_floor_us",
                          "compulsory_bytes", "unfused_bytes", "workspace_bytes"}) {
    std::string pointer = fmt::format("/totals/{}", key);
    line(fmt::format("totals.{}", key), number(before, pointer.c_str()),
         number(after, pointer.c_str()));
  }
  std::map<std::string, const Json*> old;
  for (const auto& [name, kernel] : kernels_of(before)) old[name] = kernel;
  for (const auto& [name, kernel] : kernels_of(after)) {
    const Json none = Json::object();
    const Json& was = old.contains(name) ? *old[name] : none;
    line(name + ".floor_us", number(was, "/floor/us"), number(*kernel, "/floor/us"));
    line(name + ".operations", number(was, "/flops_math/value"),
         number(*kernel, "/flops_math/value"));
    old.erase(name);
  }
  for (const auto& [name, kernel] : old) line(name + ".floor_us", number(*kernel, "/floor/us"), {});
  return text.empty() ? "no difference\n"
                      : fmt::format("{:<40}{:>14}{:>14}\n", "", "before", "after") + text;
}

} // namespace

void show_report(Session& session) {
  const Arguments& arguments = session.arguments;
  for (OptionId id : {OptionId::measured, OptionId::require_sol})
    if (arguments.has(id))
      session.sink.report(Kind::not_in_this_version, {}, "`{}` is not part of this version",
                          row_of(id).name());
  if (!session.sink.ok()) return;
  std::vector<Json> reports;
  for (const std::string& path : arguments.operands) {
    auto report = read_report(session, path);
    if (!report) return;
    reports.push_back(std::move(*report));
  }
  print_text(session,
             reports.size() == 1 ? one_report(reports[0]) : difference(reports[0], reports[1]));
}

} // namespace tang::driver
