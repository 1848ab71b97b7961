#pragma once
// What the tests of schedules share: a `.tg` text becomes a graph and a plan, a plan becomes one
// line that says which nodes stand together.
#include "graph/verify.h"
#include "parse/elaborate/elaborate.h"
#include "rewrite/passes.h"
#include "schedule/schedule.h"
#include "schedule/shapes.h"
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

namespace tang::schedule::test {

using namespace graph;

inline std::string file_text(const std::string& path) {
  std::ifstream in(std::string(TANGC_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline Graph graph_of(const std::string& text, const std::vector<parse::DimBinding>& dims = {}) {
  SourceManager sources;
  Sink sink;
  static const std::string library = file_text("specs/nn.tg");
  auto graph = parse::elaborate(sources, sources.add("test.tg", text), {dims, library, {}}, sink);
  std::string messages;
  for (const auto& d : sink.diagnostics()) messages += d.message + "\n";
  INFO(text);
  INFO(messages);
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

inline Graph rewritten(Graph graph, int level = 2) {
  graph = rewrite::run_passes(std::move(graph), level);
  verify(graph, "rewrite");
  return graph;
}

inline Machine gpu() {
  return {};
}
/// Threads in blocks that meet in shared memory alone.
inline Machine without_shuffles() {
  Machine machine;
  machine.warp_shuffle = false, machine.warp = 1, machine.max_threads = 256;
  machine.shared_bytes = machine.dynamic_shared_bytes = 32768;
  return machine;
}
inline Machine core() {
  Machine machine;
  machine.hardware_grid = false, machine.max_threads = machine.warp = 1;
  machine.vector_bytes = 64;
  return machine;
}

struct Scheduled {
  Graph graph;
  plan::Plan plan;

  const plan::KernelPlan& kernel(size_t step = 0) const {
    return std::get<plan::KernelPlan>(plan.steps.at(step).node);
  }
  /// `row[m s y] point[z] recur{point[h]}`: emitters, and what the first result of each node is
  /// called.
  std::string text() const { return text(plan.steps, graph.nodes); }

private:
  std::string text(const std::vector<plan::Step>& steps, const std::vector<Node>& nodes) const {
    std::string out;
    for (const plan::Step& step : steps) {
      if (!out.empty()) out += " ";
      if (const auto* recur = std::get_if<plan::RecurPlan>(&step.node)) {
        const auto& body = std::get<Recur>(nodes[recur->node].definition).body;
        out += "recur{" + text(recur->steps, body) + "}";
        continue;
      }
      const auto& k = std::get<plan::KernelPlan>(step.node);
      std::string names;
      for (uint32_t n : k.nodes)
        names += (names.empty() ? "" : " ") + graph[defines_of(nodes[n]).front()].name;
      out += std::string(plan::name(k.emitter)) + "[" + names + "]";
    }
    return out;
  }
};

/// Equations as they stand: no law merges or moves them. Elaboration rounds to an output in a node
/// of its own, which is left out.
inline Graph equations_of(const std::string& body) {
  Graph graph = rewrite::drop_dead_nodes(graph_of("tg 1\n" + body));
  std::erase_if(graph.nodes, [&](const Node& node) {
    return graph[defines_of(node).front()].kind == TensorKind::output;
  });
  return graph;
}
inline Scheduled as_written(const std::string& body, const Machine& machine = gpu()) {
  Graph graph = equations_of(body);
  plan::Plan plan = schedule(graph, 2, machine);
  return {std::move(graph), std::move(plan)};
}
/// The plan behind the laws of `level`.
inline Scheduled scheduled(const std::string& body, int level = 2, const Machine& machine = gpu()) {
  Graph graph = rewritten(graph_of("tg 1\n" + body), level);
  plan::Plan plan = schedule(graph, level, machine);
  return {std::move(graph), std::move(plan)};
}

} // namespace tang::schedule::test
