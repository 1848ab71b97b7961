// Bytes make a well-typed program; a loss is put over its outputs, and the gradient of the loss
// must equal central differences wherever these agree with themselves, with and without the laws.
#include "base/check.h"
#include "fuzz.h"
#include "generate.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "interpret/eval.h"
#include "interpret/extents.h"
#include "interpret/random.h"
#include "minimize.h"
#include "parse/elaborate/elaborate.h"
#include "rewrite/passes.h"
#include "targets/embedded.h"
#include <cmath>
#include <cstdlib>
#include <fmt/ranges.h>
#include <regex>

namespace tang::fuzz {

namespace {

using graph::Graph;
using graph::TensorId;
using interpret::Array;

struct Counts {
  uint64_t programs = 0, rejected = 0, slopes = 0, steep = 0, kinks = 0;
} counts;

std::optional<Graph> elaborated(const std::string& text, std::string& why) {
  SourceManager sources;
  Sink sink;
  parse::ElaborateOptions options;
  options.library_text = targets::embedded_spec("nn.tg");
  auto graph = parse::elaborate(sources, sources.add("fuzz.tg", text), options, sink);
  for (const Diagnostic& d : sink.diagnostics())
    if (d.severity == Severity::error) why += d.message + "\n";
  return graph;
}

/// The program in f64 throughout, without what rounds or is stored in place; outputs apart.
struct Parts {
  std::string body;
  std::vector<std::string> outputs;
};
Parts smooth(const Case& program) {
  static const std::regex formats("\\b(f32|f16|bf16|f8e4m3|f8e5m2)\\b"), stored("^store .*"),
      output("^output (\\w+) : f64.*");
  Parts parts{"tg 1\n", {}};
  for (std::string statement : program.statements) {
    statement = std::regex_replace(statement, formats, "f64");
    std::smatch match;
    if (std::regex_match(statement, match, output)) parts.outputs.push_back(match[1]);
    if (!statement.starts_with("output ") && !std::regex_match(statement, stored))
      parts.body += statement + "\n";
  }
  return parts;
}

/// `loss`: every finite element of every output, weighted unequally; large ones are left out.
std::string with_loss(const Parts& parts, const Graph& graph) {
  std::string text = parts.body, terms;
  for (const std::string& name : parts.outputs) {
    TensorId id;
    for (uint32_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].name == name) id = TensorId(t);
    if (!id) return ""; // a smaller program that lost what it gives
    std::vector<std::string> binders, places;
    std::string weight = "0.7";
    for (graph::ExprId extent : graph[id].shape) {
      std::string index = fmt::format("q{}", places.size());
      binders.push_back(fmt::format("{}: {}", index, graph::to_text(graph, extent)));
      weight += fmt::format(" + 0.{}7 * {}", places.size() + 1, index);
      places.push_back(index);
    }
    std::string read = places.empty() ? name : fmt::format("{}[{}]", name, fmt::join(places, ", "));
    std::string element = fmt::format("where(abs({0}) < 1000000, ({1}) * {0}, 0)", read, weight);
    terms += terms.empty() ? "" : " + ";
    terms +=
        places.empty() ? element : fmt::format("(sum[{}] {})", fmt::join(binders, ", "), element);
  }
  return text + "loss = " + terms + "\noutput loss : f64\n";
}

std::string with_gradients(const std::string& text, const Graph& graph,
                           std::vector<std::string>& variables) {
  std::string pairs, outputs;
  for (TensorId id : graph.inputs) {
    const graph::Tensor& tensor = graph[id];
    if (graph::scalar_of(tensor.type) != graph::Scalar::real) continue;
    variables.push_back(tensor.name);
    std::vector<std::string> shape;
    for (graph::ExprId extent : tensor.shape) shape.push_back(graph::to_text(graph, extent));
    pairs += fmt::format("{}{} -> d_{}", pairs.empty() ? "" : ", ", tensor.name, tensor.name);
    outputs += fmt::format("output d_{} : f64{}\n", tensor.name,
                           shape.empty() ? "" : fmt::format("[{}]", fmt::join(shape, ", ")));
  }
  return pairs.empty() ? "" : text + "grad loss wrt " + pairs + "\n" + outputs;
}

using Arrays = std::map<std::string, Array>;

std::optional<Arrays> values_of(const Graph& graph, const Arrays& inputs,
                                std::span<const int64_t> dims) {
  interpret::Values given;
  for (TensorId id : graph.inputs) given[id] = inputs.at(graph[id].name);
  interpret::EvalOptions options;
  options.max_elements = 100000;
  Sink sink;
  auto results = interpret::evaluate(graph, given, dims, options, sink);
  if (!results) return std::nullopt;
  Arrays outputs;
  for (TensorId id : graph.outputs) outputs[graph[id].name] = results->at(id);
  return outputs;
}

/// One program: what is wrong, or why it was not tried.
struct Outcome {
  std::string fault;
  bool rejected = false;
};

/// Reals off the integers, where the programs have their kinks.
Array data_for(const graph::Tensor& tensor, std::vector<int64_t> shape, uint64_t seed,
               uint64_t position) {
  graph::Tensor small = tensor;
  if (!small.range && graph::scalar_of(small.type) == graph::Scalar::integer)
    small.range = graph::IntRange{graph::is_signed(small.type) ? -4 : 0, 4};
  return interpret::random_array(small, std::move(shape), seed, position);
}

std::string compare(const Graph& plain, const Arrays& given, const Arrays& gradients,
                    const std::vector<std::string>& variables, std::span<const int64_t> dims) {
  Arrays inputs = given;
  double loss = values_of(plain, inputs, dims)->at("loss").reals[0];
  for (const std::string& name : variables) {
    Array& x = inputs.at(name);
    // A few elements of each, spread out.
    size_t stride = x.reals.size() / 6 + 1;
    for (size_t k = 0; k < x.reals.size(); k += stride) {
      double middle = x.reals[k];
      auto at = [&](double offset) {
        x.reals[k] = middle + offset;
        double value = values_of(plain, inputs, dims)->at("loss").reals[0];
        x.reals[k] = middle;
        return value;
      };
      constexpr double width = 1e-4;
      double left = (loss - at(-width)) / width, right = (at(width) - loss) / width;
      double slope = (at(width / 2) - at(-width / 2)) / width, both = (left + right) / 2;
      double got = gradients.at("d_" + name).reals[k];
      double noise = 1e-10 * std::abs(loss) / width + 1e-7;
      ++counts.slopes;
      counts.steep += slope != 0;
      // Left and right agree up to curvature, wide and narrow up to its change: no kink in between.
      double bend = std::abs(left - right), change = std::abs(slope - both);
      if (!(bend < 1e-2 * (std::abs(slope) + 1)) || !(change < 1e-4 * (std::abs(slope) + 1e-2))) {
        ++counts.kinks;
        continue;
      }
      if (std::abs(slope - got) <= 1e-3 * std::abs(slope) + 4 * change + noise) continue;
      return fmt::format("d loss / d {}[{}] is {}, and differences give {} (left {}, right {})",
                         name, k, got, slope, left, right);
    }
  }
  return "";
}

Outcome outcome_of(const Case& program) {
  std::string why, text;
  Parts parts = smooth(program);
  auto bare = elaborated(parts.body, why);
  if (!bare || parts.outputs.empty()) return {"", true};
  text = with_loss(parts, *bare);
  if (text.empty()) return {"", true};
  std::vector<std::string> variables;
  std::string all = with_gradients(text, *bare, variables);
  if (all.empty()) return {"", true};
  auto plain = elaborated(text, why), graph = elaborated(all, why);
  if (!plain || !graph) return {"", true};

  std::vector<int64_t> dims;
  for (const graph::Dim& dim : plain->dims) {
    auto at = program.dims.find(dim.name);
    dims.push_back(at == program.dims.end() ? dim.lo : at->second);
  }
  Arrays inputs;
  uint64_t position = 0;
  for (TensorId id : plain->inputs) {
    auto shape = interpret::shape_of(*plain, id, dims);
    if (!shape) return {"", true};
    inputs[(*plain)[id].name] = data_for((*plain)[id], *shape, program.data_seed, position++);
  }
  auto loss = values_of(*plain, inputs, dims);
  if (!loss || !std::isfinite(loss->at("loss").reals[0])) return {"", true};
  try {
    *graph = rewrite::differentiate(std::move(*graph));
    graph::verify(*graph, "differentiate");
    auto gradients = values_of(*graph, inputs, dims);
    if (!gradients) return {"the gradient cannot be evaluated\n" + graph::to_text(*graph), false};
    std::string fault = compare(*plain, inputs, *gradients, variables, dims);
    if (!fault.empty()) return {fault + "\n" + graph::to_text(*graph), false};
    Graph laws = rewrite::run_passes(*graph, 2, [](const rewrite::Pass& pass, const Graph& after) {
      graph::verify(after, pass.name);
    });
    auto after = values_of(laws, inputs, dims);
    if (!after) return {"the gradient cannot be evaluated after the laws", false};
    for (const auto& [name, x] : *gradients)
      for (size_t k = 0; k < x.reals.size(); ++k) {
        double a = x.reals[k], b = after->at(name).reals[k];
        bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                    std::abs(a - b) <= 1e-6 * (std::abs(a) + 1);
        if (!same)
          return {fmt::format("{}[{}] is {}, and {} by the laws\n{}", name, k, a, b,
                              graph::to_text(laws)),
                  false};
      }
  } catch (const InternalError& error) {
    return {error.what(), false};
  }
  return {"", false};
}

} // namespace

std::string fault_of(std::span<const uint8_t> input) {
  Choices choices(input);
  Case program = generate(choices);
  if (std::getenv("TANGC_FUZZ_VERBOSE")) std::fprintf(stderr, "%s\n", program.text().c_str());
  Outcome outcome = outcome_of(program);
  ++counts.programs;
  counts.rejected += outcome.rejected;
  if (outcome.fault.empty()) return "";
  auto wrong = [](const Case& candidate) {
    still_alive();
    return !outcome_of(candidate).fault.empty();
  };
  Case small = minimize(std::move(program), wrong, 600);
  return small.text() + outcome_of(small).fault;
}

std::vector<Bytes> initial_corpus() {
  return {};
}
std::vector<std::string> dictionary() {
  return {};
}
bool shrinks_by_bytes() {
  return false;
}

std::string statistics() {
  return fmt::format("{} programs, {} not tried, {} slopes, {} of them not 0, {} at a kink",
                     counts.programs, counts.rejected, counts.slopes, counts.steep, counts.kinks);
}

} // namespace tang::fuzz
