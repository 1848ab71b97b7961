#include "driver/target_limits.h"
#include "print/kernel_facts.h"
#include <algorithm>

namespace tang::driver {

using namespace kernel;
using targets::Feature;
using targets::LimitKey;

namespace {

/// What a kernel uses that not every target has.
struct Needs {
  bool shared = false, shuffle = false, f64 = false;
};

Needs needs_of(const Kernel& kernel) {
  Needs needs;
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    needs.shuffle |= std::holds_alternative<Shfl>(stmt.node);
    const auto* allocate = std::get_if<Allocate>(&stmt.node);
    needs.shared |= allocate && kernel[allocate->tensor].memory == Memory::shared;
  });
  needs.f64 = print::computes_in(kernel, Type::f64) ||
              std::any_of(kernel.tensors.begin(), kernel.tensors.end(),
                          [](const Tensor& tensor) { return tensor.type == ElemType::f64; });
  return needs;
}

} // namespace

bool check_kernel(const Kernel& kernel, Span place, const targets::Target& target, Sink& sink) {
  Needs needs = needs_of(kernel);
  auto refuse = [&](std::string reason) {
    sink.report(Kind::target_cannot, place, "{} cannot run kernel `{}`: {}", target.name,
                kernel.name, reason);
    return false;
  };
  if (needs.f64 && !target.has(Feature::f64)) return refuse("it computes in f64");
  int64_t buffers = target.limit(LimitKey::max_buffers);
  if (buffers > 0 && static_cast<int64_t>(kernel.params.size()) > buffers)
    return refuse(fmt::format("it reads and writes {} tensors, and {} are the most",
                              kernel.params.size(), buffers));
  int threads = kernel.thread_count();
  if (!target.has(Feature::hardware_grid)) {
    if (threads > 1) return refuse(fmt::format("its blocks have {} threads, not 1", threads));
    if (needs.shared) return refuse("it uses shared memory");
    return true;
  }
  if (threads > target.limit(LimitKey::max_threads_per_block))
    return refuse(fmt::format("its blocks have {} threads, and {} are the most", threads,
                              target.limit(LimitKey::max_threads_per_block)));
  if (needs.shuffle && !target.has(Feature::warp_shuffle))
    return refuse("it exchanges values within a warp");
  int64_t most = target.has(Feature::dynamic_shared_memory)
                     ? target.limit(LimitKey::dynamic_shared_bytes)
                     : target.limit(LimitKey::static_shared_bytes);
  if (int64_t bytes = declared_bytes(kernel); bytes > most)
    return refuse(
        fmt::format("it uses {} bytes of shared memory, and {} are the most", bytes, most));
  return true;
}

bool check_kernels(const Program& program, const graph::Graph& graph, const targets::Target& target,
                   Sink& sink) {
  std::vector<Span> places(program.kernels.size());
  for (const Step& step : program.steps)
    if (const auto* dispatch = std::get_if<Dispatch>(&step.node);
        dispatch && !dispatch->nodes.empty())
      for (const kernel::Variant& v : dispatch->variants)
        places[v.kernel.value] = graph.nodes[dispatch->nodes[0]].span;
  bool good = true;
  for (size_t i = 0; i < places.size(); ++i)
    good = check_kernel(program.kernels[i], places[i], target, sink) && good;
  return good;
}

} // namespace tang::driver
