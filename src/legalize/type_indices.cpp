// Values and variables of type `index` become 32- or 64-bit integers, as index_width decided. Up to
// here both widths of a kernel are one; here each that is launched gets a kernel of its own.
#include "base/check.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"
#include <array>
#include <set>
#include <utility>

namespace tang::legalize {

using namespace kernel;

namespace {

/// The kernel without its values, typed: those that it uses are built anew in its store.
void type_indices(Kernel& kernel, const ValueStore& old, int bits) {
  kernel.index_bits = bits;
  Type index = bits == 32 ? Type::i32 : Type::i64;
  auto typed = [&](Type type) { return type == Type::index ? index : type; };
  // Variables keep their numbers, so statements need no change but for their values.
  ValueStore& fresh = kernel.values;
  for (Var var : old.vars()) {
    var.type = typed(var.type);
    fresh.add_var(std::move(var));
  }
  std::vector<ValueId> used;
  map_all_values(kernel, [&](ValueId id) {
    used.push_back(id);
    return id;
  });
  std::vector<ValueId> moved(old.size());
  std::vector<ValueId> operands;
  for (ValueId id : reachable(old, used)) {
    const Value& v = old[id];
    ValueId& to = moved[id.value];
    operands.clear();
    for (ValueId operand : v.operands) operands.push_back(moved[operand.value]);
    switch (v.form) {
    case Form::literal:
      to = v.type == Type::boolean ? fresh.boolean(v.integer)
           : is_real(v.type)       ? fresh.real(v.real, v.type)
                                   : fresh.integer(v.integer, typed(v.type));
      break;
    case Form::variable: to = fresh.variable(VarId(v.ref)); break;
    case Form::element: to = fresh.element(TensorId(v.ref), typed(v.type), operands); break;
    case Form::convert: to = fresh.convert(typed(v.type), operands[0]); break;
    case Form::round: to = fresh.round(v.to, operands[0]); break;
    case Form::operation:
      to = operands.size() == 1   ? fresh.unary(v.op, operands[0])
           : operands.size() == 2 ? fresh.binary(v.op, operands[0], operands[1])
                                  : fresh.select(operands[0], operands[1], operands[2]);
      break;
    }
  }
  map_all_values(kernel, [&](ValueId id) { return moved[id.value]; });
}

class Typing {
public:
  explicit Typing(Program& program) : program_(program), made_(program.kernels.size()) {}

  void run() {
    for_each_dispatch(program_.steps, [&](Dispatch& dispatch) {
      for (Variant& variant : dispatch.variants) variant.kernel = launched(variant);
    });
    std::vector<Kernel> typed(count_);
    std::set<std::string> names;
    for (const Kernel& kernel : program_.kernels) names.insert(kernel.name);
    for (size_t k = 0; k < program_.kernels.size(); ++k) {
      Kernel& kernel = program_.kernels[k];
      const ValueStore values = std::exchange(kernel.values, {});
      bool both = made_[k][0] && made_[k][1];
      for (bool wide : {false, true}) {
        if (!made_[k][wide]) continue;
        Kernel copy = both && !wide ? kernel : std::move(kernel);
        type_indices(copy, values, wide ? 64 : 32);
        if (both && wide) copy.name = unique(copy.name + "_wide", names);
        typed[made_[k][wide].value] = std::move(copy);
      }
    }
    program_.kernels = std::move(typed);
  }

private:
  /// The typed kernels are numbered in the order in which the launcher names them.
  KernelId launched(const Variant& variant) {
    TANG_CHECK(variant.index_bits == 32 || variant.index_bits == 64,
               "the index width of a launch of `{}` is not decided",
               program_.kernels[variant.kernel.value].name);
    KernelId& id = made_[variant.kernel.value][variant.index_bits == 64];
    if (!id) id = KernelId(static_cast<uint32_t>(count_++));
    return id;
  }

  static std::string unique(const std::string& wish, std::set<std::string>& names) {
    std::string name = wish;
    for (int n = 2; !names.insert(name).second; ++n) name = fmt::format("{}_{}", wish, n);
    return name;
  }

  Program& program_;
  std::vector<std::array<KernelId, 2>> made_; ///< by kernel and width
  size_t count_ = 0;
};

} // namespace

void type_indices(Program& program, const Capabilities&, const Options&) {
  Typing(program).run();
}

} // namespace tang::legalize
