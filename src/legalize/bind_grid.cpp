// The hardware numbers blocks and threads along one axis; the coordinates of the grid's and the
// block's modes come from these numbers, the first mode varying fastest:
//
//   blocks (i: S, j: T)   becomes   (j, i) <- Delinearize(block; T, S)
#include "base/check.h"
#include "kernel/interval.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;

namespace {

struct Mode {
  VarId coordinate;
  ValueId extent;
};

/// Replaces coordinates by what they are in terms of one number, and defines the others at the head
/// of the body. Without any, there is no number.
class Binder {
public:
  explicit Binder(Kernel& kernel) : kernel_(kernel), values_(kernel.values) {}

  void run() {
    std::vector<Mode> blocks, threads;
    for (const BlockMode& m : kernel_.blocks) blocks.push_back({m.coordinate, m.extent});
    for (const ThreadMode& m : kernel_.threads)
      threads.push_back({m.coordinate, values_.integer(m.extent)});
    kernel_.flat_block = bind(blocks, "block_number");
    kernel_.flat_thread = bind(threads, "thread_number");
    substitute(kernel_, known_);
    kernel_.body.insert(kernel_.body.begin(), std::make_move_iterator(head_.begin()),
                        std::make_move_iterator(head_.end()));
  }

private:
  VarId bind(const std::vector<Mode>& modes, const char* name) {
    IntRange count{1, 1};
    Delinearize digits;
    for (size_t i = modes.size(); i-- > 0;) {
      // Modes of one place have the coordinate 0.
      if (values_.as_integer(modes[i].extent) == 1) {
        known_[modes[i].coordinate] = values_.integer(0);
        continue;
      }
      count = multiply(count, values_.range(modes[i].extent));
      digits.vars.push_back(modes[i].coordinate);
      digits.extents.push_back(modes[i].extent);
    }
    if (digits.vars.empty()) return {};
    Var number{name, Type::index, 0, {}};
    if (count.hi != unbounded_above) number.hi = std::max<int64_t>(count.hi - 1, 0);
    VarId flat = values_.add_var(std::move(number));
    digits.value = values_.variable(flat);
    if (digits.vars.size() == 1)
      known_[digits.vars[0]] = digits.value;
    else
      head_.push_back({std::move(digits)});
    return flat;
  }

  Kernel& kernel_;
  ValueStore& values_;
  std::unordered_map<VarId, ValueId> known_;
  Body head_;
};

} // namespace

void bind_grid(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) Binder(kernel).run();
}

} // namespace tang::legalize
