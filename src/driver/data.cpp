#include "driver/data.h"
#include "interpret/extents.h"
#include "interpret/files.h"
#include "interpret/random.h"
#include <charconv>
#include <map>
#include <set>

namespace tang::driver {

namespace {

using graph::TensorId;
using interpret::Array;

/// By declared or external name.
std::optional<TensorId> input_named(const graph::Graph& graph, const std::string& name) {
  for (TensorId id : graph.inputs)
    if (graph[id].name == name || (!graph[id].external.empty() && graph[id].external == name))
      return id;
  return std::nullopt;
}

void report_unknown_input(const graph::Graph& graph, const std::string& name, Sink& sink) {
  std::vector<std::string> names;
  for (TensorId id : graph.inputs) names.push_back(graph[id].name);
  sink.report(Kind::command_line, {}, "no input or param is called `{}`", name)
      .help(name_help(name, "input", names));
}

/// An array as a tensor of the declared type holds it.
void keep(const graph::Graph& graph, TensorId id, Array array, const std::string& file,
          interpret::Values& out, Sink& sink) {
  const graph::Tensor& tensor = graph[id];
  if (auto stored = interpret::stored_as(tensor.type, std::move(array)))
    out[id] = std::move(*stored);
  else
    sink.report(Kind::input_type, tensor.span,
                "`{}` holds a real that is no integer, and `{}` is declared {}", file, tensor.name,
                graph::info(tensor.type).name);
}

class InputReader {
public:
  InputReader(const graph::Graph& graph, Sink& sink) : graph_(graph), sink_(sink) {}

  /// `NAME=FILE`, or a safetensors file with any number of them.
  void read(const std::string& text, interpret::Values& out) {
    size_t at = text.find('=');
    if (at == text.npos && text.ends_with(".safetensors")) return read_all(text, out);
    if (at == text.npos || at == 0) {
      sink_.report(Kind::command_line, {}, "`--input {}` is not of the form `NAME=FILE`", text);
      return;
    }
    std::string name = text.substr(0, at), file = text.substr(at + 1);
    auto id = input_named(graph_, name);
    if (!id) return report_unknown_input(graph_, name, sink_);
    if (!given_.insert(*id).second) {
      sink_.report(Kind::command_line, {}, "`--input` gives `{}` twice", graph_[*id].name);
      return;
    }
    if (file.ends_with(".safetensors")) {
      if (interpret::Safetensors* container = open(file))
        read_one(*container, *id, name, file, out);
    } else if (auto array = interpret::read_npy(file, sink_)) {
      keep(graph_, *id, std::move(*array), file, out, sink_);
    }
  }

private:
  interpret::Safetensors* open(const std::string& file) {
    auto at = containers_.find(file);
    if (at == containers_.end()) {
      auto read = interpret::Safetensors::read(file, sink_);
      if (!read) return nullptr;
      at = containers_.emplace(file, std::move(*read)).first;
    }
    return &at->second;
  }

  void read_one(interpret::Safetensors& container, TensorId id, const std::string& given,
                const std::string& file, interpret::Values& out) {
    for (const std::string& name : {given, graph_[id].external, graph_[id].name}) {
      if (name.empty() || !container.contains(name)) continue;
      if (auto array = container.tensor(name, sink_))
        keep(graph_, id, std::move(*array), file, out, sink_);
      return;
    }
    sink_.report(Kind::safetensors_file, {}, "`{}` holds no tensor `{}`", file, given);
  }

  void read_all(const std::string& file, interpret::Values& out) {
    interpret::Safetensors* container = open(file);
    if (!container) return;
    for (TensorId id : graph_.inputs)
      for (const std::string& name : {graph_[id].external, graph_[id].name})
        if (!name.empty() && container->contains(name) && !out.contains(id))
          read_one(*container, id, name, file, out);
  }

  const graph::Graph& graph_;
  Sink& sink_;
  std::set<TensorId> given_; ///< by name
  std::map<std::string, interpret::Safetensors> containers_;
};

/// Dims whose value stands in the shape of given data.
std::vector<std::optional<int64_t>> dims_of_shapes(const graph::Graph& graph,
                                                   const interpret::Values& inputs) {
  std::vector<std::optional<int64_t>> dims(graph.dims.size());
  for (const auto& [id, array] : inputs) {
    const graph::Tensor& tensor = graph[id];
    for (size_t i = 0; i < tensor.shape.size() && i < array.shape.size(); ++i) {
      const graph::Expr& extent = graph.exprs[tensor.shape[i]];
      if (extent.op == graph::Op::dim && !dims[extent.ref]) dims[extent.ref] = array.shape[i];
    }
  }
  return dims;
}

} // namespace

std::optional<uint64_t> random_seed(const Arguments& arguments, uint64_t initial, Sink& sink) {
  if (!arguments.has(OptionId::random)) return initial;
  std::string text = arguments.last(OptionId::random);
  uint64_t seed = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return seed;
  sink.report(Kind::command_line, {},
              "`--random` takes a seed from 0 to 18446744073709551615, not `{}`", text);
  return std::nullopt;
}

std::optional<GraphData> graph_data(const Arguments& arguments, const graph::Graph& graph,
                                    Sink& sink) {
  GraphData data;
  auto seed = random_seed(arguments, 0, sink);
  InputReader reader(graph, sink);
  for (const std::string& text : arguments.all(OptionId::input)) reader.read(text, data.inputs);
  if (!sink.ok()) return std::nullopt; // dims that the data would have given are no fault
  auto dims = dims_of_shapes(graph, data.inputs);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i])
      sink.report(Kind::command_line, graph.dims[i].span, "dim `{}` has no value",
                  graph.dims[i].name)
          .help(fmt::format("bind it: `-D {}=...`", graph.dims[i].name));
    data.dims.push_back(dims[i].value_or(0));
  }
  if (!sink.ok() || !interpret::check_dims(graph, data.dims, sink)) return std::nullopt;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    TensorId id = graph.inputs[i];
    if (data.inputs.contains(id) || !arguments.has(OptionId::random)) continue;
    auto shape = interpret::shape_of(graph, id, data.dims);
    auto count = shape ? interpret::element_count(*shape) : std::nullopt;
    if (!count || *count > int64_t{1} << 31) {
      sink.report(Kind::array_too_large, graph[id].span, "`{}` is too large to be made here",
                  graph[id].name);
      return std::nullopt;
    }
    data.inputs[id] =
        interpret::random_array(interpret::tensor_at(graph, id, data.dims), *shape, *seed, i);
  }
  return data;
}

} // namespace tang::driver
