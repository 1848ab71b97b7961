// One kernel of the report.
#include "base/check.h"
#include "report/json.h"
#include <algorithm>
#include <set>

namespace tang::report {
using bound::Formulas;
using bound::KernelBound;
using graph::Comprehension;
using graph::TensorId;

namespace {

class KernelWriter {
public:
  KernelWriter(const ReportInput& input, const bound::Analysis& analysis, const KernelEntry& entry,
               std::span<const int64_t> dims)
      : input_(input), analysis_(analysis), entry_(entry), bound_(*entry.bound), dims_(dims),
        f_(*analysis.formulas), graph_(f_.graph()) {
    for (const graph::Node* node : bound_.nodes)
      if (const auto* c = std::get_if<Comprehension>(&node->definition)) nodes_.push_back(c);
  }

  Json run() {
    Json out;
    out["name"] = entry_.name;
    out["loc"] = loc();
    out["covers"] = covers();
    out["derivation"] = derivation();
    out["launches"] = quantity(bound_.launches);
    out["space"] = space();
    out["flops_math"] = quantity(bound_.operations.flops);
    out["special_math"] = quantity(bound_.operations.special);
    out["integer_math"] = quantity(bound_.operations.integer);
    out["traffic"] = {
        {"per_tensor", per_tensor()}, {"levels", Json::array()}, {"curve", Json::array()}};
    out["certificate"] = {
        {"kind", "compulsory"}, {"applies", true}, {"conditions", bound_.traffic.reasons}};
    out["floor"] = floor();
    out["estimate"] = estimate();
    out["schedule"] = schedule();
    out["resources"] = resources();
    out["access"] = access();
    out["precision"] = precision();
    out["error"] = error();
    out["measured"] = nullptr;
    out["not_modelled"] = not_modelled();
    return out;
  }

private:
  Json quantity(graph::ExprId id) {
    return {{"formula", f_.text(id)}, {"value", amount(f_.value(id, dims_))}};
  }
  const std::string& name_of(TensorId id) const { return graph_[id].name; }

  /// The equation behind an output: an output line is a definition of its own, over one of the same
  /// name.
  Span equation_of(TensorId output) const {
    const graph::Graph& written = input_.elaborated;
    for (const graph::Node& node : written.nodes)
      for (TensorId id : graph::defines_of(node))
        if (written[id].name == name_of(output)) return node.span;
    return {};
  }
  Json loc() {
    for (const graph::Node* node : bound_.nodes) {
      Span span = node->span;
      for (TensorId id : graph::defines_of(*node))
        if (graph_[id].kind == graph::TensorKind::output)
          if (Span equation = equation_of(id)) span = equation;
      if (!span) continue;
      const SourceFile& file = input_.sources.file(span.file);
      LineColumn at = input_.sources.position(span.file, span.begin);
      return {{"file", file.path.substr(file.path.find_last_of('/') + 1)},
              {"line", at.line},
              {"col", at.column}};
    }
    return nullptr;
  }
  Json covers() {
    Json names = Json::array();
    for (const Comprehension* node : nodes_)
      for (const graph::Result& result : node->results) names.push_back(name_of(result.tensor));
    return names;
  }
  Json derivation() {
    Json sentences = Json::array();
    for (const graph::Node* node : bound_.nodes)
      for (const std::string& sentence : node->derivation) sentences.push_back(sentence);
    return sentences;
  }
  Json space() {
    Json points = Json::object(), reduce = Json::object();
    auto add = [&](Json& to, const graph::Axis& axis) {
      std::string name = axis.name.empty() ? fmt::format("i{}", axis.index.value) : axis.name;
      if (!to.contains(name)) to[name] = f_.text(axis.extent);
    };
    for (const Comprehension* node : nodes_) {
      for (const graph::Axis& axis : node->points) add(points, axis);
      if (node->reduction)
        for (const graph::Axis& axis : node->reduction->axes) add(reduce, axis);
    }
    return {{"points", points}, {"reduce", reduce}};
  }

  Json tensor_entry(TensorId id, bool written) {
    const bound::TensorTraffic* least = nullptr;
    for (const auto& entry : bound_.traffic.tensors)
      if (entry.tensor == id && entry.written == written) least = &entry;
    graph::ExprId whole = bytes_of(id);
    return {{"tensor", name_of(id)},
            {"dir", written ? "w" : "r"},
            {"format", std::string(graph::info(graph_[id].type).name)},
            {"compulsory", least ? amount(f_.value(least->bytes, dims_)) : Json(0)},
            {"formula", least ? f_.text(least->bytes) : "0"},
            {"whole", amount(f_.value(whole, dims_))},
            {"scheduled", nullptr}};
  }
  graph::ExprId bytes_of(TensorId id) {
    return analysis_.formulas->bytes(graph_[id].type, bound::elements_of(*analysis_.formulas, id));
  }
  Json per_tensor() {
    Json out = Json::array();
    for (TensorId id : bound_.reading) out.push_back(tensor_entry(id, false));
    for (TensorId id : bound_.leaving) out.push_back(tensor_entry(id, true));
    return out;
  }

  Json floor() {
    bound::Floor floor = floor_of(analysis_, bound_, dims_, *input_.target.device);
    Json terms = Json::array();
    for (const bound::Term& term : floor.terms)
      terms.push_back({{"name", term.name},
                       {"us", microseconds(term.ps)},
                       {"kind", term.kind == bound::TermKind::certified ? "certified" : "assumed"},
                       {"source", term.source}});
    return {{"us", microseconds(floor.ps)},
            {"warm_us", microseconds(floor.warm_ps)},
            {"bound_by", floor.bound_by},
            {"terms", terms}};
  }

  static std::string shown(plan::Precision value) { return std::string(plan::name(value)); }
  template <class T>
  static T shown(T value) {
    return value;
  }
  Json fields_json(const plan::Fields& fields) {
    Json out = Json::object();
#define TANG_FIELD(type, name, initial, least, greatest, readers, text)                            \
  out[#name] = shown(fields.name);
#include "plan/fields.def"
#undef TANG_FIELD
    return out;
  }
  /// Of one launch, as the floor is.
  Json estimate() {
    int64_t ns = bound_.plan->modelled_ns;
    return {{"us", ns > 0 ? Json(microseconds(1000 * ns)) : Json()}, {"kind", "model"}};
  }
  Json schedule() {
    Json variants = Json::array();
    for (const plan::Variant& variant : bound_.plan->variants) {
      Json when = Json::array();
      for (const plan::Fact& fact : variant.when) {
        std::string extent = f_.text(fact.extent);
        when.push_back(fact.kind == plan::Fact::Kind::divisible
                           ? fmt::format("{} % {} == 0", extent, fact.value)
                           : fmt::format("{} <= {}", extent, fact.value));
      }
      variants.push_back({{"when", when}, {"fields", fields_json(variant.fields)}});
    }
    return {{"emitter", std::string(plan::name(bound_.plan->emitter))},
            {"reason", bound_.plan->reason},
            {"variants", variants}};
  }

  /// The variant that runs without conditions on dims, or the last.
  const kernel::Variant* general() const {
    if (!entry_.dispatch || entry_.dispatch->variants.empty()) return nullptr;
    return &entry_.dispatch->variants.back();
  }
  Json resources() {
    const kernel::Variant* variant = general();
    if (!variant)
      return {{"grid", ""}, {"threads", 0}, {"shared_bytes", 0}, {"registers_declared", 0}};
    const kernel::Kernel& kernel = input_.program.kernels[variant->kernel.value];
    std::string grid;
    for (kernel::ValueId extent : variant->blocks)
      grid += (grid.empty() ? "" : " x ") + host_text(input_.program, extent);
    return {{"grid", grid.empty() ? "1" : grid},
            {"threads", kernel.thread_count()},
            {"shared_bytes", shared_bytes(kernel)},
            {"registers_declared", registers(kernel)}};
  }
  /// 32-bit words of the register tensors that the kernel declares.
  static int64_t registers(const kernel::Kernel& kernel) {
    int64_t words = 0;
    for (const kernel::Tensor& tensor : kernel.tensors) {
      if (tensor.memory != kernel::Memory::registers) continue;
      int64_t elements = 1;
      for (kernel::ValueId extent : tensor.shape)
        elements *= kernel.values.as_integer(extent).value_or(1);
      int bits = graph::info(tensor.type).bits;
      words += kernel::is_fragment(tensor) ? elements * bits / 32 : elements * (bits > 32 ? 2 : 1);
    }
    return words;
  }

  /// The widest move of each global tensor.
  Json access() {
    Json out = Json::array();
    const kernel::Variant* variant = general();
    if (!variant) return out;
    const kernel::Kernel& kernel = input_.program.kernels[variant->kernel.value];
    std::map<kernel::TensorId, int> widths;
    auto note = [&](const kernel::Ref& ref, int width) {
      if (kernel[ref.tensor].memory != kernel::Memory::global) return;
      int& known = widths[ref.tensor];
      known = std::max(known, width);
    };
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
      if (const auto* load = std::get_if<kernel::Load>(&stmt.node)) note(load->src, 1);
      if (const auto* store = std::get_if<kernel::Store>(&stmt.node)) note(store->dst, 1);
      if (const auto* copy = std::get_if<kernel::Copy>(&stmt.node))
        note(copy->src, copy->width), note(copy->dst, copy->width);
      if (const auto* atom = std::get_if<kernel::Atom>(&stmt.node))
        for (size_t i = 0; i < atom->operands.size(); ++i)
          note(atom->operands[i], atom->row->operands[i].values);
    });
    for (size_t k = 0; k < kernel.params.size(); ++k) {
      auto at = widths.find(kernel.params[k]);
      if (at == widths.end() || k >= variant->bindings.size()) continue;
      const kernel::Buffer& buffer = input_.program.buffers[variant->bindings[k].buffer.value];
      out.push_back({{"tensor", buffer.name},
                     {"vector_bytes", graph::bytes_of(buffer.type, at->second)},
                     {"coalesced", nullptr},
                     {"sector_efficiency", nullptr},
                     {"bank_conflicts", nullptr}});
    }
    return out;
  }

  /// The last result as the input states it.
  const graph::Tensor& stated() const {
    // No law changes the order of outputs.
    TensorId result = nodes_.back()->results.back().tensor;
    const graph::Graph& written = input_.elaborated;
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      if (graph_.outputs[i] == result) return written[report::stated(written, written.outputs[i])];
    return graph_[result];
  }
  Json precision() {
    const graph::Tensor& tensor = graph_[nodes_.back()->results.back().tensor];
    std::string accumulate = "f32";
    for (const Comprehension* node : nodes_)
      for (const graph::Result& result : node->results)
        if (graph_[result.tensor].type == graph::ElemType::f64) accumulate = "f64";
    for (TensorId id : bound_.reading)
      if (graph_[id].type == graph::ElemType::f64) accumulate = "f64";
    if (graph::scalar_of(tensor.type) != graph::Scalar::real) accumulate = "exact";
    if (auto format = stated().accumulate) accumulate = graph::info(*format).name;
    return {{"store", std::string(graph::info(tensor.type).name)},
            {"accumulate", accumulate},
            {"operands", input_.native_operands ? "native" : "exact"},
            {"rounded", rounded()},
            {"tf32", tf32()},
            {"split", split()}};
  }
  /// How products of f32 run as sums over parts: each way once (the law split_precision).
  Json split() const {
    std::set<std::string> ways;
    for (const plan::Variant& variant : bound_.plan->variants)
      if (plan::is_split(variant.fields.precision))
        ways.emplace(plan::name(variant.fields.precision));
    return ways;
  }
  std::string tf32() const {
    const auto& variants = bound_.plan->variants;
    bool used = std::any_of(variants.begin(), variants.end(), [](const plan::Variant& variant) {
      return variant.fields.precision == plan::Precision::tf32;
    });
    return used ? "used" : input_.allow_tf32 ? "allowed, not used" : "not allowed";
  }
  /// The formats that the kernel rounds computed factors of products to (language.md 5, operand
  /// rule).
  Json rounded() {
    std::set<std::string> formats;
    if (const kernel::Variant* variant = general()) {
      const kernel::Kernel& kernel = input_.program.kernels[variant->kernel.value];
      kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        const auto* copy = std::get_if<kernel::Copy>(&stmt.node);
        if (copy && kernel::is_fragment(kernel[copy->dst.tensor]))
          formats.emplace(graph::info(kernel[copy->dst.tensor].type).name);
      });
    }
    return formats;
  }
  Json error() {
    const graph::Tensor& tensor = stated();
    const PredictedError* predicted = nullptr;
    for (size_t i = 0; i < input_.errors.size(); ++i)
      if (graph_.outputs[i] == nodes_.back()->results.back().tensor) predicted = &input_.errors[i];
    auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
    return {{"budget_rel", number(tensor.budget_rel)},
            {"budget_abs", number(tensor.budget_abs)},
            {"predicted_rel", predicted ? Json(predicted->relative) : Json()},
            {"method", predicted ? "emulated" : "none"}};
  }

  Json not_modelled() {
    Json out = Json::array();
    for (const std::string& reason : bound_.operations.reasons) out.push_back(reason);
    graph::ExprId counted = f_.number(0);
    for (const auto& contraction : bound_.contractions)
      if (bound::fastest_unit(*input_.target.device, contraction))
        counted = f_.sum(counted, f_.product(f_.number(2), contraction.points));
      else
        out.push_back(fmt::format("no roof of this device bounds the products of `{}`",
                                  name_of(contraction.result)));
    // Products and sums that no certain contraction holds.
    auto all = f_.value(bound_.operations.flops, dims_), some = f_.value(counted, dims_);
    if (all && some && *some < *all)
      out.push_back(fmt::format("the floor counts {} of {} operations: the products of two tensors "
                                "that are summed, which no order of evaluation avoids",
                                *some, *all));
    out.push_back("traffic above compulsory: capacity of caches, registers and shared memory");
    const bool modelled = bound_.plan->modelled_ns > 0;
    out.push_back(std::string(modelled ? "" : "the time that the chosen schedule takes; ") +
                  "coalescing, sectors, bank conflicts");
    return out;
  }

  const ReportInput& input_;
  const bound::Analysis& analysis_;
  const KernelEntry& entry_;
  const KernelBound& bound_;
  std::span<const int64_t> dims_;
  Formulas& f_;
  const graph::Graph& graph_;
  std::vector<const Comprehension*> nodes_;
};

} // namespace

Json kernel_json(const ReportInput& input, const bound::Analysis& analysis,
                 const KernelEntry& entry, std::span<const int64_t> dims) {
  return KernelWriter(input, analysis, entry, dims).run();
}

} // namespace tang::report
