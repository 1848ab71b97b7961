#include "interpret/extents.h"
#include "interpret/scalar_ops.h"

namespace tang::interpret {

using graph::Expr;
using graph::ExprId;
using graph::OperandClass;

std::optional<int64_t> extent_value(const graph::ExprStore& store, ExprId root,
                                    std::span<const int64_t> dims) {
  if (auto literal = store.as_integer(root)) return literal;
  std::unordered_map<ExprId, int64_t> values;
  for (ExprId id : graph::reachable(store, {&root, 1})) {
    const Expr& e = store[id];
    std::optional<int64_t> value;
    auto operand = [&](size_t n) { return values.at(e.operands[n]); };
    if (e.op == Op::literal_int || e.op == Op::literal_bool)
      value = e.integer;
    else if (e.op == Op::dim && e.ref < dims.size())
      value = dims[e.ref];
    else if (e.op == Op::select)
      value = operand(0) ? operand(1) : operand(2);
    else if (e.op == Op::logical_not)
      value = !operand(0);
    else if (e.op == Op::logical_and)
      value = operand(0) && operand(1);
    else if (e.op == Op::logical_or)
      value = operand(0) || operand(1);
    else if (e.operands.size() == 2 && graph::info(e.op).result == OperandClass::boolean)
      value = integer_compare(e.op, operand(0), operand(1));
    else if (e.scalar == graph::Scalar::integer && e.operands.size() == 2 &&
             graph::info(e.op).arity == 2)
      value = integer_binary(e.op, operand(0), operand(1));
    else if (e.scalar == graph::Scalar::integer && graph::info(e.op).arity == 1 && e.op != Op::cast)
      value = integer_unary(e.op, operand(0));
    if (!value) return std::nullopt;
    values[id] = *value;
  }
  return values.at(root);
}

std::optional<std::vector<int64_t>> shape_of(const graph::Graph& graph, graph::TensorId tensor,
                                             std::span<const int64_t> dims) {
  std::vector<int64_t> shape;
  for (ExprId extent : graph[tensor].shape) {
    auto value = extent_value(graph.exprs, extent, dims);
    if (!value || *value < 0) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

graph::Tensor tensor_at(const graph::Graph& graph, graph::TensorId id,
                        std::span<const int64_t> dims) {
  graph::Tensor tensor = graph[id];
  // An end that leaves 64 bits allows what all sizes allow.
  auto end = [&](ExprId term, int64_t& value) {
    if (term) value = extent_value(graph.exprs, term, dims).value_or(value);
  };
  if (tensor.range) end(tensor.range_lo, tensor.range->lo), end(tensor.range_hi, tensor.range->hi);
  return tensor;
}

} // namespace tang::interpret
