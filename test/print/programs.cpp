#include "programs.h"

namespace tang::print_test {

using namespace kernel;
using graph::ElemType;

ValueId Built::dim(const std::string& name, int64_t lo, int64_t hi, int64_t step) {
  graph.dims.push_back({name, lo, hi, step, {}});
  VarId var = host().add_var({name, Type::i64, lo, hi});
  program.dims.push_back(var);
  return host().variable(var);
}

BufferId Built::argument(const std::string& name, ElemType type, ValueId elements, bool written) {
  graph::Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.kind = written ? graph::TensorKind::output : graph::TensorKind::input;
  Buffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.elements = elements;
  buffer.written = written;
  buffer.align = 4;
  buffer.tensor = graph::TensorId(static_cast<uint32_t>(graph.tensors.size()));
  graph.tensors.push_back(tensor);
  program.buffers.push_back(buffer);
  program.arguments.push_back(BufferId(static_cast<uint32_t>(program.buffers.size() - 1)));
  return program.arguments.back();
}

BufferId Built::workspace(const std::string& name, ElemType type, ValueId elements, ValueId bytes) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::workspace;
  buffer.name = name;
  buffer.type = type;
  buffer.elements = elements;
  buffer.slot = static_cast<uint32_t>(program.slots.size());
  program.slots.push_back({bytes});
  program.buffers.push_back(buffer);
  return BufferId(static_cast<uint32_t>(program.buffers.size() - 1));
}

BufferId Built::table(const std::string& name, ElemType type, std::vector<double> reals,
                      std::vector<int64_t> integers) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::table;
  buffer.name = name;
  buffer.type = type;
  buffer.elements = host().integer(static_cast<int64_t>(reals.size() + integers.size()), Type::i64);
  buffer.reals = std::move(reals);
  buffer.integers = std::move(integers);
  program.buffers.push_back(std::move(buffer));
  return BufferId(static_cast<uint32_t>(program.buffers.size() - 1));
}

void Built::launch(Kernel kernel, const std::vector<BufferId>& buffers,
                   const std::vector<ValueId>& scalars, ValueId blocks) {
  Variant variant;
  variant.kernel = KernelId(static_cast<uint32_t>(program.kernels.size()));
  for (BufferId buffer : buffers)
    variant.bindings.push_back({buffer, host().integer(0, Type::i64)});
  variant.scalars = scalars;
  if (blocks) variant.blocks = {blocks};
  Dispatch dispatch;
  dispatch.name = kernel.name;
  dispatch.variants.push_back(variant);
  program.kernels.push_back(std::move(kernel));
  program.steps.push_back({dispatch});
}

TensorId Maker::global(const std::string& name, ElemType type, bool written) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.written = written;
  kernel.tensors.push_back(tensor);
  TensorId id(static_cast<uint32_t>(kernel.tensors.size() - 1));
  kernel.params.push_back(id);
  return id;
}

TensorId Maker::local(const std::string& name, ElemType type, int64_t size, Memory memory) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.memory = memory;
  tensor.shape = {number(size)};
  tensor.stride = {number(1)};
  kernel.tensors.push_back(tensor);
  return TensorId(static_cast<uint32_t>(kernel.tensors.size() - 1));
}

VarId Maker::var(const std::string& name, Type type, std::optional<int64_t> lo,
                 std::optional<int64_t> hi) {
  return v().add_var({name, type, lo, hi});
}

ValueId Maker::scalar(const std::string& name, Type type, int64_t hi) {
  VarId id = var(name, type, 0, hi);
  kernel.scalars.push_back({id});
  return v().variable(id);
}

Stmt loop(VarId var, ValueId begin, ValueId end, ValueId step, Body body, LoopKind kind) {
  return {For{var, begin, end, step, kind, std::move(body)}};
}
Stmt load(VarId var, TensorId tensor, ValueId offset, ValueId predicate, ValueId otherwise) {
  return {Load{var, {tensor, {offset}}, predicate, otherwise}};
}
Stmt store(TensorId tensor, ValueId offset, ValueId value, ValueId predicate) {
  return {Store{{tensor, {offset}}, value, predicate}};
}
Stmt copy(TensorId to, ValueId to_offset, TensorId from, ValueId from_offset, int width,
          ValueId predicate) {
  return {Copy{{to, {to_offset}}, {from, {from_offset}}, width, predicate}};
}

print::PrintOptions options(const std::string& target) {
  print::PrintOptions o;
  o.version = "0";
  o.target = target;
  o.options = "-t " + target;
  o.input_name = "t.tg";
  o.input_sha256 = std::string(64, '0');
  o.prefix = o.stem = "t";
  o.extension = ".c";
  return o;
}

Built pointwise(ElemType in, Type compute, ElemType out,
                const std::function<ValueId(ValueStore&, ValueId)>& value, const std::string& x,
                const std::string& y, const std::string& n) {
  Built b;
  ValueId extent = b.dim(n, 0, 1 << 20);
  BufferId bx = b.argument(x, in, extent, false), by = b.argument(y, out, extent, true);
  Maker m(y);
  TensorId tx = m.global(x, in), ty = m.global(y, out, true);
  ValueId count = m.scalar(n);
  VarId i = m.var("i", Type::i64, 0, 1 << 20), element = m.var(x, compute);
  m.kernel.comment = {y + "[i] = f(" + x + "[i])"};
  ValueId at = m.v().variable(i);
  ValueId result = value(m.v(), m.v().variable(element));
  m.kernel.body.push_back(
      loop(i, m.number(0), count, m.number(1), {load(element, tx, at), store(ty, at, result)}));
  b.launch(std::move(m.kernel), {bx, by}, {extent});
  return b;
}

} // namespace tang::print_test
