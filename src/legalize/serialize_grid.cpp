// Without hardware that starts blocks, the blocks of a kernel are loops around its body:
//
//   blocks (i: S, j: T) body   becomes   for j in 0 .. T { for i in 0 .. S { body } }
#include "base/check.h"
#include "legalize/passes.h"
#include "legalize/rewriting.h"

namespace tang::legalize {

using namespace kernel;

namespace {

/// With one thread, all threads have met already.
void drop_barriers(Body& body) {
  std::erase_if(body, [](const Stmt& s) { return std::holds_alternative<Barrier>(s.node); });
  for (Stmt& stmt : body)
    std::visit(Overload{[](For& s) { drop_barriers(s.body); },
                        [](If& s) {
                          drop_barriers(s.then);
                          drop_barriers(s.otherwise);
                        },
                        [](Spec& s) { drop_barriers(s.body); }, [](Let&) {}, [](Delinearize&) {},
                        [](Allocate&) {}, [](Load&) {}, [](Store&) {}, [](Copy&) {}, [](Shfl&) {},
                        [](Barrier&) {}, [](Atom&) {}},
               stmt.node);
}

void serialize(Kernel& kernel) {
  TANG_CHECK(kernel.thread_count() == 1,
             "kernel `{}` has {} threads on a target where a block is one thread", kernel.name,
             kernel.thread_count());
  ValueStore& s = kernel.values;
  std::unordered_map<VarId, ValueId> zero;
  for (const ThreadMode& mode : kernel.threads) zero[mode.coordinate] = s.integer(0);
  for (const BlockMode& mode : kernel.blocks)
    if (s.as_integer(mode.extent) == 1) zero[mode.coordinate] = s.integer(0);
  substitute(kernel, zero);
  drop_barriers(kernel.body);
  for (const BlockMode& mode : kernel.blocks) {
    if (zero.contains(mode.coordinate)) continue;
    For loop{mode.coordinate, s.integer(0), mode.extent, s.integer(1), LoopKind::serial, {}};
    loop.body = std::move(kernel.body);
    kernel.body.clear();
    kernel.body.push_back({std::move(loop)});
  }
  kernel.blocks.clear();
  kernel.threads.clear();
}

} // namespace

void serialize_grid(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels) serialize(kernel);
  for_each_dispatch(program.steps, [](Dispatch& dispatch) {
    for (Variant& variant : dispatch.variants) variant.blocks.clear();
  });
}

} // namespace tang::legalize
