// Memory is addressed by one offset: coordinates times strides, simplified. Tensors become one mode
// of stride 1 whose extent is the span of their layout.
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;

namespace {

ValueId offset_of(ValueStore& s, const Tensor& tensor, std::span<const ValueId> coordinates) {
  ValueId offset = s.integer(0);
  for (size_t i = 0; i < coordinates.size(); ++i)
    offset = s.add(offset, s.mul(coordinates[i], tensor.stride[i]));
  return offset;
}

/// Elements from the first to the last of a layout; for a row-major one the product of the extents.
ValueId span_of(ValueStore& s, const Tensor& tensor) {
  ValueId packed = s.integer(1), last = s.integer(0);
  bool row_major = true;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    row_major &= tensor.stride[i] == packed;
    packed = s.mul(packed, tensor.shape[i]);
    last = s.add(last, s.mul(s.sub(tensor.shape[i], s.integer(1)), tensor.stride[i]));
  }
  return row_major ? packed : s.add(last, s.integer(1));
}

void linearize_kernel(Kernel& kernel) {
  ValueStore& s = kernel.values;
  ValueRewriter elements(s, [&](ValueId id) {
    const Value v = s[id];
    if (v.form != Form::element) return id;
    ValueId flat = offset_of(s, kernel.tensors[v.ref], v.operands);
    return s.element(TensorId(v.ref), v.type, {&flat, 1});
  });
  map_values(kernel.body, [&](ValueId id) { return elements(id); });
  auto flatten = [&](Ref& ref) {
    ref.coordinates = {offset_of(s, kernel[ref.tensor], ref.coordinates)};
  };
  for_each_ref(kernel.body, flatten);
  for (Tensor& tensor : kernel.tensors) {
    ValueId span = span_of(s, tensor);
    tensor.shape = {span};
    tensor.stride = {s.integer(1)};
  }
}

} // namespace

void linearize(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) linearize_kernel(kernel);
}

} // namespace tang::legalize
