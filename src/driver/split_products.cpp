#include "driver/split_products.h"
#include "driver/error_budget.h"
#include "rewrite/split_precision.h"
#include <algorithm>

namespace tang::driver {

namespace {

using graph::TensorId;

/// Whether three products of tf32 take less time than one outside matrix units.
bool pays(const targets::Device& device) {
  const targets::Roof* parts = device.roof(targets::RoofKey::tf32_mma_flop_per_s);
  const targets::Roof* whole = device.roof(targets::RoofKey::f32_flop_per_s);
  return parts && whole && 3 * whole->hard < parts->hard;
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
  bool budgets = std::any_of(stated.begin(), stated.end(),
                             [](const graph::Tensor* tensor) { return has_budget(*tensor); });
  machine.split_pays = spec.device && pays(*spec.device);
  // A schedule may ask for it where it does not pay.
  if (!budgets || (!machine.split_pays && input.schedule.empty())) return {};
  SplitProducts out{candidates(graph, stated, options.level, machine), {}};
  if (out.nodes.empty()) return {};

  std::string fault;
  auto dims = sizes_for_prediction(graph);
  std::set<TensorId> split;
  for (size_t n : out.nodes) split.insert(result_of(graph.nodes[n]));
  auto errors = dims ? errors_at(graph, *dims, options.native_operands, split, sink) : std::nullopt;
  if (errors)
    fault = fault_of(*errors, stated);
  else if (!dims)
    fault = "the interpreter would take too long to predict the error; leave dims free";
  if (!errors || !fault.empty()) {
    for (size_t n : out.nodes)
      if (general && !fault.empty())
        sink.report(Kind::law_stopped, graph.nodes[n].span,
                    "split_precision: products of `{}` stay f32 on {}: {}",
                    graph[result_of(graph.nodes[n])].name, spec.target->name, fault);
    return {};
  }
  out.errors = std::move(*errors);
  machine.may_split = std::move(split);
  return out;
}

} // namespace tang::driver
