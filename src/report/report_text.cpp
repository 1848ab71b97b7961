// Reports as tables.
#include "base/text_writer.h"
#include "report/shown.h"
#include <algorithm>

namespace tang::report {

namespace {

/// Text in columns; the first column stands left, numbers right.
class Columns {
public:
  explicit Columns(Rows rows = {}) : rows_(std::move(rows)) {}
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
  Rows rows_;
};

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
  MeasuredTotal measured = measured_total(report);
  if (measured.us) out.raw(fmt::format("  measured {}", micros(measured.us)));
  if (measured.violated) out.raw("  A FLOOR IS VIOLATED: a measurement is below it");
}

void kernels(const Json& report, TextWriter& out) {
  Columns table;
  table.add({"kernel", "floor", "warm", "least traffic", "operations", "measured", "reached",
             "bound by", "defined at"});
  for (const Json* kernel : by_floor(report["kernels"]))
    table.add({text(*kernel, "name"), micros(floor_of(*kernel)),
               micros(number((*kernel)["floor"], "warm_us")),
               bytes(traffic_of(*kernel, "compulsory")),
               count(number(member(*kernel, "flops_math"), "value")), micros(measured_of(*kernel)),
               reached(*kernel), text((*kernel)["floor"], "bound_by"), place(*kernel)});
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

void difference(const Json& report, const Json& base, TextWriter& out) {
  out.blank();
  out.raw(fmt::format("against {} for {} on {}", text(base["input"], "file"),
                      text(base["target"], "name"), text(base["target"], "device")));
  Columns(differing_totals(report, base)).write(out);
  out.blank();
  Columns(differing_kernels(report, base)).write(out);
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
