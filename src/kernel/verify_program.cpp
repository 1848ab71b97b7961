#include "base/check.h"
#include "kernel/misfit.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::kernel {
namespace {

class ProgramVerifier {
public:
  explicit ProgramVerifier(const Program& program) : program_(program) {}

  void run() {
    std::set<std::string> names;
    for (uint32_t i = 0; i < program_.kernels.size(); ++i) {
      const Kernel& kernel = program_.kernels[i];
      try {
        check(kernel);
      } catch (KernelMisfit& misfit) {
        throw Misfit{std::move(misfit.text), KernelId(i), misfit.statement};
      }
      require(names.insert(kernel.name).second, "two kernels are called `{}`", kernel.name);
    }
    for (const Buffer& buffer : program_.buffers)
      if (buffer.kind == Buffer::Kind::workspace)
        require(buffer.slot < program_.slots.size(), "`{}` is in slot {} of {}", buffer.name,
                buffer.slot, program_.slots.size());
    for (const Promise& promise : program_.promises)
      require(promise.buffer.value < program_.buffers.size() && !promise.shape.empty() &&
                  promise.shape.size() == promise.strides.size() &&
                  graph::scalar_of(program_.buffers[promise.buffer.value].type) !=
                      graph::Scalar::real,
              "a promise about buffer {} of {} does not fit it", promise.buffer.value,
              program_.buffers.size());
    steps(program_.steps);
    for (size_t i = 0; i < program_.buffers.size(); ++i) written(static_cast<uint32_t>(i));
    lives();
  }

private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    if (holds) return;
    throw Misfit{fmt::format(format, std::forward<Args>(args)...), {}, {}};
  }

  void steps(const std::vector<Step>& list) {
    for (const Step& step : list)
      std::visit(
          Overload{[&](const Dispatch& d) { dispatch(d); }, [&](const Loop& l) { steps(l.body); }},
          step.node);
  }

  void dispatch(const Dispatch& d) {
    ++position_;
    require(!d.variants.empty(), "`{}` has no variant", d.name);
    for (const Variant& v : d.variants) {
      if (v.condition)
        require(program_.values[v.condition].type == Type::boolean, "a condition of `{}` is {}",
                d.name, name(program_.values[v.condition].type));
      variant(d, v);
    }
  }

  void variant(const Dispatch& d, const Variant& v) {
    require(v.kernel.value < program_.kernels.size(), "`{}` launches kernel {} of {}", d.name,
            v.kernel.value, program_.kernels.size());
    const Kernel& kernel = program_.kernels[v.kernel.value];
    require(v.bindings.size() == kernel.params.size(), "`{}` binds {} of {} tensors of `{}`",
            d.name, v.bindings.size(), kernel.params.size(), kernel.name);
    require(v.scalars.size() == kernel.scalars.size(), "`{}` passes {} of {} scalars to `{}`",
            d.name, v.scalars.size(), kernel.scalars.size(), kernel.name);
    require(v.blocks.size() == kernel.blocks.size(), "`{}` gives {} of {} grid extents of `{}`",
            d.name, v.blocks.size(), kernel.blocks.size(), kernel.name);
    for (size_t i = 0; i < v.bindings.size(); ++i) {
      BufferId id = v.bindings[i].buffer;
      require(id.value < program_.buffers.size(), "`{}` binds buffer {} of {}", d.name, id.value,
              program_.buffers.size());
      const Buffer& buffer = program_.buffers[id.value];
      const Tensor& tensor = kernel[kernel.params[i]];
      require(buffer.type == tensor.type, "`{}` binds {} `{}` to {} `{}`", d.name,
              graph::info(buffer.type).name, buffer.name, graph::info(tensor.type).name,
              tensor.name);
      require(!tensor.written || buffer.kind != Buffer::Kind::table, "`{}` writes table `{}`",
              d.name, buffer.name);
      require(!tensor.written || buffer.kind != Buffer::Kind::argument || buffer.written,
              "`{}` writes input `{}`", d.name, buffer.name);
      auto [at, fresh] = life_.try_emplace(id.value, std::pair(position_, position_));
      at->second.second = position_;
      if (tensor.written) written_.insert(id.value);
    }
  }

  void written(uint32_t buffer) const {
    const Buffer& b = program_.buffers[buffer];
    bool empty = program_.values.range(b.elements).hi <= 0;
    require(!b.written || empty || written_.contains(buffer), "nothing writes output `{}`", b.name);
    bool needs = b.kind == Buffer::Kind::workspace && life_.contains(buffer);
    require(!needs || empty || written_.contains(buffer), "`{}` is read and never written", b.name);
  }

  /// Buffers of one slot are in use one after the other.
  void lives() const {
    using Life = std::pair<int, int>;
    std::map<uint32_t, std::vector<std::pair<Life, uint32_t>>> slots;
    for (const auto& [id, life] : life_)
      if (program_.buffers[id].kind == Buffer::Kind::workspace)
        slots[program_.buffers[id].slot].emplace_back(life, id);
    for (auto& [slot, users] : slots) {
      std::sort(users.begin(), users.end());
      for (size_t i = 1; i < users.size(); ++i)
        require(users[i - 1].first.second < users[i].first.first,
                "`{}` and `{}` share slot {} at one time",
                program_.buffers[users[i - 1].second].name, program_.buffers[users[i].second].name,
                slot);
    }
  }

  const Program& program_;
  int position_ = 0;
  std::map<uint32_t, std::pair<int, int>> life_;
  std::set<uint32_t> written_;
};

} // namespace

std::optional<Misfit> find_misfit(const Program& program) {
  try {
    ProgramVerifier(program).run();
  } catch (Misfit& misfit) {
    return std::move(misfit);
  }
  return std::nullopt;
}

void verify(const Program& program, std::string_view stage) {
  auto misfit = find_misfit(program);
  if (!misfit) return;
  if (misfit->kernel) {
    const Kernel& kernel = program.kernels[misfit->kernel.value];
    throw InternalError(fmt::format("after `{}`: kernel `{}`: {}\n{}", stage, kernel.name,
                                    misfit->text, to_text(kernel)));
  }
  throw InternalError(fmt::format("after `{}`: program `{}`: {}\n{}", stage, program.name,
                                  misfit->text, to_text(program)));
}

} // namespace tang::kernel
