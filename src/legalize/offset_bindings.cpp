// What every access to a parameter adds to its offset is the launcher's to add: a layer's weights
// are the stacked weights from layer*size on, and then equal layers have equal kernels.
#include "base/check.h"
#include "base/checked.h"
#include "kernel/linear.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;
using graph::Polynomial;

namespace {

bool is_uniform(const Kernel& kernel, const Polynomial::Monomial& monomial) {
  return std::all_of(monomial.begin(), monomial.end(), [&](graph::ExprId atom) {
    const Value& v = kernel.values[value_of(atom)];
    return v.form == Form::variable &&
           std::any_of(kernel.scalars.begin(), kernel.scalars.end(),
                       [&](const ScalarParam& p) { return p.var.value == v.ref; });
  });
}

/// The terms over scalar parameters that all `offsets` have, and the least constant. Empty when one
/// offset has no linear form.
Polynomial common_part(const Kernel& kernel, const std::vector<Polynomial>& offsets) {
  Polynomial common;
  for (const auto& [monomial, coefficient] : offsets[0].terms()) {
    if (coefficient <= 0 || !is_uniform(kernel, monomial)) continue;
    int64_t least = coefficient;
    bool everywhere = true;
    for (const Polynomial& offset : offsets) {
      int64_t here = offset.coefficient(monomial);
      everywhere &= monomial.empty() ? here > 0 : here == coefficient;
      least = std::min(least, here);
    }
    if (everywhere) common = *common.plus(Polynomial::term(monomial, least));
  }
  // The pointer stays in front of what is accessed.
  for (const Polynomial& offset : offsets)
    if (range(kernel.values, *offset.minus(common)).lo < 0) return {};
  return common;
}

/// Bytes that `elements` is surely a multiple of, up to `align`.
int aligned(const Polynomial& elements, ElemType type, int align) {
  int64_t bits = int64_t(align) * 8;
  for (const auto& [monomial, coefficient] : elements.terms())
    bits = common_divisor(bits, coefficient * graph::info(type).bits);
  return static_cast<int>(std::max<int64_t>(bits / 8, 1));
}

struct Move {
  size_t param;
  ValueId offset; ///< kernel value over scalars
};

std::vector<Move> moves_of(Kernel& kernel) {
  std::vector<Move> moves;
  for (size_t p = 0; p < kernel.params.size(); ++p) {
    TensorId id = kernel.params[p];
    std::vector<Polynomial> offsets;
    bool linear = true;
    for_each_ref(kernel.body, [&](Ref& ref) {
      if (ref.tensor != id) return;
      auto form = linear_form(kernel.values, ref.coordinates[0]);
      linear &= form.has_value();
      offsets.push_back(form.value_or(Polynomial()));
    });
    if (!linear || offsets.empty()) continue;
    Polynomial common = common_part(kernel, offsets);
    if (common.is_zero()) continue;
    Tensor& tensor = kernel.tensors[id.value];
    // A pointer cannot stand inside a byte.
    if (graph::is_packed(tensor.type)) {
      bool whole = std::all_of(common.terms().begin(), common.terms().end(),
                               [](const auto& t) { return t.second % 2 == 0; });
      if (!whole) continue;
    }
    tensor.align = aligned(common, tensor.type, tensor.align);
    tensor.shape[0] = kernel.values.sub(tensor.shape[0], build(kernel.values, common));
    for_each_ref(kernel.body, [&](Ref& ref) {
      if (ref.tensor == id)
        ref.coordinates[0] = kernel.values.sub(ref.coordinates[0], build(kernel.values, common));
    });
    moves.push_back({p, build(kernel.values, common)});
  }
  return moves;
}

} // namespace

void offset_bindings(Program& program, const Capabilities&, const Options&) {
  std::vector<std::vector<Move>> moves;
  for (Kernel& kernel : program.kernels) moves.push_back(moves_of(kernel));
  for_each_dispatch(program.steps, [&](Dispatch& dispatch) {
    for (Variant& variant : dispatch.variants) {
      const Kernel& kernel = program.kernels[variant.kernel.value];
      for (const Move& move : moves[variant.kernel.value]) {
        ValueId more = host_value(kernel, move.offset, program.values, variant.scalars);
        TANG_CHECK(more, "an offset of kernel `{}` is no host value", kernel.name);
        ValueId& offset = variant.bindings[move.param].offset;
        offset = offset ? program.values.add(offset, more) : more;
      }
    }
  });
}

} // namespace tang::legalize
