#include "parse/elaborate/outputs.h"
#include "graph/prover.h"
#include "graph/strides.h"
#include "graph/text.h"
#include "parse/elaborate/constants.h"
#include "parse/elaborate/declarations.h"
#include <algorithm>

namespace tang::parse {

using graph::ElemType;

std::optional<graph::TensorId> tensor_named(Context& c, const Name& name) {
  Symbol* symbol = c.find(name.text);
  if (!symbol) {
    c.report_unknown_tensor(name);
    return std::nullopt;
  }
  symbol->used = true;
  if (const TensorSymbol* tensor = std::get_if<TensorSymbol>(&symbol->what))
    return tensor->id ? std::optional(tensor->id) : std::nullopt;
  c.report(Kind::not_a_tensor, name.span, "`{}` is no tensor", name.text)
      .note(symbol->span, "it is declared here");
  return std::nullopt;
}

namespace {

bool check_shape(Context& c, const graph::Tensor& from, const graph::Tensor& to,
                 const Output& output) {
  if (from.shape.size() != to.shape.size()) {
    c.report(Kind::wrong_rank, output.type.span,
             "`{}` has {} ax{}, and the output is declared with {}", output.tensor.text,
             from.shape.size(), from.shape.size() == 1 ? "is" : "es", to.shape.size())
        .note(from.span, "it is defined here");
    return false;
  }
  for (size_t k = 0; k < from.shape.size(); ++k) {
    if (from.shape[k] == to.shape[k]) continue;
    c.report(Kind::extents_disagree, output.type.span,
             "axis {} of `{}` has extent {}, and the output is declared with {}", k,
             output.tensor.text, graph::to_text(c.graph, from.shape[k]),
             graph::to_text(c.graph, to.shape[k]))
        .note(from.span, "it is defined here");
    return false;
  }
  return true;
}

/// The value of a tensor of class `from` as an output of class `to`.
Term converted(Context& c, Term value, Scalar to, const Output& output) {
  Scalar from = c.terms()[value].scalar;
  if (from == to) return value;
  if (from == Scalar::integer && to == Scalar::real) return c.terms().to_real(value);
  std::string name = output.type.element.text;
  if (from == Scalar::real && to == Scalar::integer)
    c.report(Kind::implicit_truncation, output.type.element.span,
             "`{}` is real, and `{}` holds integers", output.tensor.text, name)
        .help(fmt::format("convert it in an equation: `{}(x)` truncates towards zero", name));
  else
    c.report(Kind::type_mismatch, output.type.element.span, "`{}` is {}, and the output is `{}`",
             output.tensor.text, from == Scalar::boolean ? "a truth value" : "a number", name)
        .help(from == Scalar::boolean ? "use `where(c, 1, 0)` in an equation"
                                      : "compare it in an equation: `x != 0`");
  return {};
}

/// Strides that put two elements in one place whatever the sizes are: at two points along each axis
/// of no fixed extent, where the launcher would refuse all but trivial calls.
bool check_room(Context& c, const graph::Tensor& tensor, const Output& output) {
  std::vector<int64_t> shape, strides;
  for (size_t k = 0; k < tensor.strides.size(); ++k) {
    auto stride = c.terms().as_integer(tensor.strides[k]);
    if (!stride) return true;
    strides.push_back(*stride);
    auto extent = c.terms().as_integer(tensor.shape[k]);
    shape.push_back(
        extent.value_or(std::max<int64_t>(2, graph::Prover(c.graph).range(tensor.shape[k]).lo)));
  }
  if (graph::has_room(shape, strides)) return true;
  c.report(Kind::bad_layout, output.type.span,
           "the strides of output `{}` put two elements in one place", tensor.name)
      .help("each stride must exceed what the smaller ones span: of `f32[4, 8]:[LD, 1]`, LD is 8 "
            "at least");
  return false;
}

bool bind_over(Context& c, const Output& output, graph::Tensor& tensor) {
  auto over = tensor_named(c, *output.over);
  if (!over) return false;
  const graph::Tensor& input = c.graph[*over];
  auto fail = [&](std::string why) {
    c.report(Kind::bad_over, output.over->span, std::move(why))
        .note(input.span, fmt::format("`{}` is declared here", input.name));
    return false;
  };
  if (input.kind != graph::TensorKind::input && input.kind != graph::TensorKind::param)
    return fail(fmt::format("`{}` is no input", input.name));
  if (input.type != tensor.type || input.shape != tensor.shape || input.strides != tensor.strides)
    return fail(
        fmt::format("`{}` and the output differ in element type, shape or strides", input.name));
  for (graph::TensorId other : c.graph.outputs)
    if (c.graph[other].over == *over)
      return fail(
          fmt::format("`{}` is replaced by output `{}` already", input.name, c.graph[other].name));
  tensor.over = *over;
  return true;
}

} // namespace

void declare_output(Context& c, const Module& m, const Output& output, Span span) {
  auto source = tensor_named(c, output.tensor);
  const Name& name = output.as ? *output.as : output.tensor;
  auto tensor = tensor_of(c, m, output.type, name);
  auto [at, inserted] = c.output_names.try_emplace(name.text, name.span);
  if (!inserted) {
    c.report(Kind::duplicate_definition, name.span, "there are two outputs `{}`", name.text)
        .note(at->second, "the first is here")
        .help(fmt::format("give it another name: `output {} as {}_2`", output.tensor.text,
                          name.text));
    return;
  }
  ++c.output_count;
  if (!source || !tensor) return;
  tensor->kind = graph::TensorKind::output;
  tensor->external = output.external.value_or("");
  if (!check_shape(c, c.graph[*source], *tensor, output)) return;
  if (!check_room(c, *tensor, output)) return;
  if (output.over && !bind_over(c, output, *tensor)) return;
  graph::Comprehension node;
  std::vector<Term> places;
  for (uint32_t k = 0; k < tensor->shape.size(); ++k) {
    node.points.push_back({graph::IndexId(k), tensor->shape[k], fmt::format("i{}", k), {}, {}});
    places.push_back(c.terms().index(graph::IndexId(k)));
  }
  Term value = c.terms().read(*source, graph::scalar_of(c.graph[*source].type), places);
  value = converted(c, value, graph::scalar_of(tensor->type), output);
  if (!value) return;
  graph::TensorId id = c.graph.add(std::move(*tensor));
  c.graph.outputs.push_back(id);
  node.results.push_back({id, value, {}});
  c.add_node(std::move(node), span);
}

void apply_store(Context& c, const Store& store) {
  auto id = tensor_named(c, store.tensor);
  auto type = c.element_type(store.element);
  if (!id || !type) return;
  graph::Tensor& tensor = c.graph[*id];
  if (tensor.kind != graph::TensorKind::intermediate)
    c.report(Kind::precision_line, store.tensor.span,
             "`{}` is declared with its format, and only intermediates have a `store` line",
             tensor.name)
        .note(tensor.span, "it is declared here");
  else if (graph::scalar_of(*type) != graph::scalar_of(tensor.type))
    c.report(Kind::precision_line, store.element.span, "`{}` cannot hold the values of `{}`",
             store.element.text, tensor.name)
        .note(tensor.span, "they are of another class");
  else if (tensor.range && graph::scalar_of(*type) == Scalar::integer &&
           !graph::range_of(*type).contains(*tensor.range))
    c.report(Kind::precision_line, store.element.span,
             "`{}` takes values in {}..{}, which `{}` cannot hold", tensor.name, tensor.range->lo,
             tensor.range->hi, store.element.text);
  else
    tensor.type = *type, tensor.store_given = true;
}

void apply_accumulate(Context& c, const Accumulate& accumulate) {
  auto id = tensor_named(c, accumulate.tensor);
  auto type = c.element_type(accumulate.element);
  if (!id || !type) return;
  graph::Tensor& tensor = c.graph[*id];
  bool is_reduction = false, found = false;
  for (auto node = c.nodes->rbegin(); node != c.nodes->rend() && !found; ++node)
    if (const auto* comprehension = std::get_if<graph::Comprehension>(&node->definition))
      for (const graph::Result& result : comprehension->results)
        if (result.tensor == *id) found = true, is_reduction = comprehension->reduction.has_value();
  if (!is_reduction)
    c.report(Kind::precision_line, accumulate.tensor.span,
             "`{}` is not defined by a reduction at the root of an equation", tensor.name)
        .note(tensor.span, "it is defined here")
        .help("give the reduction an equation of its own");
  else if (graph::scalar_of(*type) != graph::scalar_of(tensor.type))
    c.report(Kind::precision_line, accumulate.element.span,
             "`{}` cannot accumulate the values of `{}`", accumulate.element.text, tensor.name)
        .note(tensor.span, "they are of another class");
  else
    tensor.accumulate = *type;
}

void apply_budget(Context& c, const Module& m, const Budget& budget) {
  auto id = tensor_named(c, budget.tensor);
  auto limit = constant_real(c, m, budget.limit, "the budget");
  if (!id || !limit) return;
  graph::Tensor& tensor = c.graph[*id];
  if (!(*limit > 0) || *limit == std::numeric_limits<double>::infinity())
    c.report(Kind::precision_line, m[budget.limit].span, "the budget is {}, not a positive number",
             *limit);
  else if (graph::scalar_of(tensor.type) != Scalar::real)
    c.report(Kind::precision_line, budget.tensor.span, "`{}` is no real, so it is exact",
             tensor.name);
  else
    (budget.kind == BudgetKind::relative ? tensor.budget_rel : tensor.budget_abs) = *limit;
}

} // namespace tang::parse
