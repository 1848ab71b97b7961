#pragma once
// What a target's code of a program stores between its kernels.
#include "derived.h"
#include "driver/pipeline.h"
#include "driver/storage.h"
#include "targets/find.h"

namespace tang::rediscover {

struct Compiled {
  driver::Variant code; ///< for all sizes

  size_t kernels() const {
    size_t count = 0;
    for (const plan::Step& step : code.plan.steps)
      count += std::holds_alternative<plan::KernelPlan>(step.node);
    return count;
  }

  /// The tensors of the workspace.
  std::vector<TensorId> stored() const {
    std::vector<TensorId> found;
    for (const kernel::Buffer& buffer : code.program.buffers)
      if (buffer.kind == kernel::Buffer::Kind::workspace) found.push_back(buffer.tensor);
    return found;
  }

  /// Bytes of all of them together, as if none shared a slot, and of the largest.
  int64_t stored_bytes(const std::vector<int64_t>& dims) const {
    int64_t bytes = 0;
    for (TensorId id : stored()) bytes += driver::storage_bytes(code.graph, id, dims);
    return bytes;
  }
  int64_t largest_bytes(const std::vector<int64_t>& dims) const {
    int64_t bytes = 0;
    for (TensorId id : stored())
      bytes = std::max(bytes, driver::storage_bytes(code.graph, id, dims));
    return bytes;
  }
};

/// The program at -O2 for a target, with the bounds of its usual device.
inline Compiled compiled(const std::string& text, const std::string& target) {
  driver::Input input{"test.tg", "test.tg", "test", std::string(64, '0'), {}, {}, {}, {}};
  input.written = graph_of(text);
  input.graph = rewrite::differentiate(input.written);
  driver::CommonOptions common;
  driver::Stages stages(common, {}, "");
  driver::CompileOptions options;
  std::string error;
  auto spec = targets::find_target(target, error);
  INFO(error);
  REQUIRE(spec);
  options.targets = {*spec};
  Sink sink;
  auto graphs = driver::rewrite_graphs({&input.graph, 1}, options.level, stages);
  auto result = driver::compile_target(graphs, input, *spec, options, sink, stages);
  std::string messages;
  for (const auto& d : sink.diagnostics()) messages += d.message + "\n";
  INFO(text << messages);
  REQUIRE(result);
  return {std::move(result->variants.back())};
}

} // namespace tang::rediscover
