#include "targets/describe.h"
#include "base/check.h"
#include "base/text_writer.h"
#include "targets/embedded.h"
#include <algorithm>

namespace tang::targets {
namespace {

void add_target(std::vector<Row>& rows, const Target& target) {
  auto text = [&](std::string_view key, const std::string& value) {
    RowValue entry = value.empty() ? RowValue() : RowValue(value);
    rows.push_back({"target", std::string(key), std::move(entry), "", ""});
  };
  text("name", target.name);
  text("title", target.title);
  text("dialect", target.dialect);
  text("extension", target.extension);
  text("default_device", target.default_device);
  text("compile_flags", target.compile_flags);
  rows.push_back({"target", "printable", target.printable, "", ""});
  text("tested", target.tested);
  for (Feature feature : all_features)
    rows.push_back({"features", std::string(name_of(feature)), target.has(feature), "",
                    std::string(documentation_of(feature))});
  for (Level level : all_levels)
    rows.push_back({"hierarchy", std::string(name_of(level)),
                    std::string(name_of(target.level(level).presence)), "",
                    target.level(level).text});
  for (const LimitInfo& info : limit_rows) {
    const Figure& figure = target.limits[static_cast<size_t>(info.key)];
    rows.push_back(
        {"limits", std::string(info.name), figure.value, std::string(info.unit), figure.source});
  }
}

void add_device(std::vector<Row>& rows, const Device& device) {
  rows.push_back({"device", "name", device.name, "", ""});
  rows.push_back({"device", "title", device.title, "", ""});
  rows.push_back({"device", "tested", device.tested, "", ""});
  for (const CapacityInfo& info : capacity_rows) {
    const Figure& figure = device.capacities[static_cast<size_t>(info.key)];
    rows.push_back({"capacities", std::string(info.name), figure.value, std::string(info.unit),
                    figure.source});
  }
  for (const RoofInfo& info : roof_rows) {
    const Roof* roof = device.roof(info.key);
    if (!roof) continue;
    RowValue achievable = roof->achievable ? RowValue(*roof->achievable) : RowValue();
    std::string name(info.name), unit(info.unit);
    rows.push_back({"roofs", name + ".hard", roof->hard, unit, roof->source});
    rows.push_back({"roofs", name + ".achievable", std::move(achievable), unit, roof->source});
  }
}

/// Facts of one group, with the sources once where all rows share one.
void print_group(TextWriter& out, const Row* begin, const Row* end) {
  bool shared =
      std::all_of(begin, end, [&](const Row& row) { return row.source == begin->source; });
  size_t width = 0;
  for (const Row* row = begin; row != end; ++row) width = std::max(width, row->key.size());
  out.blank();
  if (shared && !begin->source.empty())
    out.line("{} (source: {})", begin->group, begin->source);
  else
    out.line("{}", begin->group);
  out.indent();
  for (const Row* row = begin; row != end; ++row) {
    std::string line = fmt::format("{:<{}}  {}", row->key, width, text_of(row->value));
    bool known = !std::holds_alternative<std::monostate>(row->value);
    if (known && !row->unit.empty()) line += " " + row->unit;
    // A roof has two rows and one source: it is said once.
    bool said = shared || (row != begin && row->source == row[-1].source && row->group == "roofs");
    if (!said && !row->source.empty()) line += "  [" + row->source + "]";
    out.raw(line);
  }
  out.dedent();
}

} // namespace

std::vector<Row> rows_of(const TargetSpec& spec) {
  TANG_CHECK(spec.target, "rows of no target");
  std::vector<Row> rows;
  add_target(rows, *spec.target);
  if (spec.device) add_device(rows, *spec.device);
  return rows;
}

std::string text_of(const RowValue& value) {
  return std::visit(Overload{[](std::monostate) { return std::string("-"); },
                             [](bool v) { return std::string(v ? "yes" : "no"); },
                             [](int64_t v) { return fmt::format("{}", v); },
                             [](double v) { return fmt::format("{}", v); },
                             [](const std::string& v) { return v; }},
                    value);
}

std::string describe_target(const TargetSpec& spec) {
  std::vector<Row> rows = rows_of(spec);
  TextWriter out;
  out.line("{}: {}", spec.target->name, spec.target->title);
  if (spec.device) out.line("bounds are about {}: {}", spec.device->name, spec.device->title);
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && rows[end].group == rows[begin].group) ++end;
    print_group(out, rows.data() + begin, rows.data() + end);
  }
  return out.take();
}

std::string describe_targets() {
  size_t width = 0;
  for (const auto& row : embedded_targets()) width = std::max(width, row.name.size());
  for (const auto& row : embedded_devices()) width = std::max(width, row.name.size());
  TextWriter out;
  out.raw("targets (`--target=T` or `--target=T:device`)");
  out.indent();
  for (const auto& row : embedded_targets()) {
    const Target& target = row.get();
    std::string device =
        target.default_device.empty() ? "" : ", bounds for " + target.default_device;
    out.line("{:<{}}  {} ({}{}); tested: {}", target.name, width, target.title, target.extension,
             device, target.tested);
  }
  out.dedent();
  out.blank();
  out.raw("devices");
  out.indent();
  for (const auto& row : embedded_devices()) {
    const Device& device = row.get();
    out.line("{:<{}}  {}; runs {}; figures: {}", device.name, width, device.title,
             fmt::join(device.runs, " "), device.tested);
  }
  out.dedent();
  out.blank();
  out.raw("`tangc targets T` shows every limit and figure of one of them, with its source.");
  return out.take();
}

} // namespace tang::targets
