#pragma once
// What the tests of the laws share: a `.tg` text becomes a graph, a graph becomes numbers.
#include "graph/graph.h"
#include "graph/prover.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "interpret/eval.h"
#include "interpret/extents.h"
#include "interpret/random.h"
#include "parse/elaborate/elaborate.h"
#include "rewrite/passes.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

namespace tang::rewrite::test {

using namespace graph;

inline std::string file_text(const std::string& path) {
  std::ifstream in(std::string(TANGC_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Elaborates a text; the diagnostics become the test's message.
inline Graph graph_of(const std::string& text, std::vector<parse::DimBinding> dims = {}) {
  SourceManager sources;
  Sink sink;
  static const std::string library = file_text("specs/nn.tg");
  parse::ElaborateOptions options{std::move(dims), library, {}};
  auto graph = parse::elaborate(sources, sources.add("test.tg", text), options, sink);
  std::string messages;
  for (const auto& d : sink.diagnostics()) messages += d.message + "\n";
  INFO(text);
  INFO(messages);
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

inline Graph graph_of_body(const std::string& body) {
  return graph_of("tg 1\n" + body);
}

/// All passes, verified after each.
inline Graph rewritten(Graph graph) {
  return run_passes(std::move(graph), 2,
                    [](const Pass& pass, const Graph& g) { verify(g, pass.name); });
}

/// Outputs by name on stated random data.
inline std::map<std::string, interpret::Array> run(const Graph& g, std::vector<int64_t> dims,
                                                   uint64_t seed = 1) {
  interpret::Values inputs;
  Sink sink;
  uint64_t position = 0;
  for (TensorId id : g.inputs) {
    std::vector<int64_t> shape;
    for (ExprId extent : g[id].shape) {
      // An extent over dims, by trying: the prover's range with every dim fixed.
      Graph fixed = g;
      for (size_t d = 0; d < dims.size(); ++d) fixed.dims[d].lo = fixed.dims[d].hi = dims[d];
      for (Dim& dim : fixed.dims) dim.step = 1;
      shape.push_back(Prover(fixed).range(extent).lo);
    }
    inputs[id] =
        interpret::random_array(interpret::tensor_at(g, id, dims), shape, seed, position++);
  }
  auto values = interpret::evaluate(g, inputs, dims, {}, sink);
  std::string messages;
  for (const auto& d : sink.diagnostics()) messages += d.message + "\n";
  INFO(messages);
  REQUIRE(values.has_value());
  std::map<std::string, interpret::Array> outputs;
  for (TensorId id : g.outputs) outputs[g[id].name] = values->at(id);
  return outputs;
}

/// The first difference, or an empty text. Formats differ by a rounding.
inline std::string difference(const Graph& a, const Graph& b, const std::vector<int64_t>& dims,
                              uint64_t seed = 1) {
  auto before = run(a, dims, seed), after = run(b, dims, seed);
  if (before.size() != after.size()) return "another number of outputs";
  for (auto& [name, x] : before) {
    auto at = after.find(name);
    if (at == after.end()) return "no output " + name;
    const auto& y = at->second;
    if (x.shape != y.shape) return "another shape of " + name;
    double largest = 0;
    for (int64_t k = 0; k < x.size(); ++k)
      if (std::isfinite(x.as_real(k))) largest = std::max(largest, std::abs(x.as_real(k)));
    ElemType type = ElemType::f64;
    for (TensorId id : a.outputs)
      if (a[id].name == name) type = a[id].type;
    double tolerance = scalar_of(type) != Scalar::real ? 0
                       : info(type).bits < 32          ? 8e-3
                       : type == ElemType::f64         ? 1e-9
                                                       : 1e-5;
    for (int64_t k = 0; k < x.size(); ++k) {
      double p = x.as_real(k), q = y.as_real(k);
      bool same = p == q || (std::isnan(p) && std::isnan(q)) ||
                  std::abs(p - q) <= tolerance * (1e-30 + largest);
      if (!same)
        return name + "[" + std::to_string(k) + "]: " + std::to_string(p) + " became " +
               std::to_string(q);
    }
  }
  return "";
}

/// The first line in which two texts differ, from both; or empty.
inline std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string x, y;
  while (true) {
    bool more = static_cast<bool>(std::getline(left, x));
    if (more != static_cast<bool>(std::getline(right, y)) || (more && x != y))
      return "once:  " + x + "\ntwice: " + y;
    if (!more) return "";
  }
}

/// Runs each pass by itself and all in order; each must verify and keep the meaning, and running
/// all again must change nothing.
inline Graph checked(const Graph& g, const std::vector<int64_t>& dims) {
  for (const Pass& pass : passes()) {
    Graph once = pass.run(g);
    INFO(pass.name << " on\n" << to_text(g) << "gives\n" << to_text(once));
    REQUIRE_NOTHROW(verify(once, pass.name));
    REQUIRE(difference(g, once, dims) == "");
  }
  Graph all = rewritten(g);
  INFO("all passes on\n" << to_text(g) << "give\n" << to_text(all));
  REQUIRE(difference(g, all, dims) == "");
  return all;
}

} // namespace tang::rewrite::test
