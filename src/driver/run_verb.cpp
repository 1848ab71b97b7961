#include "driver/data.h"
#include "driver/outputs.h"
#include "driver/pipeline.h"
#include "driver/verbs.h"
#include "interpret/files.h"

namespace tang::driver {

void run_file(Session& session) {
  const Arguments& arguments = session.arguments;
  std::string folder = arguments.last(OptionId::run_output);
  if (arguments.has(OptionId::run_output)) {
    if (folder.empty()) folder = ".";
    if (folder.back() != '/') folder += '/';
    if (!check_outputs({folder}, {}, session.sink)) return;
  }
  auto input = read_input(arguments.operands[0], session.common, session.sources, session.sink,
                          session.stages);
  if (!input) return;
  auto data = graph_data(arguments, input->graph, session.sink);
  if (!data) return;
  session.stages.done("data", fmt::format("{} inputs", data->inputs.size()));
  interpret::EvalOptions options;
  options.emulate = arguments.has(OptionId::emulate);
  options.unrounded_outputs = arguments.has(OptionId::f64);
  auto values = interpret::evaluate(input->graph, data->inputs, data->dims, options, session.sink);
  if (!values) return;
  session.stages.done("interpret", fmt::format("{} outputs", input->graph.outputs.size()));

  std::vector<FileText> files;
  std::string summaries;
  for (graph::TensorId id : input->graph.outputs) {
    const graph::Tensor& tensor = input->graph[id];
    const interpret::Array& array = values->at(id);
    summaries += interpret::summary(tensor.name, tensor.type, array);
    if (!summaries.ends_with('\n')) summaries += '\n';
    if (!folder.empty())
      files.push_back({folder + tensor.name + ".npy",
                       interpret::npy_bytes(array, tensor.type, options.unrounded_outputs)});
  }
  if (!write_files(files, false, session.sink)) return;
  if (!session.common.quiet) print_text(session, summaries);
}

} // namespace tang::driver
