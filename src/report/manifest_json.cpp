// What a host must know to launch the kernels itself.
#include "report/json.h"

namespace tang::report {
using namespace kernel;

namespace {

std::string_view kind_of(Buffer::Kind kind) {
  switch (kind) {
  case Buffer::Kind::argument: return "argument";
  case Buffer::Kind::workspace: return "workspace";
  case Buffer::Kind::table: return "table";
  }
  return "";
}

Json kernel_entry(const ReportInput& input, KernelId id) {
  const Kernel& kernel = input.program.kernels[id.value];
  Json params = Json::array(), scalars = Json::array(), threads = Json::array();
  for (kernel::TensorId param : kernel.params) {
    const Tensor& tensor = kernel[param];
    params.push_back({{"name", tensor.name},
                      {"format", std::string(graph::info(tensor.type).name)},
                      {"written", tensor.written}});
  }
  for (const ScalarParam& scalar : kernel.scalars)
    scalars.push_back(kernel.values[scalar.var].name);
  for (const ThreadMode& mode : kernel.threads) threads.push_back(mode.extent);
  return {{"symbol", symbol_of(input, id)},
          {"params", params},
          {"scalars", scalars},
          {"threads", threads},
          {"shared_bytes", shared_bytes(kernel)},
          {"index_bits", kernel.index_bits}};
}

Json launch(const ReportInput& input, const Dispatch& dispatch) {
  const Program& program = input.program;
  Json variants = Json::array();
  for (const Variant& variant : dispatch.variants) {
    Json bindings = Json::array(), scalars = Json::array(), grid = Json::array();
    for (const Binding& binding : variant.bindings)
      bindings.push_back({{"buffer", program.buffers[binding.buffer.value].name},
                          {"offset", host_text(program, binding.offset)}});
    for (ValueId scalar : variant.scalars) scalars.push_back(host_text(program, scalar));
    for (ValueId extent : variant.blocks) grid.push_back(host_text(program, extent));
    variants.push_back({{"when", host_text(program, variant.condition)},
                        {"symbol", symbol_of(input, variant.kernel)},
                        {"grid", grid},
                        {"bindings", bindings},
                        {"scalars", scalars}});
  }
  return {{"name", dispatch.name}, {"variants", variants}};
}

/// Bodies of loops nest only as deep as recurrences in the input, which the parser limits.
Json launches(const ReportInput& input, const std::vector<Step>& steps) {
  Json out = Json::array();
  for (const Step& step : steps) {
    if (const auto* dispatch = std::get_if<Dispatch>(&step.node)) {
      out.push_back(launch(input, *dispatch));
      continue;
    }
    const auto& loop = std::get<Loop>(step.node);
    out.push_back({{"loop", input.program.values[loop.var].name},
                   {"extent", host_text(input.program, loop.extent)},
                   {"body", launches(input, loop.body)}});
  }
  return out;
}

} // namespace

Json manifest_json(const ReportInput& input) {
  const Program& program = input.program;
  Json kernels = Json::array(), bindings = Json::array(), workspace = Json::array(),
       arguments = Json::array();
  for (uint32_t k = 0; k < program.kernels.size(); ++k)
    kernels.push_back(kernel_entry(input, KernelId(k)));
  for (const Buffer& buffer : program.buffers)
    bindings.push_back(
        {{"buffer", buffer.name},
         {"kind", kind_of(buffer.kind)},
         {"format", std::string(graph::info(buffer.type).name)},
         {"elements", host_text(program, buffer.elements)},
         {"align", buffer.align},
         {"written", buffer.written},
         {"slot", buffer.kind == Buffer::Kind::workspace ? Json(buffer.slot) : Json()}});
  for (BufferId argument : program.arguments)
    arguments.push_back(program.buffers[argument.value].name);
  for (const Slot& slot : program.slots)
    workspace.push_back({{"bytes", host_text(program, slot.bytes)}, {"align", 256}});
  Json manifest = {{"kernels", kernels},
                   {"bindings", bindings},
                   {"arguments", arguments},
                   {"workspace", workspace}};
  // Every buffer of the workspace is bound as all of it, and scalars say where it begins.
  if (program.whole_buffers) manifest["whole_buffers"] = true;
  manifest["launches"] = launches(input, program.steps);
  return manifest;
}

} // namespace tang::report
