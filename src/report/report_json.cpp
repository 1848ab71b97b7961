// The report as a whole.
#include "base/check.h"
#include "graph/dims.h"
#include "report/json.h"
#include <algorithm>
#include <map>

namespace tang::report {

namespace {

using bound::Analysis;

/// Sizes at which totals are evaluated where dims are free.
constexpr int64_t sample_sizes[] = {128, 1024, 4096};

/// Bounds say nothing about these; the text is part of every report.
constexpr const char* scope[] = {
    "classical evaluation: algorithms with fewer products (Strassen, Winograd, FFT) are outside",
    "values of the data are not looked at: sparsity, repeated elements, and stopping early",
    "one arithmetic unit does a kernel's products: the fastest that the formats allow",
};

class Report {
public:
  /// Kernels of a variant are called `y@1`.
  Report(const ReportInput& input, std::string suffix)
      : input_(input), suffix_(std::move(suffix)), analysis_(input.bounds),
        elaborated_(input.elaborated), unfused_(bound::unfused_bytes(elaborated_)) {
    find_entries();
  }

  Json run(Json variants) {
    Numbers dims = dims_at(input_.graph, main_sample);
    Json out;
    out["schema"] = "tangc.sol/1";
    out["tool"] = {{"name", "tangc"}, {"version", input_.version}, {"options", input_.options}};
    out["input"] = {{"file", input_.file}, {"graph", input_.graph.name}, {"sha256", input_.sha256}};
    out["target"] = target_json(input_.target);
    out["dims"] = dims_json(dims);
    out["free_dims"] = free_dims();
    out["totals"] = totals(dims, true);
    out["samples"] = samples();
    out["kernels"] = kernels(dims);
    out["edges"] = edges(dims);
    out["manifest"] = manifest_json(input_);
    if (!variants.empty()) out["variants"] = std::move(variants);
    out["scope"] = scope;
    out["warnings"] = warnings();
    return out;
  }

  /// What differs from the variant for all sizes, whose graph is `general`.
  Json variant(size_t number, const graph::Graph& general) {
    Numbers dims = dims_at(input_.graph, main_sample);
    return {{"number", number},
            {"when", graph::condition_text(input_.graph, general)},
            {"dims", dims_json(dims)},
            {"free_dims", free_dims()},
            {"totals", totals(dims, true)},
            {"kernels", kernels(dims)},
            {"edges", edges(dims)},
            {"manifest", manifest_json(input_)},
            {"warnings", warnings()}};
  }

private:
  /// Kernels of the plan with the launches that run them, under names of their own.
  void find_entries() {
    auto dispatches = launches_by_plan(input_.program);
    std::map<std::string, int> uses;
    for (const bound::KernelBound& kernel : analysis_.kernels) {
      std::string name = kernel.plan->name;
      for (int n = ++uses[kernel.plan->name]; n > 1; n = uses[kernel.plan->name] += 1) {
        name = fmt::format("{}_{}", kernel.plan->name, n);
        if (!uses.contains(name)) break;
      }
      uses[name] = std::max(uses[name], 1);
      auto at = dispatches.find(static_cast<uint32_t>(entries_.size()));
      entries_.push_back({name + suffix_, &kernel, at == dispatches.end() ? nullptr : at->second});
    }
  }

  Json dims_json(std::span<const int64_t> dims) {
    Json out = Json::object();
    for (const BoundDim& dim : input_.dims) out[dim.name] = dim.value;
    for (size_t d = 0; d < dims.size(); ++d) out[input_.graph.dims[d].name] = dims[d];
    return out;
  }
  Json free_dims() {
    Json out = Json::object();
    for (const graph::Dim& dim : input_.graph.dims)
      out[dim.name] = {{"lo", dim.lo}, {"hi", dim.hi}, {"step", dim.step}};
    return out;
  }

  std::optional<int64_t> workspace(std::span<const int64_t> dims) {
    std::optional<int64_t> sum = 0;
    for (const kernel::Slot& slot : input_.program.slots) {
      auto bytes = host_value(input_.program, slot.bytes, dims);
      if (!bytes || !sum || *bytes > INT64_MAX - 255 - *sum) return std::nullopt;
      sum = *sum + (*bytes + 255) / 256 * 256;
    }
    return sum;
  }

  Json totals(std::span<const int64_t> dims, bool formulas) {
    const targets::Device& device = *input_.target.device;
    std::vector<bound::Floor> floors;
    for (const bound::KernelBound& kernel : analysis_.kernels)
      floors.push_back(floor_of(analysis_, kernel, dims, device));
    bound::Floor whole = floor_of_whole(analysis_, dims, device);
    int64_t path = critical_path_ps(analysis_, floors, dims);
    auto& f = *analysis_.formulas;
    graph::ExprId compulsory = f.sum(analysis_.whole.read_bytes, analysis_.whole.written_bytes);
    Json out;
    out["kernels"] = analysis_.kernels.size();
    out["floor_us"] = microseconds(std::max(whole.ps, path));
    out["floor_warm_us"] = microseconds(std::max(whole.warm_ps, path));
    out["fused_graph_floor_us"] = microseconds(whole.ps);
    out["fused_graph_bound_by"] = whole.bound_by;
    out["critical_path_us"] = microseconds(path);
    out["compulsory_bytes"] = amount(f.value(compulsory, dims));
    out["fused_bytes"] = amount(f.value(analysis_.fused_bytes, dims));
    out["unfused_bytes"] = amount(elaborated_.value(unfused_, dims));
    out["workspace_bytes"] = amount(workspace(dims));
    out["flops_math"] = amount(f.value(analysis_.operations.flops, dims));
    if (formulas)
      out["formulas"] = {{"compulsory_bytes", f.text(compulsory)},
                         {"fused_bytes", f.text(analysis_.fused_bytes)},
                         {"unfused_bytes", elaborated_.text(unfused_)},
                         {"flops_math", f.text(analysis_.operations.flops)}};
    return out;
  }
  Json samples() {
    Json out = Json::array();
    if (input_.graph.dims.empty()) return out;
    for (int64_t size : sample_sizes) {
      Numbers dims = dims_at(input_.graph, size);
      out.push_back({{"dims", dims_json(dims)}, {"totals", totals(dims, false)}});
    }
    return out;
  }

  Json kernels(std::span<const int64_t> dims) {
    Json out = Json::array();
    for (const KernelEntry& entry : entries_)
      out.push_back(kernel_json(input_, analysis_, entry, dims));
    return out;
  }
  Json edges(std::span<const int64_t> dims) {
    Json out = Json::array();
    for (const bound::Edge& edge : analysis_.edges)
      out.push_back({{"from", entries_[edge.from].name},
                     {"to", entries_[edge.to].name},
                     {"tensor", analysis_.formulas->graph()[edge.tensor].name},
                     {"bytes", amount(analysis_.formulas->value(edge.bytes, dims))}});
    return out;
  }
  Json warnings() {
    Json out = Json::array();
    for (const std::string& reason : analysis_.whole.reasons)
      out.push_back("the bound of the whole graph: " + reason);
    if (!input_.graph.dims.empty())
      out.push_back("dims without a value: numbers hold at the sizes shown, formulas at all sizes");
    for (const graph::Remark& remark : input_.graph.remarks) {
      Json text = "a law stopped" + place_of(remark.span) + ": " + remark.text;
      if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    }
    return out;
  }
  std::string place_of(Span span) const {
    if (!span) return "";
    const std::string& path = input_.sources.file(span.file).path;
    return fmt::format(" at {}:{}", path.substr(path.find_last_of('/') + 1),
                       input_.sources.position(span.file, span.begin).line);
  }

  const ReportInput& input_;
  std::string suffix_;
  const Analysis& analysis_;
  bound::Formulas elaborated_;
  graph::ExprId unfused_;
  std::vector<KernelEntry> entries_;
};

} // namespace

std::string report_json(std::span<const ReportInput> variants) {
  const ReportInput& general = variants.back();
  TANG_CHECK(general.target.device, "target `{}` has no device to report about",
             general.target.target->name);
  Json others = Json::array();
  for (size_t i = 0; i + 1 < variants.size(); ++i)
    others.push_back(Report(variants[i], fmt::format("@{}", i + 1)).variant(i + 1, general.graph));
  // Names of files are bytes; what is no UTF-8 is replaced.
  return Report(general, "")
             .run(std::move(others))
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string manifest_report(const ReportInput& input) {
  Json dims = Json::object();
  for (const graph::Dim& dim : input.graph.dims)
    dims[dim.name] = {{"lo", dim.lo}, {"hi", dim.hi}, {"step", dim.step}};
  Json out;
  out["schema"] = "tangc.kernels/1";
  out["tool"] = {{"name", "tangc"}, {"version", input.version}, {"options", input.options}};
  out["input"] = {{"file", input.file}, {"graph", input.graph.name}, {"sha256", input.sha256}};
  out["target"] = {{"name", input.target.target->name}};
  out["free_dims"] = std::move(dims);
  out["manifest"] = manifest_json(input);
  out["not_known"] = {"floors, least traffic and operations: kernels say how something is "
                      "computed, and no equation says what",
                      "errors of the formats: there is nothing to compare with"};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tang::report
