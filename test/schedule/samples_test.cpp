// What holds for the plan of every program, held to the samples.
#include "base/check.h"
#include "scheduled.h"
#include <filesystem>

using namespace tang::schedule::test;
using tang::Overload;
namespace plan = tang::plan;

namespace {

std::vector<std::string> samples() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TANGC_SOURCE_DIR) + "/samples"))
    if (entry.path().extension() == ".tg") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void check_fields(const plan::Fields& fields) {
#define TANG_FIELD(type, name, initial, least, greatest, readers, text)                            \
  CHECK((fields.name >= (least)));                                                                 \
  CHECK((fields.name <= (greatest)));
#include "plan/fields.def"
#undef TANG_FIELD
}

/// Every node once, in order; the last variant always fits, those before it say when they do.
void check_steps(const std::vector<plan::Step>& steps, const std::vector<Node>& nodes, int level) {
  uint32_t next = 0;
  for (const plan::Step& step : steps)
    std::visit(Overload{[&](const plan::KernelPlan& k) {
                          REQUIRE(!k.nodes.empty());
                          for (uint32_t n : k.nodes) CHECK(n == next++);
                          if (level == 0) CHECK(k.emitter == plan::Emitter::point);
                          if (k.emitter != plan::Emitter::row) CHECK(k.nodes.size() == 1);
                          CHECK(!k.name.empty());
                          CHECK(!k.reason.empty());
                          REQUIRE(!k.variants.empty());
                          for (const plan::Variant& v : k.variants) {
                            check_fields(v.fields);
                            CHECK(v.fields.threads * v.fields.rows <= 1024);
                            CHECK(v.when.empty() == (&v == &k.variants.back()));
                          }
                          if (level == 0) CHECK(k.variants.size() == 1);
                        },
                        [&](const plan::RecurPlan& r) {
                          CHECK(r.node == next++);
                          const auto& recur = std::get<Recur>(nodes[r.node].definition);
                          check_steps(r.steps, recur.body, level);
                        }},
               step.node);
  CHECK(next == nodes.size());
}

} // namespace

TEST_CASE("plans of the samples are complete", "[samples]") {
  auto names = samples();
  REQUIRE(names.size() > 20);
  for (const std::string& name : names) {
    INFO(name);
    Graph written = graph_of(file_text("samples/" + name));
    for (int level : {0, 2}) {
      Graph graph = rewritten(written, level);
      for (const auto& machine : {gpu(), core()}) {
        INFO("-O" << level << (machine.hardware_grid ? " with" : " without") << " a grid");
        plan::Plan plan = tang::schedule::schedule(graph, level, machine);
        check_steps(plan.steps, graph.nodes, level);
        CHECK(to_text(graph, tang::schedule::schedule(graph, level, machine)) ==
              to_text(graph, plan));
      }
    }
  }
}
