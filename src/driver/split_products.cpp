#include "driver/split_products.h"
#include "driver/error_budget.h"
#include "rewrite/split_precision.h"
#include <algorithm>

namespace tang::driver {

namespace {

using graph::TensorId;

/// Seconds for a flop of such a product, of f32 outside matrix units for `full`; empty where the
/// device does not say.
std::optional<double> seconds_of(plan::Precision form, const targets::Device* device) {
  const graph::Pieces* pieces = plan::pieces_of(form);
  targets::RoofKey key = !pieces ? targets::RoofKey::f32_flop_per_s
                         : pieces->held == graph::ElemType::f32
                             ? targets::RoofKey::tf32_mma_flop_per_s
                             : targets::RoofKey::bf16_mma_flop_per_s;
  const targets::Roof* roof = device ? device->roof(key) : nullptr;
  if (!roof) return std::nullopt;
  return (pieces ? double(pieces->products.size()) : 1.0) / roof->hard;
}

/// Whether the products of pieces take less time than one outside matrix units.
bool pays(plan::Precision form, const targets::Device* device) {
  auto split = seconds_of(form, device), whole = seconds_of(plan::Precision::full, device);
  return split && whole && *split < *whole;
}

/// The forms to try, those of less time first: all read the same words, so that what their units
/// take is what tells them apart (schedule/product_tiles.cpp). Those that a schedule names are
/// asked for, whether they pay or not.
std::vector<plan::Precision> forms_of(const schedule::StatedSchedule& stated,
                                      const targets::Device* device) {
  std::vector<plan::Precision> forms, asked;
  for (const schedule::StatedKernel& kernel : stated)
    for (const schedule::StatedVariant& variant : kernel.variants)
      if (plan::is_split(variant.fields.precision)) asked.push_back(variant.fields.precision);
  for (plan::Precision form : plan::all_precisions)
    if (plan::is_split(form) &&
        (asked.empty() ? pays(form, device)
                       : std::find(asked.begin(), asked.end(), form) != asked.end()))
      forms.push_back(form);
  std::stable_sort(forms.begin(), forms.end(), [&](plan::Precision a, plan::Precision b) {
    return seconds_of(a, device).value_or(0) < seconds_of(b, device).value_or(0);
  });
  return forms;
}

/// Outputs as the file states them, with their budgets; no law changes their order.
std::vector<const graph::Tensor*> stated_outputs(const graph::Graph& written) {
  std::vector<const graph::Tensor*> outputs;
  for (TensorId id : written.outputs) outputs.push_back(&written[report::stated(written, id)]);
  return outputs;
}

/// Nodes on which no output without a budget depends.
std::vector<bool> under_budget(const graph::Graph& graph,
                               const std::vector<const graph::Tensor*>& stated) {
  std::vector<bool> open(graph.tensors.size(), false), under(graph.nodes.size(), false);
  for (size_t i = 0; i < stated.size(); ++i) open[graph.outputs[i].value] = !has_budget(*stated[i]);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    std::vector<TensorId> defined = graph::defines_of(graph.nodes[n]);
    under[n] =
        std::none_of(defined.begin(), defined.end(), [&](TensorId id) { return open[id.value]; });
    if (under[n]) continue;
    for (TensorId id : graph::reads_of(graph, graph.nodes[n])) open[id.value] = true;
  }
  return under;
}

TensorId result_of(const graph::Node& node) {
  return std::get<graph::Comprehension>(node.definition).results[0].tensor;
}

/// Nodes that the selector would run on matrix units if it might.
std::vector<size_t> candidates(const graph::Graph& graph,
                               const std::vector<const graph::Tensor*>& stated, int level,
                               schedule::Machine machine) {
  std::vector<bool> under = under_budget(graph, stated);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (under[n] && rewrite::can_split_precision(graph, graph.nodes[n]))
      machine.may_split.insert(result_of(graph.nodes[n]));
  if (machine.may_split.empty()) return {};
  machine.split_pays = true;
  return split_nodes(schedule::schedule(graph, level, machine));
}

/// Why the errors do not do; empty where they keep every budget.
std::string fault_of(const std::vector<report::PredictedError>& errors,
                     const std::vector<const graph::Tensor*>& stated) {
  for (size_t i = 0; i < errors.size(); ++i) {
    const graph::Tensor& t = *stated[i];
    if (keeps_budget(t, errors[i])) continue;
    bool relative = t.budget_rel.has_value();
    return fmt::format("the error of `{}` would be {:.3g}, and its budget is {} {:.3g}", t.name,
                       relative ? errors[i].relative : errors[i].absolute, relative ? "rel" : "abs",
                       relative ? *t.budget_rel : *t.budget_abs);
  }
  return "";
}

} // namespace

std::vector<size_t> split_nodes(const plan::Plan& plan) {
  std::vector<size_t> nodes;
  for (const plan::Step& step : plan.steps) {
    const auto* kernel = std::get_if<plan::KernelPlan>(&step.node);
    if (kernel && std::any_of(kernel->variants.begin(), kernel->variants.end(),
                              [](const plan::Variant& variant) {
                                return plan::is_split(variant.fields.precision);
                              }))
      nodes.push_back(kernel->nodes[0]);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

SplitProducts split_products(const graph::Graph& graph, bool general, const Input& input,
                             const targets::TargetSpec& spec, const CompileOptions& options,
                             schedule::Machine& machine, Sink& sink) {
  std::vector<const graph::Tensor*> stated = stated_outputs(input.graph);
  if (std::none_of(stated.begin(), stated.end(),
                   [](const graph::Tensor* tensor) { return has_budget(*tensor); }))
    return {};
  auto dims = sizes_for_prediction(graph);
  std::string fault;
  SplitProducts out;
  for (plan::Precision form : forms_of(input.schedule, spec.device)) {
    machine.split = form, machine.split_pays = pays(form, spec.device);
    out = {form, candidates(graph, stated, options.level, machine), {}};
    if (out.nodes.empty()) continue;
    Split split;
    for (size_t n : out.nodes) split[result_of(graph.nodes[n])] = plan::pieces_of(form);
    auto errors =
        dims ? errors_at(graph, *dims, options.native_operands, split, sink) : std::nullopt;
    if (dims && !errors) return {}; // the sink knows why
    fault = dims ? fault_of(*errors, stated)
                 : "the interpreter would take too long to predict the error; leave dims free";
    if (!fault.empty()) continue;
    out.errors = std::move(*errors);
    for (const auto& [id, pieces] : split) machine.may_split.insert(id);
    return out;
  }
  // The last form is the one that takes longest, and so the nearest.
  for (size_t n : out.nodes)
    if (general && !fault.empty())
      sink.report(Kind::law_stopped, graph.nodes[n].span,
                  "split_precision: products of `{}` stay f32 on {}: {}",
                  graph[result_of(graph.nodes[n])].name, spec.target->name, fault);
  return {};
}

} // namespace tang::driver
