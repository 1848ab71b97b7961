#include "interpret/run_kernel.h"
#include "base/check.h"
#include "interpret/kernel/compile.h"
#include "interpret/kernel/host.h"
#include "interpret/kernel/machine.h"
#include <algorithm>

namespace tang::interpret {

using namespace simulator;
using kernel::Buffer;
using kernel::BufferId;
using kernel::Dispatch;
using kernel::Kernel;
using kernel::ValueId;
using kernel::Variant;

namespace {

/// A kernel that was launched before.
struct Ready {
  CompiledKernel code;
  std::unique_ptr<Machine> machine;
};

class Run {
public:
  Run(const kernel::Program& program, std::span<const int64_t> dims,
      std::map<BufferId, Argument>& arguments, const RunOptions& options)
      : program_(program), arguments_(arguments), options_(options) {
    TANG_CHECK(dims.size() == program.dims.size(), "{} dims are given, and `{}` has {}",
               dims.size(), program.name, program.dims.size());
    for (size_t i = 0; i < dims.size(); ++i) variables_[program.dims[i]] = dims[i];
  }

  RunReport run() {
    if (allocate()) {
      steps(program_.steps);
      outputs();
    }
    return {findings_.take(), std::move(counts_)};
  }

private:
  bool allocate_workspace();
  bool allocate();
  void bind_argument(BufferId id, const Buffer& buffer, BufferState& state);
  void bind_table(const Buffer& buffer, BufferState& state);
  void steps(const std::vector<kernel::Step>& list);
  void dispatch(const Dispatch& dispatch);
  const Variant* choose(const Dispatch& dispatch);
  void launch(const Variant& variant);
  void outputs();
  Ready& ready(kernel::KernelId id);
  std::optional<int64_t> value(ValueId id) {
    return id ? host_value(program_.values, id, variables_) : 0;
  }
  void refuse(const std::string& kernel, std::string note) {
    if (Finding* f = findings_.add(Fault::refused, kernel, 0, "")) f->note = std::move(note);
  }

  const kernel::Program& program_;
  std::map<BufferId, Argument>& arguments_;
  RunOptions options_;
  HostVariables variables_;
  std::vector<BufferState> buffers_;
  std::deque<Storage> own_; ///< of arguments and tables
  std::deque<Storage> slots_;
  std::map<kernel::KernelId, Ready> ready_;
  Findings findings_;
  std::map<std::string, Counts> counts_;
  uint32_t launches_ = 0;
};

/// One memory for each slot, or for all where launches bind the whole workspace.
bool Run::allocate_workspace() {
  kernel::ValueStore values = program_.values;
  std::vector<ValueId> sizes;
  for (const kernel::Slot& slot : program_.slots) sizes.push_back(slot.bytes);
  if (program_.whole_buffers && !sizes.empty())
    sizes = {kernel::slot_ends(values, program_.slots).back()};
  for (ValueId size : sizes) {
    auto bytes = host_value(values, size, variables_);
    if (!bytes) return refuse("", "the size of the workspace leaves 64 bits"), false;
    slots_.emplace_back().resize(static_cast<size_t>(*bytes), 0xff);
  }
  return true;
}

bool Run::allocate() {
  if (!allocate_workspace()) return false;
  buffers_.resize(program_.buffers.size());
  for (uint32_t n = 0; n < buffers_.size(); ++n) {
    const Buffer& buffer = program_.buffers[n];
    BufferState& state = buffers_[n];
    auto elements = value(buffer.elements);
    if (!elements) return refuse("", fmt::format("`{}` is too large", buffer.name)), false;
    state.type = buffer.type, state.elements = *elements, state.align = buffer.align;
    switch (buffer.kind) {
    case Buffer::Kind::argument: bind_argument(BufferId(n), buffer, state); break;
    case Buffer::Kind::table: bind_table(buffer, state); break;
    case Buffer::Kind::workspace:
      state.memory = &slots_[program_.whole_buffers ? 0 : buffer.slot];
      state.align = 256;
      // Distinct among the buffers that share a slot, but for very many.
      state.tag = static_cast<uint8_t>(n % 63 + 1);
      TANG_CHECK(graph::bytes_of(buffer.type, *elements) <=
                     static_cast<int64_t>(state.memory->size()),
                 "`{}` does not fit its slot", buffer.name);
      if (program_.whole_buffers)
        state.elements =
            static_cast<int64_t>(state.memory->size()) * 8 / graph::info(buffer.type).bits;
      break;
    }
  }
  return true;
}

void Run::bind_argument(BufferId id, const Buffer& buffer, BufferState& state) {
  Argument& argument = arguments_[id];
  auto bytes = static_cast<size_t>(graph::bytes_of(buffer.type, state.elements));
  state.memory = &own_.emplace_back();
  state.memory->resize(bytes, 0xff);
  if (!argument.given) return;
  TANG_CHECK(argument.bytes.size() == bytes, "`{}` has {} bytes and is given {}", buffer.name,
             bytes, argument.bytes.size());
  state.memory->bytes() = argument.bytes;
  int bits = graph::info(buffer.type).bits;
  auto mark = [&](int64_t element) {
    state.memory->write(0, element, bits, state.memory->read(0, element, bits), 0);
  };
  for (int64_t element : argument.holds) mark(element);
  if (argument.holds.empty())
    for (int64_t element = 0; element < state.elements; ++element) mark(element);
}

void Run::bind_table(const Buffer& buffer, BufferState& state) {
  bool real = graph::scalar_of(buffer.type) == graph::Scalar::real;
  state.memory = &own_.emplace_back();
  state.memory->resize(static_cast<size_t>(graph::bytes_of(buffer.type, state.elements)), 0xff);
  for (int64_t n = 0; n < state.elements; ++n) {
    auto at = static_cast<size_t>(n);
    Word held = real ? word(buffer.reals[at]) : word(buffer.integers[at]);
    state.memory->write(0, n, graph::info(buffer.type).bits, encode(buffer.type, held, real), 0);
  }
}

void Run::steps(const std::vector<kernel::Step>& list) {
  for (const kernel::Step& step : list)
    std::visit(Overload{[&](const Dispatch& d) { dispatch(d); },
                        [&](const kernel::Loop& loop) {
                          int64_t extent = value(loop.extent).value_or(0);
                          for (int64_t n = 0; n < extent; ++n) {
                            variables_[loop.var] = n;
                            steps(loop.body);
                          }
                        }},
               step.node);
}

const Variant* Run::choose(const Dispatch& dispatch) {
  const Variant* chosen = nullptr;
  for (size_t n = 0; n < dispatch.variants.size(); ++n) {
    const Variant& variant = dispatch.variants[n];
    if (variant.condition && value(variant.condition) != 1) continue;
    if (options_.only_variant == n) return &variant;
    if (!chosen || options_.variant == VariantChoice::last) chosen = &variant;
  }
  return chosen;
}

void Run::dispatch(const Dispatch& dispatch) {
  if (const Variant* variant = choose(dispatch)) return launch(*variant);
  refuse(dispatch.name, "no variant is for these dims");
}

Ready& Run::ready(kernel::KernelId id) {
  auto [at, fresh] = ready_.try_emplace(id);
  Ready& made = at->second;
  if (fresh) {
    const Kernel& kernel = program_.kernels[id.value];
    made.code = compile(kernel);
    made.machine = std::make_unique<Machine>(made.code, findings_, counts_[kernel.name]);
  }
  return made;
}

void Run::launch(const Variant& variant) {
  const Kernel& kernel = program_.kernels[variant.kernel.value];
  LaunchArguments arguments;
  arguments.number = ++launches_;
  TANG_CHECK(variant.bindings.size() == kernel.params.size() &&
                 variant.scalars.size() == kernel.scalars.size() &&
                 variant.blocks.size() == kernel.blocks.size(),
             "a launch of `{}` does not match its parameters", kernel.name);
  int64_t blocks = 1;
  for (ValueId id : variant.blocks) {
    auto extent = value(id);
    if (!extent) return refuse(kernel.name, "its grid leaves 64 bits");
    arguments.blocks.push_back(*extent);
    blocks *= *extent;
  }
  if (program_.max_blocks > 0 && blocks > program_.max_blocks)
    return refuse(kernel.name, fmt::format("it has {} blocks", blocks));
  for (ValueId id : variant.scalars) {
    auto scalar = value(id);
    if (!scalar) return refuse(kernel.name, "an argument leaves 64 bits");
    arguments.scalars.push_back(*scalar);
  }
  std::vector<uint32_t> read, written;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const kernel::Binding& binding = variant.bindings[i];
    auto offset = value(binding.offset);
    if (!offset) return refuse(kernel.name, "an offset leaves 64 bits");
    BufferState& buffer = buffers_[binding.buffer.value];
    arguments.bound.push_back({&buffer, *offset, false});
    const kernel::Tensor& tensor = kernel[kernel.params[i]];
    TANG_CHECK(tensor.type == buffer.type, "`{}` of `{}` is bound to another format", tensor.name,
               kernel.name);
    if (!tensor.written) continue;
    written.push_back(binding.buffer.value);
    buffer.cells.resize(static_cast<size_t>(buffer.elements));
  }
  for (size_t i = 0; i < kernel.params.size(); ++i)
    arguments.bound[i].shared = std::find(written.begin(), written.end(),
                                          variant.bindings[i].buffer.value) != written.end();
  ready(variant.kernel).machine->launch(arguments);
}

void Run::outputs() {
  for (uint32_t n = 0; n < buffers_.size(); ++n) {
    const Buffer& buffer = program_.buffers[n];
    if (buffer.kind != Buffer::Kind::argument) continue;
    Argument& argument = arguments_[BufferId(n)];
    int bits = graph::info(buffer.type).bits;
    for (int64_t element : argument.wanted) {
      if (buffers_[n].memory->is_written(0, element, bits, 0)) continue;
      if (Finding* f = findings_.add(Fault::not_written, "", n, buffer.name))
        f->coordinates = {element};
    }
    argument.bytes = std::move(buffers_[n].memory->bytes());
  }
}

} // namespace

RunReport run_program(const kernel::Program& program, std::span<const int64_t> dims,
                      std::map<BufferId, Argument>& arguments, const RunOptions& options) {
  return Run(program, dims, arguments, options).run();
}

} // namespace tang::interpret
