#include "lower/host.h"
#include "base/check.h"
#include "graph/interval.h"
#include "graph/strides.h"

namespace tang::lower {

using graph::Op;

Host::Host(const graph::Graph& graph, kernel::Program& program) : graph_(graph), program_(program) {
  for (const graph::Dim& dim : graph.dims) {
    graph::IntRange range = graph::interval::multiples({dim.lo, dim.hi}, dim.step);
    program.dims.push_back(
        program.values.add_var({dim.name, Type::i64, range.lo, range.hi, dim.step}));
  }
}

ValueId Host::term(ExprId root) {
  std::unordered_map<ExprId, ValueId> done;
  auto& v = values();
  for (ExprId id : graph::reachable(graph_.exprs, {&root, 1})) {
    const graph::Expr& e = graph_.exprs[id];
    ValueId value;
    if (e.op == Op::literal_int)
      value = v.integer(e.integer, Type::i64);
    else if (e.op == Op::dim)
      value = v.variable(program_.dims[e.ref]);
    else if (e.operands.size() == 1)
      value = v.unary(e.op, done.at(e.operands[0]));
    else if (e.operands.size() == 2)
      value = v.binary(e.op, done.at(e.operands[0]), done.at(e.operands[1]));
    else
      TANG_CHECK(false, "host term holds `{}`", graph::info(e.op).name);
    done[id] = value;
  }
  return done.at(root);
}

ValueId Host::import(const kernel::Kernel& kernel, ValueId root, std::span<const ValueId> scalars) {
  std::unordered_map<ValueId, ValueId> done;
  auto& v = values();
  const kernel::ValueStore& from = kernel.values;
  for (ValueId id : kernel::reachable(from, {&root, 1})) {
    const kernel::Value& e = from[id];
    ValueId value;
    switch (e.form) {
    case kernel::Form::literal:
      value = e.type == Type::boolean ? v.boolean(e.integer != 0) : v.integer(e.integer, Type::i64);
      break;
    case kernel::Form::variable:
      for (size_t i = 0; i < kernel.scalars.size(); ++i)
        if (kernel.scalars[i].var.value == e.ref) value = scalars[i];
      break;
    case kernel::Form::operation:
      if (e.operands.size() == 1)
        value = v.unary(e.op, done.at(e.operands[0]));
      else if (e.operands.size() == 2)
        value = v.binary(e.op, done.at(e.operands[0]), done.at(e.operands[1]));
      else
        value = v.select(done.at(e.operands[0]), done.at(e.operands[1]), done.at(e.operands[2]));
      break;
    case kernel::Form::convert: value = done.at(e.operands[0]); break;
    case kernel::Form::element:
    case kernel::Form::round: break;
    }
    TANG_CHECK(value, "kernel `{}` has a grid extent that is no host value", kernel.name);
    done[id] = value;
  }
  return done.at(root);
}

ValueId Host::scalar(const ScalarSource& source) {
  if (source.dim) return values().variable(program_.dims[source.dim.value]);
  return values().variable(steps_.at(source.step));
}

VarId Host::declare_step(graph::TensorId step, const std::string& name) {
  VarId var = values().add_var({name, Type::i64, 0, {}});
  steps_[step] = var;
  return var;
}

ValueId Host::elements(const graph::Tensor& tensor) {
  auto& v = values();
  if (tensor.strides.empty()) {
    ValueId product = v.integer(1, Type::i64);
    for (ExprId extent : tensor.shape) product = v.mul(product, term(extent));
    return product;
  }
  // 1 + the offset of the last element; nothing when an extent is 0.
  ValueId last = v.integer(1, Type::i64), empty = v.boolean(false), zero = v.integer(0, Type::i64),
          one = v.integer(1, Type::i64);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    ValueId extent = term(tensor.shape[i]);
    last = v.add(last, v.mul(v.sub(extent, one), term(tensor.strides[i])));
    empty = v.binary(Op::logical_or, empty, v.binary(Op::eq, extent, zero));
  }
  return v.select(empty, zero, last);
}

std::optional<kernel::Promise> Host::promise(const graph::Tensor& tensor, kernel::BufferId buffer) {
  auto& v = values();
  graph::IntRange held = graph::range_of(tensor.type), range = tensor.range.value_or(held);
  bool flag = tensor.type == graph::ElemType::boolean;
  if (flag) range = {0, 1};
  if (!flag && !tensor.sorted && range == held) return std::nullopt;
  kernel::Promise out;
  out.buffer = buffer, out.sorted = tensor.sorted;
  out.lo = tensor.range_lo ? term(tensor.range_lo) : v.integer(range.lo, Type::i64);
  out.hi = tensor.range_hi ? term(tensor.range_hi) : v.integer(range.hi, Type::i64);
  ValueId packed = v.integer(1, Type::i64);
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    ValueId extent = term(tensor.shape[i]);
    out.shape.insert(out.shape.begin(), extent);
    out.strides.insert(out.strides.begin(),
                       tensor.strides.empty() ? packed : term(tensor.strides[i]));
    packed = v.mul(packed, extent);
  }
  if (out.shape.empty()) out.shape = out.strides = {v.integer(1, Type::i64)};
  return out;
}

std::optional<kernel::Room> Host::room(const graph::Tensor& tensor, kernel::BufferId buffer) {
  if (tensor.strides.empty() || tensor.shape.empty()) return std::nullopt;
  kernel::Room room{buffer, {}, {}};
  std::vector<int64_t> largest, strides;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    room.shape.push_back(term(tensor.shape[i])), room.strides.push_back(term(tensor.strides[i]));
    largest.push_back(values().range(room.shape[i]).hi);
    if (auto stride = values().as_integer(room.strides[i])) strides.push_back(*stride);
  }
  // What is enough for more elements is enough for fewer.
  bool known = strides.size() == tensor.shape.size() && graph::has_room(largest, strides);
  return known ? std::nullopt : std::optional(std::move(room));
}

ValueId Host::offset(const TensorSource& source) {
  auto& v = values();
  const graph::Tensor& t = graph_[source.tensor];
  ValueId offset = v.integer(0, Type::i64), stride = v.integer(1, Type::i64);
  for (size_t i = t.shape.size(); i-- > 0;) {
    ValueId step = t.strides.empty() ? stride : term(t.strides[i]);
    if (i < source.places.size())
      offset = v.add(offset, v.mul(v.integer(source.places[i], Type::i64), step));
    stride = v.mul(stride, term(t.shape[i]));
  }
  return offset;
}

ValueId Host::bytes(graph::ElemType type, ValueId elements) {
  auto& v = values();
  int bits = graph::info(type).bits;
  if (bits < 8) return v.ceildiv(elements, 8 / bits);
  return v.mul(elements, v.integer(bits / 8, Type::i64));
}

} // namespace tang::lower
