#include "gradient.h"
#include "interpret/extents.h"
#include <fmt/ranges.h>

namespace tang::rewrite::test {

TensorId named(const Graph& graph, const std::string& name) {
  TensorId found;
  for (uint32_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].name == name) found = TensorId(t);
  INFO("no tensor " << name);
  REQUIRE(found);
  return found;
}

Arrays random_inputs(const Graph& graph, const std::vector<int64_t>& dims, uint64_t seed) {
  Arrays inputs;
  uint64_t position = 0;
  for (TensorId id : graph.inputs)
    inputs[graph[id].name] =
        interpret::random_array(graph[id], *interpret::shape_of(graph, id, dims), seed, position++);
  return inputs;
}

Arrays evaluated(const Graph& graph, const Arrays& inputs, const std::vector<int64_t>& dims) {
  interpret::Values values;
  for (TensorId id : graph.inputs) values[id] = inputs.at(graph[id].name);
  Sink sink;
  interpret::EvalOptions options;
  options.unrounded_outputs = true;
  auto results = interpret::evaluate(graph, values, dims, options, sink);
  std::string messages;
  for (const auto& d : sink.diagnostics()) messages += d.message + "\n";
  INFO(messages);
  REQUIRE(results.has_value());
  Arrays outputs;
  for (TensorId id : graph.outputs) outputs[graph[id].name] = results->at(id);
  return outputs;
}

std::string with_gradients(const Function& f) {
  Graph base = graph_of_body(f.text);
  std::vector<std::string> pairs, outputs;
  for (const std::string& x : f.wrt) {
    pairs.push_back(fmt::format("{} -> grad_{}", x, x));
    std::vector<std::string> shape;
    for (ExprId extent : base[named(base, x)].shape) shape.push_back(to_text(base, extent));
    outputs.push_back(
        fmt::format("output grad_{} : f64{}", x,
                    shape.empty() ? "" : fmt::format("[{}]", fmt::join(shape, ", "))));
  }
  return fmt::format("{}\ngrad loss wrt {}\n{}\n", f.text, fmt::join(pairs, ", "),
                     fmt::join(outputs, "\n"));
}

Graph differentiated(Graph graph) {
  INFO("differentiating\n" << to_text(graph));
  Graph result;
  REQUIRE_NOTHROW(result = differentiate(std::move(graph)));
  INFO("gives\n" << to_text(result));
  REQUIRE_NOTHROW(verify(result, "differentiate"));
  return result;
}

std::vector<double> central_differences(const Graph& graph, Arrays inputs, const std::string& input,
                                        const std::vector<int64_t>& dims) {
  std::vector<double> slopes;
  interpret::Array& x = inputs.at(input);
  auto slope = [&](size_t k, double width) {
    double middle = x.reals[k], values[2];
    for (int side : {0, 1}) {
      x.reals[k] = middle + (side ? width : -width);
      values[side] = evaluated(graph, inputs, dims).at("loss").as_real(0);
    }
    x.reals[k] = middle;
    return (values[1] - values[0]) / (2 * width);
  };
  for (size_t k = 0; k < x.reals.size(); ++k) {
    double width = 1e-3 * std::max(1.0, std::abs(x.reals[k]));
    slopes.push_back((4 * slope(k, width / 2) - slope(k, width)) / 3);
  }
  return slopes;
}

std::string far_apart(const std::vector<double>& wanted, const std::vector<double>& got,
                      double tolerance) {
  if (wanted.size() != got.size())
    return fmt::format("{} and {} elements", wanted.size(), got.size());
  double largest = 1e-3;
  for (double x : wanted) largest = std::max(largest, std::abs(x));
  for (size_t k = 0; k < wanted.size(); ++k) {
    bool both_nan = std::isnan(wanted[k]) && std::isnan(got[k]);
    if (!both_nan && wanted[k] != got[k] && !(std::abs(wanted[k] - got[k]) <= tolerance * largest))
      return fmt::format("element {} is {} and should be {}; all: {} and {}", k, got[k], wanted[k],
                         fmt::join(got, " "), fmt::join(wanted, " "));
  }
  return "";
}

void check(const Function& f) {
  INFO(f.name);
  Graph base = differentiated(graph_of_body(f.text + "\noutput loss : f64\n"));
  Graph graph = differentiated(graph_of_body(with_gradients(f)));
  INFO(to_text(graph));
  Arrays inputs = random_inputs(base, f.dims);
  Arrays gradients = evaluated(graph, inputs, f.dims);
  Graph laws = rewritten(graph);
  INFO("all laws give\n" << to_text(laws));
  Arrays after = evaluated(laws, inputs, f.dims);
  Arrays read_back = evaluated(graph_of(to_text(graph)), inputs, f.dims);
  for (const std::string& x : f.wrt) {
    INFO(x);
    const auto& gradient = gradients.at("grad_" + x).reals;
    CHECK(far_apart(central_differences(base, inputs, x, f.dims), gradient, 1e-6) == "");
    CHECK(far_apart(gradient, after.at("grad_" + x).reals, 1e-9) == "");
    CHECK(far_apart(gradient, read_back.at("grad_" + x).reals, 1e-12) == "");
  }
}

} // namespace tang::rewrite::test
