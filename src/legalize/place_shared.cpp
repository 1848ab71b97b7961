// Shared memory beyond what a kernel may declare is asked for by the launcher: its tensors lie one
// behind the other in one block of memory.
#include "base/check.h"
#include "legalize/passes.h"

namespace tang::legalize {

using namespace kernel;

namespace {

/// No instruction wants its operands aligned further.
constexpr int64_t alignment = 128;

int64_t aligned(int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

void place(Kernel& kernel, int64_t most) {
  std::vector<TensorId> tensors;
  int64_t total = 0;
  auto bytes_of = [&](const Tensor& tensor) {
    auto size = kernel.values.as_integer(tensor.shape[0]);
    TANG_CHECK(size && tensor.shape.size() == 1, "`{}` of `{}` has no constant size", tensor.name,
               kernel.name);
    return graph::bytes_of(tensor.type, *size);
  };
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    const auto* allocate = std::get_if<Allocate>(&stmt.node);
    if (!allocate || kernel[allocate->tensor].memory != Memory::shared) return;
    tensors.push_back(allocate->tensor);
    total += aligned(bytes_of(kernel[allocate->tensor]));
  });
  if (total <= most) return;
  for (TensorId id : tensors) {
    Tensor& tensor = kernel.tensors[id.value];
    tensor.offset = kernel.shared_bytes;
    kernel.shared_bytes += aligned(bytes_of(tensor));
  }
}

} // namespace

void place_shared(Program& program, const Capabilities& capabilities, const Options&) {
  for (Kernel& kernel : program.kernels) place(kernel, capabilities.static_shared_bytes);
}

} // namespace tang::legalize
