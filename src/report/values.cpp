// Numbers and texts of host values.
#include "base/checked.h"
#include "kernel/value_text.h"
#include "report/json.h"

namespace tang::report {
using namespace kernel;

graph::TensorId stated(const graph::Graph& graph, graph::TensorId output) {
  for (uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const graph::Tensor& tensor = graph.tensors[t];
    bool has_line = tensor.budget_rel || tensor.budget_abs || tensor.accumulate;
    if (has_line && tensor.name == graph[output].name) return graph::TensorId(t);
  }
  return output;
}

Numbers dims_at(const graph::Graph& graph, int64_t size) {
  Numbers dims;
  for (const graph::Dim& dim : graph.dims) {
    int64_t step = std::max<int64_t>(dim.step, 1);
    int64_t value = std::clamp(size, dim.lo, std::max(dim.lo, dim.hi));
    value -= value % step;
    if (value < dim.lo) value += step;
    dims.push_back(value);
  }
  return dims;
}

std::map<uint32_t, const Dispatch*> launches_by_plan(const Program& program) {
  std::map<uint32_t, const Dispatch*> launches;
  std::vector<const std::vector<Step>*> open{&program.steps};
  while (!open.empty()) {
    const auto* steps = open.back();
    open.pop_back();
    for (const Step& step : *steps) {
      if (const auto* loop = std::get_if<Loop>(&step.node))
        open.push_back(&loop->body);
      else if (const auto& d = std::get<Dispatch>(step.node); d.plan != Dispatch::no_plan)
        launches.emplace(d.plan, &d);
    }
  }
  return launches;
}

double microseconds(int64_t ps) {
  // The nearest double to a decimal of at most 15 digits prints as that decimal.
  return static_cast<double>(ps) / 1e6;
}

Json amount(std::optional<int64_t> value) {
  return value ? Json(*value) : Json();
}

namespace {

std::optional<int64_t> binary_value(Op op, int64_t a, int64_t b) {
  switch (op) {
  case Op::add: return checked_add(a, b);
  case Op::sub: return checked_sub(a, b);
  case Op::mul: return checked_mul(a, b);
  case Op::floordiv: return floordiv(a, b);
  case Op::mod: return floormod(a, b);
  case Op::min: return std::min(a, b);
  case Op::max: return std::max(a, b);
  case Op::eq: return a == b;
  case Op::ne: return a != b;
  case Op::lt: return a < b;
  case Op::le: return a <= b;
  case Op::logical_and: return a && b;
  case Op::logical_or: return a || b;
  default: return std::nullopt;
  }
}

} // namespace

std::optional<int64_t> host_value(const Program& program, ValueId root,
                                  std::span<const int64_t> dims) {
  if (!root) return std::nullopt;
  std::unordered_map<ValueId, int64_t> known;
  for (ValueId id : reachable(program.values, {&root, 1})) {
    const Value& v = program.values[id];
    std::optional<int64_t> value;
    auto operand = [&](size_t k) { return known.at(v.operands[k]); };
    if (v.form == Form::literal && !is_real(v.type)) value = v.integer;
    if (v.form == Form::variable)
      for (size_t d = 0; d < program.dims.size() && d < dims.size(); ++d)
        if (program.dims[d].value == v.ref) value = dims[d];
    if (v.form == Form::convert && !is_real(v.type)) value = operand(0);
    if (v.form == Form::operation) {
      if (v.op == Op::select)
        value = operand(0) ? operand(1) : operand(2);
      else if (v.op == Op::neg)
        value = checked_sub(0, operand(0));
      else if (v.op == Op::logical_not)
        value = !operand(0);
      else if (v.operands.size() == 2)
        value = binary_value(v.op, operand(0), operand(1));
    }
    if (!value) return std::nullopt;
    known[id] = *value;
  }
  return known.at(root);
}

std::string host_text(const Program& program, ValueId id) {
  if (!id) return "";
  ValueNames names;
  names.variable = [&](VarId var) { return program.values[var].name; };
  names.tensor = [](TensorId) { return std::string("?"); };
  auto inlined = [](Type, std::string text) { return "(" + text + ")"; };
  return texts_of(program.values, {&id, 1}, names, inlined,
                  {kernel::Type::i64, kernel::Type::i64})[0];
}

std::string symbol_of(const ReportInput& input, KernelId id) {
  if (id.value < input.symbols.size()) return input.symbols[id.value];
  return input.program.kernels.at(id.value).name;
}

int64_t shared_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const Tensor& tensor : kernel.tensors) {
    if (tensor.memory != Memory::shared) continue;
    int64_t last = 0;
    for (size_t k = 0; k < tensor.shape.size(); ++k) {
      int64_t extent = kernel.values.as_integer(tensor.shape[k]).value_or(0);
      int64_t stride =
          k < tensor.stride.size() ? kernel.values.as_integer(tensor.stride[k]).value_or(0) : 0;
      last += std::max<int64_t>(extent - 1, 0) * stride;
    }
    bytes += graph::bytes_of(tensor.type, last + 1);
  }
  return bytes;
}

} // namespace tang::report
