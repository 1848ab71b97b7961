#include "driver/error_budget.h"
#include "base/checked.h"
#include "driver/test_program.h"
#include "interpret/eval.h"
#include "interpret/extents.h"
#include "interpret/random.h"
#include <cmath>

namespace tang::driver {

namespace {

using graph::TensorId;
using interpret::Array;
using Dims = std::vector<int64_t>;

/// Steps of the interpreter that a prediction may take: some tenths of a second.
constexpr int64_t most_steps = 1 << 22;

std::optional<int64_t> points_of(const graph::Graph& graph, std::span<const graph::Axis> axes,
                                 const Dims& dims, std::optional<int64_t> points) {
  for (const graph::Axis& axis : axes) {
    auto extent = interpret::extent_value(graph.exprs, axis.extent, dims);
    points = points && extent ? checked_mul(*points, std::max<int64_t>(*extent, 1)) : std::nullopt;
  }
  return points;
}

/// Points of all comprehensions, those of reductions included; empty beyond 64 bits.
std::optional<int64_t> steps_of(const graph::Graph& graph, const Dims& dims) {
  int64_t all = 0;
  std::vector<std::pair<const std::vector<graph::Node>*, int64_t>> blocks{{&graph.nodes, 1}};
  while (!blocks.empty()) {
    auto [nodes, times] = blocks.back();
    blocks.pop_back();
    for (const graph::Node& node : *nodes) {
      std::optional<int64_t> points = times;
      if (const auto* c = std::get_if<graph::Comprehension>(&node.definition)) {
        points = points_of(graph, c->points, dims, points);
        if (c->reduction) points = points_of(graph, c->reduction->axes, dims, points);
      } else if (const auto* r = std::get_if<graph::Recur>(&node.definition)) {
        points = points_of(graph, {&r->time, 1}, dims, points);
        if (points) blocks.emplace_back(&r->body, *points);
      }
      auto sum = points ? checked_add(all, *points) : std::nullopt;
      if (!sum) return std::nullopt;
      all = *sum;
    }
  }
  return all;
}

report::PredictedError error_of(const Array& exact, const Array& rounded) {
  report::PredictedError error;
  double largest = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    double a = exact.as_real(i), b = rounded.as_real(i);
    if (!std::isfinite(a)) continue;
    largest = std::max(largest, std::abs(a));
    error.absolute =
        std::max(error.absolute, std::isfinite(b) ? std::abs(a - b) : std::abs(a) + HUGE_VAL);
  }
  error.relative = error.absolute > 0 ? error.absolute / largest : 0;
  return error;
}

bool exceeds(double value, std::optional<double> limit) {
  return limit && value > *limit;
}

void check(const graph::Tensor& tensor, const report::PredictedError& error,
           const std::string& sizes, Sink& sink) {
  if (keeps_budget(tensor, error)) return;
  bool relative = exceeds(error.relative, tensor.budget_rel);
  Diagnostic& d =
      sink.report(Kind::budget_exceeded, tensor.span,
                  "the error of `{}` is {:.3g}, and its budget is {} {:.3g}", tensor.name,
                  relative ? error.relative : error.absolute, relative ? "rel" : "abs",
                  relative ? *tensor.budget_rel : *tensor.budget_abs);
  d.note({}, fmt::format("in the interpreter, on random data{}, in the formats of the program",
                         sizes.empty() ? "" : " with " + sizes));
  d.help("give intermediates and accumulators a wider format, or the budget more room");
}

std::string sizes_text(const graph::Graph& graph, const Dims& dims) {
  std::string text;
  for (size_t d = 0; d < dims.size(); ++d)
    text += fmt::format("{}{} = {}", d ? ", " : "", graph.dims[d].name, dims[d]);
  return text;
}

} // namespace

bool has_budget(const graph::Tensor& t) {
  return t.budget_rel || t.budget_abs;
}

bool keeps_budget(const graph::Tensor& tensor, const report::PredictedError& error) {
  bool relative = exceeds(error.relative, tensor.budget_rel);
  bool absolute = exceeds(error.absolute, tensor.budget_abs);
  // Where both are stated either will do: what is small beside the largest value may be large
  // beside a small one.
  return !(tensor.budget_rel && tensor.budget_abs ? relative && absolute : relative || absolute);
}

std::optional<Dims> sizes_for_prediction(const graph::Graph& graph) {
  for (int64_t wanted : {64, 32, 16}) {
    Dims dims;
    for (const graph::Dim& dim : graph.dims) {
      int64_t value = std::clamp(wanted, dim.lo, dim.hi);
      dims.push_back(std::max(ceildiv(dim.lo, dim.step), value / dim.step) * dim.step);
    }
    auto steps = steps_of(graph, dims);
    if (steps && *steps <= most_steps) return dims;
  }
  return std::nullopt;
}

std::optional<std::vector<report::PredictedError>> errors_at(const graph::Graph& graph,
                                                             const Dims& dims, bool round_operands,
                                                             const Split& split, Sink& sink) {
  interpret::Values inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    TensorId id = graph.inputs[i];
    auto shape = interpret::shape_of(graph, id, dims);
    if (!shape) return std::nullopt;
    inputs[id] = interpret::random_array(interpret::tensor_at(graph, id, dims), *shape, 1, i);
  }
  interpret::EvalOptions options;
  options.unrounded_outputs = true;
  auto exact = interpret::evaluate(graph, inputs, dims, options, sink);
  options.emulate = options.round_operations = true;
  options.operand_rule = round_operands;
  options.split_products = split;
  auto rounded = exact ? interpret::evaluate(graph, inputs, dims, options, sink) : std::nullopt;
  if (!rounded) return std::nullopt;
  std::vector<report::PredictedError> errors;
  for (TensorId id : graph.outputs) errors.push_back(error_of(exact->at(id), rounded->at(id)));
  return errors;
}

void set_budgets(Input& input, const ErrorBudget& budget) {
  for (graph::Graph* graph : {&input.written, &input.graph})
    for (TensorId id : graph->outputs) {
      graph::Tensor& tensor = (*graph)[report::stated(*graph, id)];
      if (graph::scalar_of(tensor.type) != graph::Scalar::real || has_budget(tensor)) continue;
      tensor.budget_rel = budget.relative;
      tensor.budget_abs = budget.absolute;
    }
}

std::vector<report::PredictedError> predicted_errors(const Input& input, bool round_operands,
                                                     Sink& sink) {
  const graph::Graph& graph = input.graph;
  if (std::none_of(graph.outputs.begin(), graph.outputs.end(),
                   [&](TensorId id) { return has_budget(graph[report::stated(graph, id)]); }))
    return {};
  auto dims = sizes_for_variant({&graph, 1}, 0);
  auto steps = dims ? steps_of(graph, *dims) : std::nullopt;
  if (!steps || *steps > most_steps) {
    sink.report(Kind::budget_unchecked, {},
                "budgets were not checked: the interpreter would take more than {} steps",
                most_steps)
        .help("leave dims free, and the check takes small values of them");
    return {};
  }
  auto errors = errors_at(graph, *dims, round_operands, {}, sink);
  if (!errors) return {};
  for (size_t i = 0; i < errors->size(); ++i)
    check(graph[report::stated(graph, graph.outputs[i])], (*errors)[i], sizes_text(graph, *dims),
          sink);
  return std::move(*errors);
}

} // namespace tang::driver
