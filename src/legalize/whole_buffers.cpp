// Where a launch binds buffers from their beginning, or from few places, a kernel adds what is
// missing:
//
//   k(workspace + 4096, w + layer*size)   =>   k(workspace, w, 1024, layer*size), where every
//   access
//                                              to the first is 1024 elements further on
//
// An offset that some launch of a kernel needs is a parameter of all.
#include "base/check.h"
#include "kernel/linear.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"
#include <algorithm>

namespace tang::legalize {

using namespace kernel;
using graph::Op;

namespace {

class Binder {
public:
  Binder(Program& program, const Capabilities& capabilities)
      : program_(program), host_(program.values), alignment_(capabilities.buffer_alignment),
        type_(capabilities.int64 ? Type::i64 : Type::i32) {}

  void run() {
    program_.whole_buffers = alignment_ == 0;
    std::vector<ValueId> begins;
    if (program_.whole_buffers) begins = this->begins();
    for (const Kernel& kernel : program_.kernels) moved_.emplace_back(kernel.params.size(), false);
    for_each_dispatch(program_.steps, [&](Dispatch& dispatch) {
      for (Variant& variant : dispatch.variants) {
        if (!begins.empty())
          for (Binding& binding : variant.bindings) begin_inside(binding, begins);
        note(variant);
      }
    });
    for (size_t k = 0; k < program_.kernels.size(); ++k) change(program_.kernels[k], moved_[k]);
    for_each_dispatch(program_.steps, [&](Dispatch& dispatch) {
      for (Variant& variant : dispatch.variants) change(variant);
    });
  }

private:
  /// Where the buffers of the workspace begin in it, in elements; empty for others, and for those
  /// in the first slot.
  std::vector<ValueId> begins() {
    std::vector<ValueId> found(program_.buffers.size()), ends = slot_ends(host_, program_.slots);
    for (size_t i = 0; i < found.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      if (buffer.kind == Buffer::Kind::workspace && buffer.slot > 0)
        found[i] = elements(ends[buffer.slot - 1], buffer.type);
    }
    return found;
  }

  /// Bytes that are a multiple of a slot's alignment, as elements.
  ValueId elements(ValueId bytes, ElemType type) {
    int bits = graph::info(type).bits;
    Type host = host_[bytes].type;
    return bits < 8 ? host_.mul(bytes, host_.integer(8 / bits, host))
                    : host_.binary(Op::floordiv, bytes, host_.integer(bits / 8, host));
  }

  void begin_inside(Binding& binding, const std::vector<ValueId>& begins) {
    ValueId begin = begins[binding.buffer.value];
    if (!begin) return;
    binding.offset = binding.offset ? host_.add(begin, binding.offset) : begin;
  }

  /// Whether a launch can bind a buffer so many elements from its beginning.
  bool can_bind(ValueId offset, ElemType type) const {
    if (!offset || host_.as_integer(offset) == 0) return true;
    auto form = alignment_ ? linear_form(host_, offset) : std::nullopt;
    return form && std::all_of(form->terms().begin(), form->terms().end(), [&](const auto& term) {
             return term.second * graph::info(type).bits % (alignment_ * 8) == 0;
           });
  }

  void note(const Variant& variant) {
    for (size_t p = 0; p < variant.bindings.size(); ++p) {
      const Binding& binding = variant.bindings[p];
      if (!can_bind(binding.offset, program_.buffers[binding.buffer.value].type))
        moved_[variant.kernel.value][p] = true;
    }
  }

  void change(Kernel& kernel, const std::vector<bool>& moved) {
    TANG_CHECK(kernel.index_bits, "addresses of kernel `{}` have no type", kernel.name);
    ValueStore& values = kernel.values;
    for (size_t p = 0; p < moved.size(); ++p) {
      if (!moved[p]) continue;
      TensorId id = kernel.params[p];
      Tensor& tensor = kernel.tensors[id.value];
      VarId begin = values.add_var({tensor.name + "_begin", type_, 0, {}});
      kernel.scalars.push_back({begin});
      auto further = [&](ValueId place) {
        return values.add(values.variable(begin), values.convert(type_, place));
      };
      tensor.shape[0] = further(tensor.shape[0]);
      for_each_ref(kernel.body, [&](Ref& ref) {
        if (ref.tensor == id) ref.coordinates = {further(ref.coordinates[0])};
      });
    }
  }

  void change(Variant& variant) {
    const std::vector<bool>& moved = moved_[variant.kernel.value];
    for (size_t p = 0; p < moved.size(); ++p) {
      if (!moved[p]) continue;
      Binding& binding = variant.bindings[p];
      ValueId offset = binding.offset ? binding.offset : host_.integer(0, Type::i64);
      if (type_ == Type::i32) {
        // What the kernel reaches has to have a number.
        ValueId end = host_.add(offset, program_.buffers[binding.buffer.value].elements);
        ValueId fits = host_.binary(Op::le, end, host_.integer(2147483647, Type::i64));
        variant.condition = host_.both(variant.condition, fits);
      }
      variant.scalars.push_back(offset);
      binding.offset = host_.integer(0, Type::i64);
    }
  }

  Program& program_;
  ValueStore& host_;
  int64_t alignment_;
  Type type_;
  std::vector<std::vector<bool>> moved_; ///< by kernel and parameter
};

} // namespace

void whole_buffers(Program& program, const Capabilities& capabilities, const Options&) {
  Binder(program, capabilities).run();
}

} // namespace tang::legalize
