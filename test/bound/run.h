#pragma once
// What the tests of bounds share: a `.tg` text, and one plan for it.
#include "bound/analysis.h"
#include "graph/reads.h"
#include "parse/elaborate/elaborate.h"
#include "rewrite/passes.h"
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>

namespace tang::bound::test {

using namespace graph;
using Numbers = std::vector<int64_t>;

inline std::string file_text(const std::string& path) {
  std::ifstream in(std::string(TANGC_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline Graph graph_of(const std::string& text) {
  SourceManager sources;
  Sink sink;
  static const std::string library = file_text("specs/nn.tg");
  auto graph = parse::elaborate(sources, sources.add("test.tg", text), {{}, library, {}}, sink);
  std::string messages;
  for (const auto& d : sink.diagnostics()) messages += d.message + "\n";
  INFO(text);
  INFO(messages);
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

inline Graph rewritten(Graph graph) {
  return rewrite::run_passes(std::move(graph), 2, [](const rewrite::Pass&, const Graph&) {});
}

/// All nodes of a block in one kernel, or each in one of its own; recurrences node by node.
inline std::vector<plan::Step> steps_of(const Graph& graph, const std::vector<Node>& nodes,
                                        bool together) {
  std::vector<plan::Step> steps;
  plan::KernelPlan all{"all", {}, {}, {{}}};
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (const auto* recur = std::get_if<Recur>(&nodes[n].definition)) {
      steps.push_back({plan::RecurPlan{n, steps_of(graph, recur->body, false)}});
      continue;
    }
    all.nodes.push_back(n);
    const auto& c = std::get<Comprehension>(nodes[n].definition);
    if (!together)
      steps.push_back({plan::KernelPlan{graph[c.results[0].tensor].name, {}, {n}, {{}}}});
  }
  if (together) steps.insert(steps.begin(), {all});
  return steps;
}

struct Bound {
  Graph graph;
  std::unique_ptr<plan::Plan> plan;
  Analysis analysis;

  int64_t value(ExprId id, const Numbers& dims) const {
    auto value = analysis.formulas->value(id, dims);
    REQUIRE(value.has_value());
    return *value;
  }
  std::string text(ExprId id) const { return analysis.formulas->text(id); }
  const TensorTraffic* find(const Traffic& traffic, const std::string& name) const {
    for (const TensorTraffic& t : traffic.tensors)
      if (graph[t.tensor].name == name) return &t;
    return nullptr;
  }
  /// Elements of a tensor that kernel `k` moves at least; 0 where nothing is claimed.
  int64_t elements(const std::string& name, const Numbers& dims, size_t k = 0) const {
    const TensorTraffic* t = find(analysis.kernels.at(k).traffic, name);
    return t ? value(t->elements, dims) : 0;
  }
  int64_t whole(const std::string& name, const Numbers& dims) const {
    const TensorTraffic* t = find(analysis.whole, name);
    return t ? value(t->elements, dims) : 0;
  }
};

inline Bound bound_graph(Graph graph, bool together = true, bool allow_tf32 = false) {
  Bound out{std::move(graph), std::make_unique<plan::Plan>(), {}};
  out.plan->steps = steps_of(out.graph, out.graph.nodes, together);
  out.analysis = analyze(out.graph, *out.plan, allow_tf32);
  return out;
}
/// `body` without its first line `tg 1`.
inline Bound bound_of(const std::string& body, bool together = true) {
  return bound_graph(rewritten(graph_of("tg 1\n" + body)), together);
}
inline Bound bound_sample(const std::string& name, bool together = true) {
  return bound_graph(rewritten(graph_of(file_text("samples/" + name + ".tg"))), together);
}

} // namespace tang::bound::test
