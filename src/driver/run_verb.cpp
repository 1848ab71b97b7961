#include "driver/data.h"
#include "driver/outputs.h"
#include "driver/pipeline.h"
#include "driver/verbs.h"
#include "interpret/files.h"

namespace tang::driver {

namespace {

constexpr std::string_view container_ending = ".safetensors";

/// What `-o` names: a folder, which ends in `/`, or a safetensors file. Empty without `-o`.
std::string destination(const Arguments& arguments) {
  if (!arguments.has(OptionId::run_output)) return "";
  std::string path = arguments.last(OptionId::run_output);
  if (path.empty()) return "./";
  bool folder = !path.ends_with(container_ending) && path.back() != '/';
  return folder ? path + '/' : path;
}

/// The program and the data: no output may replace them.
std::vector<std::string> files_read(const Arguments& arguments) {
  std::vector<std::string> files{arguments.operands[0]};
  for (const std::string& text : arguments.all(OptionId::input))
    files.push_back(text.substr(text.find('=') + 1)); // npos + 1 is 0
  return files;
}

bool can_name_outputs(const graph::Graph& graph, Sink& sink) {
  bool good = true;
  for (graph::TensorId id : graph.outputs)
    if (graph[id].name == interpret::safetensors_metadata) {
      sink.report(Kind::command_line, graph[id].span,
                  "a safetensors file cannot hold a tensor called `{}`", graph[id].name)
          .help("`-o DIR` writes every output as a file of its own");
      good = false;
    }
  return good;
}

std::vector<FileText> output_texts(const graph::Graph& graph, const interpret::Values& values,
                                   const std::string& to, bool unrounded) {
  std::vector<FileText> files;
  std::vector<interpret::NamedArray> arrays;
  for (graph::TensorId id : graph.outputs)
    arrays.push_back({graph[id].name, graph[id].type, &values.at(id)});
  if (to.ends_with(container_ending)) return {{to, safetensors_bytes(arrays, unrounded)}};
  if (!to.empty())
    for (const interpret::NamedArray& array : arrays)
      files.push_back(
          {to + array.name + ".npy", interpret::npy_bytes(*array.array, array.type, unrounded)});
  return files;
}

} // namespace

void run_file(Session& session) {
  const Arguments& arguments = session.arguments;
  std::string to = destination(arguments);
  if (!to.empty() && !check_outputs({to}, files_read(arguments), session.sink)) return;
  auto input = read_input(arguments.operands[0], session.common, session.sources, session.sink,
                          session.stages);
  if (!input) return;
  if (to.ends_with(container_ending) && !can_name_outputs(input->graph, session.sink)) return;
  auto data = graph_data(arguments, input->graph, session.sink);
  if (!data) return;
  session.stages.done("data", fmt::format("{} inputs", data->inputs.size()));
  interpret::EvalOptions options;
  options.emulate = arguments.has(OptionId::emulate);
  options.unrounded_outputs = arguments.has(OptionId::f64);
  auto values = interpret::evaluate(input->graph, data->inputs, data->dims, options, session.sink);
  if (!values) return;
  session.stages.done("interpret", fmt::format("{} outputs", input->graph.outputs.size()));

  std::string summaries;
  for (graph::TensorId id : input->graph.outputs) {
    const graph::Tensor& tensor = input->graph[id];
    summaries += interpret::summary(tensor.name, tensor.type, values->at(id));
    if (!summaries.ends_with('\n')) summaries += '\n';
  }
  if (!write_files(output_texts(input->graph, *values, to, options.unrounded_outputs), false,
                   session.sink))
    return;
  if (!session.common.quiet) print_text(session, summaries);
}

} // namespace tang::driver
