// Kernels that differ in names and comments only are one: the first stays. Kernels that nobody
// launches go.
#include "legalize/passes.h"
#include "legalize/rewriting.h"
#include <algorithm>

namespace tang::legalize {

using namespace kernel;

void dedupe_kernels(Program& program, const Capabilities&, const Options&) {
  std::vector<bool> used(program.kernels.size(), false);
  for_each_dispatch(program.steps, [&](Dispatch& dispatch) {
    for (Variant& variant : dispatch.variants) used[variant.kernel.value] = true;
  });
  std::unordered_map<std::string, KernelId> first;
  std::vector<KernelId> renamed(program.kernels.size());
  std::vector<Kernel> kept;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    if (!used[i]) continue;
    Kernel& kernel = program.kernels[i];
    KernelId next(static_cast<uint32_t>(kept.size()));
    auto [at, fresh] = first.try_emplace(canonical_form(kernel), next);
    renamed[i] = at->second;
    if (fresh) {
      kept.push_back(std::move(kernel));
      continue;
    }
    // All callers must keep what the shared kernel promises about its pointers.
    Kernel& same = kept[at->second.value];
    for (size_t p = 0; p < same.params.size(); ++p) {
      int& align = same.tensors[same.params[p].value].align;
      align = std::min(align, kernel[kernel.params[p]].align);
    }
  }
  for_each_dispatch(program.steps, [&](Dispatch& dispatch) {
    for (Variant& variant : dispatch.variants) variant.kernel = renamed[variant.kernel.value];
  });
  program.kernels = std::move(kept);
}

} // namespace tang::legalize
