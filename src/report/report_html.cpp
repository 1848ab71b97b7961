// Reports as one page of HTML: no script, nothing from elsewhere, the same bytes for the same
// report.
#include "report/html.h"
#include <algorithm>

namespace tang::report {

namespace {

std::string figure(const std::string& value, std::string_view meaning) {
  return fmt::format("<b>{}</b>{}", value, meaning);
}

/// One report on a page, or one of its variants, whose kernels are numbered on.
class Page {
public:
  Page(const Json& report, const Json* base) : report_(report), base_(base) {}

  std::string run() {
    head();
    traffic();
    kernels(report_, "Kernels");
    edges(report_);
    if (base_) difference();
    sizes();
    sections(report_);
    variants();
    notes();
    device();
    out_ += "<p class=\"soft\">" + tool() + "</p>\n</body>\n</html>\n";
    return std::move(out_);
  }

private:
  void heading(std::string_view text) { out_ += fmt::format("<h2>{}</h2>\n", text); }

  void head() {
    const Json &input = report_["input"], &target = report_["target"], &totals = report_["totals"];
    std::string graph = text(input, "graph"), file = text(input, "file");
    std::string what = graph.empty() ? file : graph;
    std::string on = fmt::format("{} on {}", text(target, "name"), text(target, "device"));
    out_ += page_head(fmt::format("{} for {}: speed of light", what, on));
    out_ += fmt::format("<h1>{} for {}</h1>\n", escaped(what), escaped(on));
    std::string dims = dims_text(report_);
    out_ += fmt::format("<p class=\"soft\">{}, {}{}</p>\n", escaped(file),
                        kernel_count(report_["kernels"].size()),
                        dims.empty() ? "" : ", numbers at" + escaped(dims));
    std::string bound = text(totals, "fused_graph_bound_by");
    std::vector<std::string> figures{
        figure(micros(number(totals, "floor_us")), "at least, cold"),
        figure(micros(number(totals, "floor_warm_us")), "at least, inputs in the cache"),
        figure(micros(number(totals, "fused_graph_floor_us")),
               "at least as one kernel" + (bound.empty() ? "" : ", bound by " + escaped(bound))),
        figure(count(number(totals, "flops_math")), "operations"),
        figure(bytes(number(totals, "workspace_bytes")), "workspace")};
    MeasuredTotal measured = measured_total(report_);
    if (measured.us) figures.insert(figures.begin(), figure(micros(measured.us), "measured"));
    std::string items = list("ul", figures);
    out_ += "<ul class=\"figures\"" + items.substr(3);
    if (measured.violated)
      out_ += "<p class=\"alarm\">A floor is violated: a measurement is below it.</p>\n";
  }

  void traffic() {
    const Json& totals = report_["totals"];
    const Json& formulas = member(totals, "formulas");
    Rows rows{{"", "", "bytes", "", ""}};
    double full = 1;
    for (const char* key : {"unfused_bytes", "fused_bytes", "compulsory_bytes"})
      full = std::max(full, number(totals, key).value_or(0));
    auto row = [&](const char* name, const char* key, const char* meaning, const char* kind) {
      rows.push_back({name, bar(number(totals, key).value_or(0) / full, kind),
                      bytes(number(totals, key)), meaning, code(text(formulas, key))});
    };
    row("unfused", "unfused_bytes", "each definition by itself, its tensors whole", "");
    row("fused", "fused_bytes", "the kernels of this plan, their tensors whole", "floor");
    row("compulsory", "compulsory_bytes", "what any implementation moves", "bound");
    heading("Traffic");
    out_ += table("tbntt", rows);
  }

  void kernels(const Json& of, std::string_view title) {
    Rows rows{{"kernel", "", "floor", "warm", "least traffic", "operations", "measured", "reached",
               "bound by", "defined at"}};
    double full = 0;
    for (const Json& kernel : of["kernels"]) full = std::max(full, floor_of(kernel));
    for (const Json* kernel : by_floor(of["kernels"])) {
      size_t number_of_it = first_ + static_cast<size_t>(kernel - &of["kernels"][0]);
      rows.push_back(
          {fmt::format("<a href=\"#k{}\">{}</a>", number_of_it, escaped(text(*kernel, "name"))),
           bar(floor_of(*kernel) / full, "floor"), micros(floor_of(*kernel)),
           micros(number((*kernel)["floor"], "warm_us")), bytes(traffic_of(*kernel, "compulsory")),
           count(number(member(*kernel, "flops_math"), "value")), micros(measured_of(*kernel)),
           reached(*kernel), escaped(text((*kernel)["floor"], "bound_by")),
           escaped(place(*kernel))});
    }
    heading(title);
    out_ += table("tbnnnnnntt", rows);
  }

  /// What kernels hand on to each other.
  void edges(const Json& of) {
    const Json& all = member(of, "edges");
    if (!all.is_array() || all.empty()) return;
    Rows rows{{"from", "to", "tensor", "", "bytes"}};
    double full = 1;
    for (const Json& edge : all) full = std::max(full, number(edge, "bytes").value_or(0));
    for (const Json& edge : all)
      rows.push_back({escaped(text(edge, "from")), escaped(text(edge, "to")),
                      code(text(edge, "tensor")), bar(number(edge, "bytes").value_or(0) / full, ""),
                      bytes(number(edge, "bytes"))});
    heading("Between kernels");
    out_ += table("tttbn", rows);
  }

  void difference() {
    const Json &input = (*base_)["input"], &target = (*base_)["target"];
    auto safe = [](Rows rows) {
      for (auto& row : rows)
        for (std::string& cell : row) cell = escaped(cell);
      return rows;
    };
    heading(fmt::format("Against {} for {} on {}", escaped(text(input, "file")),
                        escaped(text(target, "name")), escaped(text(target, "device"))));
    out_ += table("tnnn", safe(differing_totals(report_, *base_)));
    out_ += table("tnnnnnn", safe(differing_kernels(report_, *base_)));
  }

  void sizes() {
    const Json& samples = member(report_, "samples");
    if (!samples.is_array() || samples.empty()) return;
    Rows rows{{"at", "floor", "warm", "as one kernel", "unfused", "fused", "compulsory"}};
    for (const Json& sample : samples) {
      const Json& totals = member(sample, "totals");
      std::string dims = dims_text(sample);
      rows.push_back({code(dims.substr(dims.empty() ? 0 : 1)), micros(number(totals, "floor_us")),
                      micros(number(totals, "floor_warm_us")),
                      micros(number(totals, "fused_graph_floor_us")),
                      bytes(number(totals, "unfused_bytes")), bytes(number(totals, "fused_bytes")),
                      bytes(number(totals, "compulsory_bytes"))});
    }
    heading("At other sizes");
    out_ += table("tnnnnnn", rows);
  }

  void sections(const Json& of) {
    if (of["kernels"].empty()) return;
    heading("Each kernel");
    for (const Json& kernel : of["kernels"])
      out_ += kernel_section(kernel, fmt::format("k{}", first_++));
  }

  /// Sizes with code of their own.
  void variants() {
    const Json& all = member(report_, "variants");
    if (!all.is_array()) return;
    size_t position = 0;
    for (const Json& variant : all) {
      const Json& totals = variant["totals"];
      std::string dims = dims_text(variant);
      kernels(variant, fmt::format("Variant {}: {}", ++position, escaped(text(variant, "when"))));
      out_ += fmt::format(
          "<p class=\"soft\">{}, at least {} cold, {} warm{}</p>\n",
          kernel_count(variant["kernels"].size()), micros(number(totals, "floor_us")),
          micros(number(totals, "floor_warm_us")), dims.empty() ? "" : ", at" + escaped(dims));
      edges(variant);
      sections(variant);
    }
  }

  void notes() {
    for (auto [key, title] : {std::pair{"warnings", "Notes"}, {"scope", "What no floor counts"}}) {
      std::vector<std::string> items;
      const Json& all = member(report_, key);
      if (all.is_array())
        for (const Json& note : all)
          if (note.is_string()) items.push_back(prose(printable(note.get<std::string>())));
      if (items.empty()) continue;
      heading(title);
      out_ += list("ul", items);
    }
  }

  void device() {
    const Json& roofs = member(report_["target"], "roofs");
    if (!roofs.is_object() || roofs.empty()) return;
    Rows rows{{"roof", "figure", "", "from"}};
    for (const auto& [name, roof] : roofs.items()) {
      auto hard = number(roof, "hard");
      std::string bound = text(roof, "bound");
      rows.push_back({code(printable(name)), hard ? fmt::format("{:.4g}", *hard) : "-",
                      bound.empty() ? "" : "at " + escaped(bound), escaped(text(roof, "source"))});
    }
    heading("The device");
    out_ += details("figures behind the floors, with their sources", table("tntt", rows));
  }

  std::string tool() const {
    const Json& tool = member(report_, "tool");
    std::string out = escaped(fmt::format("{} {}", text(tool, "name"), text(tool, "version")));
    const Json& options = member(tool, "options");
    if (options.is_array())
      for (const Json& option : options)
        if (option.is_string()) out += " " + code(printable(option.get<std::string>()));
    return out + ", input SHA-256 " + code(text(report_["input"], "sha256"));
  }

  const Json& report_;
  const Json* base_;
  size_t first_ = 0; ///< number of the next section's first kernel
  std::string out_;
};

} // namespace

std::string report_html(std::span<const ReportInput> variants) {
  Json report = Json::parse(report_json(variants));
  return Page(report, nullptr).run();
}

std::optional<std::string> report_html(const SourceManager& sources, FileId report, FileId other,
                                       Sink& sink) {
  auto json = read_report(sources, report, sink);
  std::optional<Json> base;
  if (other) base = read_report(sources, other, sink);
  if (!json || (other && !base)) return std::nullopt;
  return Page(*json, base ? &*base : nullptr).run();
}

} // namespace tang::report
