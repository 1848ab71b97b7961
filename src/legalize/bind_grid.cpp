// The hardware numbers blocks and threads along one axis; the coordinates of the grid's and the
// block's modes are digits of these numbers, the first mode varying fastest:
//
//   blocks (i: S, j: T)   becomes   i <- mod(block, S),  j <- floordiv(block, S)
#include "base/check.h"
#include "kernel/interval.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;

namespace {

struct Digit {
  VarId coordinate;
  ValueId extent;
};

/// Defines the digits of `flat` at the head of `lets`.
void define_digits(Kernel& kernel, ValueId flat, const std::vector<Digit>& digits, Body& lets) {
  ValueStore& s = kernel.values;
  ValueId rest = flat;
  for (size_t i = 0; i < digits.size(); ++i) {
    bool last = i + 1 == digits.size();
    ValueId value = last ? rest : s.binary(Op::mod, rest, digits[i].extent);
    lets.push_back({Let{digits[i].coordinate, value}});
    if (!last) rest = s.binary(Op::floordiv, rest, digits[i].extent);
  }
}

/// Modes of one place have the coordinate 0 and are no digits.
template <class Mode, class Extent>
std::vector<Digit> digits_of(Kernel& kernel, const std::vector<Mode>& modes, Extent extent,
                             std::unordered_map<VarId, ValueId>& zero) {
  std::vector<Digit> digits;
  for (const Mode& mode : modes) {
    ValueId e = extent(mode);
    if (kernel.values.as_integer(e) == 1)
      zero[mode.coordinate] = kernel.values.integer(0);
    else
      digits.push_back({mode.coordinate, e});
  }
  return digits;
}

void bind(Kernel& kernel) {
  ValueStore& s = kernel.values;
  std::unordered_map<VarId, ValueId> zero;
  auto blocks = digits_of(
      kernel, kernel.blocks, [](const BlockMode& m) { return m.extent; }, zero);
  auto threads = digits_of(
      kernel, kernel.threads, [&](const ThreadMode& m) { return s.integer(m.extent); }, zero);
  substitute(kernel, zero);
  Body lets;
  if (!blocks.empty()) {
    IntRange count{1, 1};
    for (const Digit& digit : blocks) count = multiply(count, s.range(digit.extent));
    Var number{"block_number", Type::index, 0, {}};
    if (count.hi != unbounded_above) number.hi = std::max<int64_t>(count.hi - 1, 0);
    kernel.flat_block = s.add_var(std::move(number));
    define_digits(kernel, s.variable(kernel.flat_block), blocks, lets);
  }
  if (!threads.empty()) {
    kernel.flat_thread = s.add_var({"thread_number", Type::index, 0, kernel.thread_count() - 1});
    define_digits(kernel, s.variable(kernel.flat_thread), threads, lets);
  }
  kernel.body.insert(kernel.body.begin(), std::make_move_iterator(lets.begin()),
                     std::make_move_iterator(lets.end()));
}

} // namespace

void bind_grid(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) bind(kernel);
}

} // namespace tang::legalize
