#include "print/kernel_state.h"
#include "base/check.h"

namespace tang::print {

using namespace kernel;

KernelState::KernelState(const KernelTask& asked, const Dialect& words, Calls& called,
                         Sink& reports)
    : task(asked), kernel(*asked.kernel), dialect(words), sink(reports), calls(called),
      names(words.reserved), tensor_names(kernel.tensors.size()),
      tensor_sizes(kernel.tensors.size()),
      values(kernel.values, words, {asked.fast_math, false}, names, out, called.helpers,
             [this](const Value& v) { return element(v); }) {}

void KernelState::open_if(ValueId predicate) {
  if (!predicate) return;
  out.line("if ({}) {{", values.text(predicate));
  out.indent();
  values.push();
}

void KernelState::close_if() {
  values.pop();
  out.dedent();
  out.raw("}");
}

std::string KernelState::register_text(TensorId tensor, const std::string& offset) const {
  const std::string& name = tensor_names[tensor.value];
  return tensor_sizes[tensor.value] == 1 ? name : name + "[" + offset + "]";
}

std::string KernelState::element(const Value& value) {
  std::string offset = value.operands.empty() ? "0" : values.text(value.operands[0]);
  return register_text(TensorId(value.ref), offset);
}

std::string KernelState::offset_text(const Ref& ref) {
  TANG_CHECK(ref.coordinates.size() <= 1, "`{}` has a reference of rank {} in a legal kernel",
             kernel[ref.tensor].name, ref.coordinates.size());
  return ref.coordinates.empty() ? "0" : values.text(ref.coordinates[0]);
}

} // namespace tang::print
