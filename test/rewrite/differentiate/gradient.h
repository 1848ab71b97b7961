#pragma once
// A gradient in `.tg` against central differences of the interpreter in f64.
#include "../run.h"

namespace tang::rewrite::test {

/// Text behind `tg 1` that defines a scalar `loss` from f64 inputs.
struct Function {
  std::string name;
  std::string text;
  std::vector<std::string> wrt;
  std::vector<int64_t> dims; ///< values of the symbolic ones, in order
};

/// Tensors by name.
using Arrays = std::map<std::string, interpret::Array>;

/// The tensor that an equation, an input or a `recur` calls `name`: the last of that name.
TensorId named(const Graph& graph, const std::string& name);
/// Random data for the inputs of a graph.
Arrays random_inputs(const Graph& graph, const std::vector<int64_t>& dims, uint64_t seed = 1);
/// Values of the outputs, not rounded.
Arrays evaluated(const Graph& graph, const Arrays& inputs, const std::vector<int64_t>& dims);
/// The function with `grad loss wrt x -> grad_x, ...` and an output for each.
std::string with_gradients(const Function& function);
/// Differentiated, verified.
Graph differentiated(Graph graph);

/// d(loss)/d(input) by central differences of two widths, extrapolated.
std::vector<double> central_differences(const Graph& graph, Arrays inputs, const std::string& input,
                                        const std::vector<int64_t>& dims);
/// Where two lists differ by more than `tolerance`, relative to the largest element; or empty.
std::string far_apart(const std::vector<double>& wanted, const std::vector<double>& got,
                      double tolerance);

/// Checks every gradient of the function: against central differences, after all laws, and after a
/// round trip through text.
void check(const Function& function);

} // namespace tang::rewrite::test
