#include "interpret/eval.h"
#include "base/check.h"
#include "interpret/compile.h"
#include "interpret/extents.h"
#include "interpret/formats.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace tang::interpret {

using graph::Graph;
using graph::Node;
using graph::Scalar;
using graph::Tensor;
using graph::TensorId;
using graph::TensorKind;

namespace {

class Evaluation {
public:
  Evaluation(const Graph& graph, std::span<const int64_t> dims, const EvalOptions& options,
             Sink& sink)
      : graph_(graph), dims_(dims), options_(options), sink_(sink),
        arrays_(graph.tensors.size() * 2), last_use_(graph.tensors.size(), 0) {
    compile_.dims = dims, compile_.shapes = &shapes_;
    compile_.operand_rule = options.operand_rule;
    compile_.round_operations = options.round_operations;
    compile_.split_products = &options.split_products;
    compile_.emulate = options.emulate, compile_.keep_unrounded = options.unrounded_outputs;
  }

  bool shapes();
  bool read_inputs(const Values& inputs);
  bool read_constants();
  bool run_nodes();
  Values take();

private:
  bool allocate(TensorId tensor);
  bool run_node(const Node& node);
  bool run_comprehension(const graph::Comprehension& c, const Node& node);
  bool run_recurrence(const graph::Recur& recur, const Node& node);
  void report(const Stop& stop, const Program& program);
  bool check_elements(const Tensor& tensor, const Array& array);
  Array& at(TensorId tensor) { return arrays_[tensor.value]; }

  const Graph& graph_;
  std::span<const int64_t> dims_;
  const EvalOptions& options_;
  Sink& sink_;
  CompileOptions compile_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<Array> arrays_;    ///< by tensor id; the second half: outputs before rounding
  std::vector<size_t> last_use_; ///< top-level node after which a tensor is not read
  std::map<const Node*, Program> programs_; ///< compiled once, also inside recurrences
};

bool Evaluation::shapes() {
  for (uint32_t t = 0; t < graph_.tensors.size(); ++t) {
    const Tensor& tensor = graph_.tensors[t];
    auto shape = shape_of(graph_, TensorId(t), dims_);
    auto count = shape ? element_count(*shape) : std::nullopt;
    if (!count || *count > options_.max_elements) {
      std::string seen = shape ? fmt::format("has shape [{}]", fmt::join(*shape, ", "))
                               : std::string("has an extent that is negative or leaves 64 bits");
      sink_.report(Kind::array_too_large, tensor.span, "`{}` {}", tensor.name, seen)
          .help(fmt::format(
              "the interpreter holds up to {} elements of one tensor; bind smaller dims",
              options_.max_elements));
      return false;
    }
    shapes_.push_back(std::move(*shape));
  }
  return true;
}

bool Evaluation::check_elements(const Tensor& tensor, const Array& array) {
  for (size_t i = 0; i < array.integers.size(); ++i) {
    int64_t x = array.integers[i];
    if (tensor.range && (x < tensor.range->lo || x > tensor.range->hi)) {
      sink_.report(Kind::input_outside_range, tensor.span,
                   "element {} of `{}` is {}, outside its declared range {}..{}", i, tensor.name, x,
                   tensor.range->lo, tensor.range->hi);
      return false;
    }
    if (tensor.sorted && i > 0 && array.integers[i - 1] > x) {
      sink_.report(Kind::input_outside_range, tensor.span,
                   "`{}` is declared sorted, but element {} is {} after {}", tensor.name, i, x,
                   array.integers[i - 1]);
      return false;
    }
  }
  return true;
}

bool Evaluation::read_inputs(const Values& inputs) {
  bool ok = true;
  for (TensorId id : graph_.inputs) {
    const Tensor& tensor = graph_[id];
    if (tensor.type == graph::ElemType::f64) compile_.compute = graph::ElemType::f64;
    auto given = inputs.find(id);
    if (given == inputs.end()) {
      sink_.report(Kind::input_missing, tensor.span, "no data for input `{}`", tensor.name)
          .help(fmt::format("give it with `--input {}=FILE.npy` or use `--random SEED`",
                            tensor.name));
      ok = false;
      continue;
    }
    if (given->second.shape != shapes_[id.value]) {
      sink_.report(Kind::input_shape, tensor.span, "`{}` has shape [{}], its data [{}]",
                   tensor.name, fmt::join(shapes_[id.value], ", "),
                   fmt::join(given->second.shape, ", "));
      ok = false;
      continue;
    }
    auto stored = stored_as(tensor.type, given->second);
    if (!stored) {
      sink_.report(Kind::input_type, tensor.span,
                   "`{}` is `{}`, but its data holds reals that are not integers", tensor.name,
                   graph::info(tensor.type).name);
      ok = false;
      continue;
    }
    ok &= check_elements(tensor_at(graph_, id, dims_), *stored);
    at(id) = std::move(*stored);
  }
  return ok;
}

bool Evaluation::read_constants() {
  for (uint32_t t = 0; t < graph_.tensors.size(); ++t) {
    const Tensor& tensor = graph_.tensors[t];
    if (tensor.kind != TensorKind::constant) continue;
    Array table;
    table.shape = shapes_[t], table.scalar = graph::scalar_of(tensor.type);
    table.reals = tensor.reals, table.integers = tensor.integers;
    TANG_CHECK(table.size() == element_count(table.shape), "the table `{}` has {} elements",
               tensor.name, table.size());
    auto stored = stored_as(tensor.type, std::move(table));
    TANG_CHECK(stored, "the table `{}` does not fit its type", tensor.name);
    arrays_[t] = std::move(*stored);
  }
  return true;
}

bool Evaluation::allocate(TensorId tensor) {
  uint32_t whole = tensor.value % static_cast<uint32_t>(graph_.tensors.size());
  at(tensor) = zeros(graph::scalar_of(graph_.tensors[whole].type), shapes_[whole]);
  return true;
}

void Evaluation::report(const Stop& stop, const Program& program) {
  const Instruction& i = stop.at;
  int64_t a = integer_of(stop.a), b = integer_of(stop.b);
  TANG_CHECK(i.code != Code::check_place,
             "an unguarded read was not in range: place {} is {}, the extent {}", i.d, a, i.imm);
  std::string seen;
  if (i.code == Code::check_integer)
    seen = fmt::format("the accumulator reached {}, outside `{}`", a, graph::info(i.type).name);
  else if (i.code == Code::integer_unary)
    seen = fmt::format("`{}` of {} leaves 64 bits", graph::info(i.op).text, a);
  else
    seen = fmt::format("`{}` of {} and {} leaves 64 bits", graph::info(i.op).text, a, b);
  sink_.report(Kind::integer_overflow, program.span, "integer overflow: {}", seen);
}

bool Evaluation::run_comprehension(const graph::Comprehension& c, const Node& node) {
  auto program = programs_.find(&node);
  if (program == programs_.end())
    program = programs_.emplace(&node, compile(graph_, c, node.span, compile_)).first;
  auto offset = static_cast<uint32_t>(graph_.tensors.size());
  for (const graph::Result& result : c.results) {
    allocate(result.tensor);
    if (options_.unrounded_outputs && graph_[result.tensor].kind == TensorKind::output)
      allocate(TensorId(result.tensor.value + offset));
  }
  std::vector<void*> buffers;
  for (TensorId tensor : program->second.tensors)
    buffers.push_back(tensor ? at(tensor).data() : nullptr);
  auto stop = run(program->second, std::move(buffers));
  if (stop) report(*stop, program->second);
  return !stop;
}

/// Copies `from` behind the elements that `to` holds for steps before `step`.
void put_slice(Array& to, const Array& from, int64_t step) {
  auto bytes = static_cast<size_t>(from.size()) * 8;
  if (bytes == 0) return;
  std::memcpy(static_cast<char*>(to.data()) + static_cast<size_t>(step) * bytes, from.data(),
              bytes);
}

bool Evaluation::run_recurrence(const graph::Recur& recur, const Node& node) {
  auto steps = extent_value(graph_.exprs, recur.time.extent, dims_);
  if (!steps) {
    sink_.report(Kind::array_too_large, node.span, "the extent of `{}` leaves 64 bits",
                 recur.time.name);
    return false;
  }
  for (const graph::Carry& carry : recur.carries) at(carry.current) = at(carry.init);
  for (const graph::Collect& collect : recur.collects) allocate(collect.stacked);
  for (int64_t t = 0; t < *steps; ++t) {
    if (recur.step) at(recur.step) = integer_array({}, {t});
    for (const Node& inner : recur.body)
      if (!run_node(inner)) return false;
    for (const graph::Collect& collect : recur.collects)
      put_slice(at(collect.stacked), at(collect.value), t);
    // All carries change at once: one may have been computed from another's current value.
    std::vector<Array> next;
    for (const graph::Carry& carry : recur.carries) next.push_back(at(carry.next));
    for (size_t n = 0; n < next.size(); ++n) at(recur.carries[n].current) = std::move(next[n]);
  }
  for (const graph::Carry& carry : recur.carries) at(carry.last) = at(carry.current);
  return true;
}

bool Evaluation::run_node(const Node& node) {
  return std::visit(
      Overload{[&](const graph::Comprehension& c) { return run_comprehension(c, node); },
               [&](const graph::Recur& r) { return run_recurrence(r, node); },
               [](const graph::Gradient& g) -> bool { graph::reject(g); }},
      node.definition);
}

bool Evaluation::run_nodes() {
  for (size_t n = 0; n < graph_.nodes.size(); ++n)
    for (TensorId tensor : graph::reads_of(graph_, graph_.nodes[n])) last_use_[tensor.value] = n;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (!run_node(graph_.nodes[n])) return false;
    if (options_.keep_intermediates) continue;
    for (TensorId tensor : graph::reads_of(graph_, graph_.nodes[n])) {
      bool is_output = std::count(graph_.outputs.begin(), graph_.outputs.end(), tensor) > 0;
      if (last_use_[tensor.value] == n && !is_output) at(tensor) = {};
    }
  }
  return true;
}

Values Evaluation::take() {
  Values values;
  auto offset = static_cast<uint32_t>(graph_.tensors.size());
  if (options_.keep_intermediates)
    for (uint32_t t = 0; t < graph_.tensors.size(); ++t)
      if (graph_.tensors[t].kind == TensorKind::intermediate) values[TensorId(t)] = arrays_[t];
  for (TensorId output : graph_.outputs) {
    bool whole = options_.unrounded_outputs && graph_[output].kind == TensorKind::output;
    Array& array = whole ? arrays_[output.value + offset] : at(output);
    // A recurrence hands its outputs on as they are.
    values[output] = whole && array.shape != shapes_[output.value] ? at(output) : array;
  }
  return values;
}

} // namespace

bool check_dims(const Graph& graph, std::span<const int64_t> dims, Sink& sink) {
  TANG_CHECK(dims.size() == graph.dims.size(), "{} values for {} dims", dims.size(),
             graph.dims.size());
  bool ok = true;
  for (size_t d = 0; d < dims.size(); ++d) {
    const graph::Dim& dim = graph.dims[d];
    if (dims[d] >= dim.lo && dims[d] <= dim.hi && dims[d] % dim.step == 0) continue;
    ok = false;
    std::string step = dim.step == 1 ? "" : fmt::format(" step {}", dim.step);
    sink.report(Kind::dim_binding, dim.span, "`{}` is {}, outside {}..{}{}", dim.name, dims[d],
                dim.lo, dim.hi, step);
  }
  return ok;
}

std::optional<Values> evaluate(const Graph& graph, const Values& inputs,
                               std::span<const int64_t> dims, const EvalOptions& options,
                               Sink& sink) {
  if (!check_dims(graph, dims, sink)) return std::nullopt;
  try {
    Evaluation evaluation(graph, dims, options, sink);
    if (evaluation.shapes() && evaluation.read_inputs(inputs) && evaluation.read_constants() &&
        evaluation.run_nodes())
      return evaluation.take();
  } catch (const std::bad_alloc&) {
    sink.report(Kind::array_too_large, Span{}, "the tensors do not fit this machine's memory")
        .help("bind smaller dims");
  }
  return std::nullopt;
}

} // namespace tang::interpret
