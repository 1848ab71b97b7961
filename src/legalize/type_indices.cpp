// Values and variables of type `index` become 32- or 64-bit integers, as index_width decided.
#include "base/check.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;

namespace {

void type_indices(Kernel& kernel) {
  TANG_CHECK(kernel.index_bits == 32 || kernel.index_bits == 64,
             "the index width of kernel `{}` is not decided", kernel.name);
  Type index = kernel.index_bits == 32 ? Type::i32 : Type::i64;
  auto typed = [&](Type type) { return type == Type::index ? index : type; };
  // A new store: variables keep their numbers, so statements need no change but for their values.
  ValueStore old = std::move(kernel.values), fresh;
  for (Var var : old.vars()) {
    var.type = typed(var.type);
    fresh.add_var(std::move(var));
  }
  std::vector<ValueId> moved(old.size());
  std::vector<ValueId> operands;
  for (uint32_t i = 0; i < old.size(); ++i) {
    const Value& v = old[ValueId(i)];
    operands.clear();
    for (ValueId operand : v.operands) operands.push_back(moved[operand.value]);
    switch (v.form) {
    case Form::literal:
      moved[i] = v.type == Type::boolean ? fresh.boolean(v.integer)
                 : is_real(v.type)       ? fresh.real(v.real, v.type)
                                         : fresh.integer(v.integer, typed(v.type));
      break;
    case Form::variable: moved[i] = fresh.variable(VarId(v.ref)); break;
    case Form::element: moved[i] = fresh.element(TensorId(v.ref), typed(v.type), operands); break;
    case Form::convert: moved[i] = fresh.convert(typed(v.type), operands[0]); break;
    case Form::round: moved[i] = fresh.round(v.to, operands[0]); break;
    case Form::operation:
      moved[i] = operands.size() == 1   ? fresh.unary(v.op, operands[0])
                 : operands.size() == 2 ? fresh.binary(v.op, operands[0], operands[1])
                                        : fresh.select(operands[0], operands[1], operands[2]);
      break;
    }
  }
  kernel.values = std::move(fresh);
  map_all_values(kernel, [&](ValueId id) { return moved[id.value]; });
}

} // namespace

void type_indices(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) type_indices(kernel);
}

} // namespace tang::legalize
