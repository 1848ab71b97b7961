#include "lower/builder.h"
#include "base/check.h"
#include "base/checked.h"
#include "graph/interval.h"
#include <algorithm>

namespace tang::lower {

using graph::ElemType;
using graph::Op;

ElemType element_type(Type type) {
  switch (type) {
  case Type::boolean: return ElemType::boolean;
  case Type::i32: return ElemType::i32;
  case Type::i64:
  case Type::index: return ElemType::i64;
  case Type::f32: return ElemType::f32;
  case Type::f64: return ElemType::f64;
  }
  return ElemType::f32;
}

Builder::Builder(const graph::Graph& graph, std::string name) : graph_(graph) {
  built_.kernel.name = std::move(name);
  body_ = &built_.kernel.body;
}

kernel::TensorId Builder::param(graph::TensorId id, bool written) {
  kernel::TensorId param = this->param(TensorSource{id, {}});
  if (written) kernel().tensors[param.value].written = true;
  return param;
}

kernel::TensorId Builder::param(const TensorSource& source) {
  for (size_t i = 0; i < built_.tensors.size(); ++i)
    if (built_.tensors[i] == source) return kernel().params[i];
  const graph::Tensor& t = graph_[source.tensor];
  kernel::Tensor tensor;
  tensor.name = t.name, tensor.type = t.type;
  // Parts start at whole rows: where rows move as vectors, their length keeps this alignment.
  tensor.align = t.align;
  for (size_t i = source.places.size(); i < t.shape.size(); ++i)
    tensor.shape.push_back(extent(t.shape[i]));
  auto& v = values();
  tensor.stride.resize(tensor.shape.size());
  ValueId stride = v.integer(1);
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    tensor.stride[i] = t.strides.empty() ? stride : extent(t.strides[source.places.size() + i]);
    stride = v.mul(tensor.shape[i], stride);
  }
  kernel::TensorId param = kernel().add(std::move(tensor));
  kernel().params.push_back(param);
  built_.tensors.push_back(source);
  return param;
}

ValueId Builder::dim(graph::DimId id) {
  ScalarSource source{id, {}};
  for (size_t i = 0; i < built_.scalars.size(); ++i)
    if (built_.scalars[i] == source) return values().variable(kernel().scalars[i].var);
  const graph::Dim& d = graph_[id];
  graph::IntRange range = graph::interval::multiples({d.lo, d.hi}, d.step);
  VarId var = values().add_var({d.name, Type::index, range.lo, range.hi});
  kernel().scalars.push_back({var});
  built_.scalars.push_back(source);
  return values().variable(var);
}

ValueId Builder::step(graph::TensorId id) {
  ScalarSource source{{}, id};
  for (size_t i = 0; i < built_.scalars.size(); ++i)
    if (built_.scalars[i] == source) return values().variable(kernel().scalars[i].var);
  VarId var = values().add_var({graph_[id].name, Type::index, 0, steps_.at(id)});
  kernel().scalars.push_back({var});
  built_.scalars.push_back(source);
  return values().variable(var);
}

ValueId Builder::extent(ExprId root) {
  std::unordered_map<ExprId, ValueId> done;
  auto& v = values();
  for (ExprId id : graph::reachable(graph_.exprs, {&root, 1})) {
    const graph::Expr& e = graph_.exprs[id];
    ValueId value;
    if (e.op == Op::literal_int)
      value = v.integer(e.integer);
    else if (e.op == Op::dim)
      value = dim(graph::DimId(e.ref));
    else if (e.operands.size() == 1)
      value = v.unary(e.op, done.at(e.operands[0]));
    else if (e.operands.size() == 2)
      value = v.binary(e.op, done.at(e.operands[0]), done.at(e.operands[1]));
    else
      TANG_CHECK(false, "extent holds `{}`", graph::info(e.op).name);
    done[id] = value;
  }
  return done.at(root);
}

ValueId Builder::let(std::string name, ValueId value) {
  kernel::Form form = values()[value].form;
  if (form == kernel::Form::literal || form == kernel::Form::variable) return value;
  kernel::Var var{std::move(name), values()[value].type, {}, {}};
  if (kernel::is_integer(var.type)) {
    graph::IntRange range = values().range(value);
    graph::IntRange all;
    if (range.lo != all.lo) var.lo = range.lo;
    if (range.hi != all.hi) var.hi = range.hi;
  }
  VarId id = values().add_var(std::move(var));
  emit({kernel::Let{id, value}});
  return values().variable(id);
}

std::vector<ValueId> Builder::delinearize(std::span<const std::string> names, ValueId number,
                                          std::span<const ValueId> extents) {
  auto& v = values();
  kernel::Delinearize s;
  std::vector<ValueId> coordinates;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (v.as_integer(extents[i]) == 1) {
      coordinates.push_back(v.integer(0));
      continue;
    }
    kernel::Var var{names[i], Type::index, 0, {}};
    graph::IntRange range = v.range(extents[i]), all;
    if (range.hi != all.hi) var.hi = std::max<int64_t>(range.hi - 1, 0);
    s.vars.push_back(v.add_var(std::move(var)));
    s.extents.push_back(extents[i]);
    coordinates.push_back(v.variable(s.vars.back()));
  }
  s.value = number;
  if (!s.vars.empty()) emit({std::move(s)});
  return coordinates;
}

ValueId Builder::load(std::string name, Type type, kernel::Ref src, ValueId predicate,
                      ValueId otherwise) {
  if (predicate && values().as_boolean(predicate) == true) predicate = {}, otherwise = {};
  VarId id = values().add_var({std::move(name), type, {}, {}});
  emit({kernel::Load{id, std::move(src), predicate, otherwise}});
  return values().variable(id);
}

kernel::TensorId Builder::registers(std::string name, Type type, std::vector<int64_t> shape) {
  return fragments(std::move(name), element_type(type), std::move(shape));
}

kernel::TensorId Builder::fragments(std::string name, ElemType type, std::vector<int64_t> shape) {
  kernel::Tensor t;
  t.name = std::move(name), t.type = type, t.memory = kernel::Memory::registers;
  auto& v = values();
  int64_t stride = 1;
  t.stride.resize(shape.size());
  for (size_t i = shape.size(); i-- > 0;) t.stride[i] = v.integer(stride), stride *= shape[i];
  for (int64_t extent : shape) t.shape.push_back(v.integer(extent));
  kernel::TensorId id = kernel().add(std::move(t));
  emit({kernel::Allocate{id}});
  return id;
}

kernel::TensorId Builder::shared(std::string name, ElemType type, std::vector<int64_t> shape,
                                 std::vector<int64_t> stride) {
  kernel::Tensor t;
  t.name = std::move(name), t.type = type, t.memory = kernel::Memory::shared;
  auto& v = values();
  if (stride.empty()) {
    stride.resize(shape.size());
    int64_t s = 1;
    for (size_t i = shape.size(); i-- > 0;) stride[i] = s, s *= shape[i];
  }
  for (int64_t extent : shape) t.shape.push_back(v.integer(extent));
  for (int64_t s : stride) t.stride.push_back(v.integer(s));
  kernel::TensorId id = kernel().add(std::move(t));
  emit({kernel::Allocate{id}});
  return id;
}

ValueId Builder::element(kernel::TensorId id, std::vector<ValueId> coordinates) {
  return values().element(id, register_type(kernel()[id].type), coordinates);
}

ValueId Builder::narrowed(ElemType type, ValueId value) {
  auto& v = values();
  Type to = register_type(type);
  if (to == Type::i32 && v[value].type == Type::index) value = v.convert(Type::i64, value);
  if (to == Type::i32 && v[value].type == Type::i64) value = v.round(type, value);
  return v.convert(to, value);
}

kernel::For Builder::open_loop(std::string name, ValueId begin, ValueId end, ValueId step,
                               kernel::LoopKind kind) {
  auto& v = values();
  kernel::Var var{std::move(name), Type::index, {}, {}};
  graph::IntRange first = v.range(begin), last = v.range(end), all;
  if (first.lo != all.lo) var.lo = first.lo;
  if (last.hi != all.hi)
    var.hi = std::max(last.hi - 1, first.lo == all.lo ? last.hi - 1 : first.lo);
  VarId id = v.add_var(std::move(var));
  return {id, begin, end, step, kind, {}};
}

} // namespace tang::lower
