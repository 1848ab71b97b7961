#include "plan/plan.h"
#include <catch2/catch.hpp>

using namespace tang::plan;

TEST_CASE("a plan prints as YAML, fields at their default left out", "[plan]") {
  tang::graph::Graph graph;
  graph.name = "mlp \"x\"";
  graph.dims.push_back({"S", 1, 4096, 1, {}});
  tang::graph::ExprId s = graph.exprs.dim(tang::graph::DimId(0));
  Plan plan;
  KernelPlan kernel;
  kernel.name = "y", kernel.emitter = Emitter::row, kernel.nodes = {0, 2};
  kernel.reason = "two maps over one row";
  Variant fast, slow;
  fast.fields.threads = 128, fast.fields.stage = true;
  fast.when = {{Fact::Kind::divisible, s, 8}, {Fact::Kind::at_most, s, 1024}};
  kernel.variants = {fast, slow};
  RecurPlan recur;
  recur.node = 3;
  recur.steps.push_back({kernel});
  plan.steps.push_back({kernel});
  plan.steps.push_back({recur});
  CHECK(to_text(graph, plan) == R"(graph: "mlp \"x\""
steps:
- kernel: "y"
  emitter: row
  nodes: [0, 2]
  reason: "two maps over one row"
  variants:
  - fields: {threads: 128, stage: true}
    when: ["(S) % 8 == 0", "S <= 1024"]
  - fields: {}
- recur: 3
  steps:
  - kernel: "y"
    emitter: row
    nodes: [0, 2]
    reason: "two maps over one row"
    variants:
    - fields: {threads: 128, stage: true}
      when: ["(S) % 8 == 0", "S <= 1024"]
    - fields: {}
)");
}

TEST_CASE("every emitter has a name", "[plan]") {
  CHECK(name(Emitter::point) == "point");
  CHECK(name(Emitter::row) == "row");
  CHECK(name(Emitter::tile) == "tile");
}
