// Programs: launches, shared kernels, recurrences, and that every one of them verifies.
#include "graph/text.h"
#include "lowered.h"
#include <filesystem>
#include <set>

using namespace tang::lower::test;
using tang::kernel::Dispatch;
using tang::kernel::Loop;

namespace {

std::string layers(int count) {
  return fmt::format("dim T\ndim L = {0}, D = 64\ninput x : bf16[T, D]\nparam w : bf16[L, D, D]\n"
                     "param g : f32[L, D]\nh[t, d] = x[t, d]\n"
                     "repeat l in 0..<{0} carry h {{\n"
                     "  n[t, d] = rmsnorm[d](h[t, d], g[l, d], 1e-5)\n"
                     "  h[t, d] = h[t, d] + silu(sum[e] n[t, e] * w[l, d, e])\n"
                     "}}\noutput h as y : bf16[T, D]\n",
                     count);
}

} // namespace

TEST_CASE("equal layers share kernels", "[repeat]") {
  for (const auto& target : {gpu(), core()}) {
    auto few = lowered(layers(3), target), many = lowered(layers(9), target);
    CHECK(few.program.kernels.size() == many.program.kernels.size());
    CHECK(few.program.kernels.size() <= 6);
    CHECK(many.program.steps.size() == few.program.steps.size() * 3);
    CHECK(few.program.slots.size() == many.program.slots.size());
  }
  SECTION("each at its own place in the stacked weights") {
    auto p = lowered(layers(4), core());
    std::set<int64_t> offsets;
    for (const auto& step : p.program.steps)
      for (const auto& v : std::get<Dispatch>(step.node).variants)
        for (const auto& b : v.bindings)
          if (p.program.buffers[b.buffer.value].name == "w")
            offsets.insert(p.program.values.as_integer(b.offset).value());
    CHECK(offsets == std::set<int64_t>{0, 4096, 8192, 12288});
  }
}

TEST_CASE("kernels that differ stay apart", "[repeat]") {
  auto p = lowered("dim M, N\ninput x : f32[M, N]\na[i] = sum[j] x[i, j]\nb[i] = max[j] x[i, j]\n"
                   "c[i] = sum[j] x[i, j] * 2\noutput a : f32[M]\noutput b : f32[M]\n"
                   "output c : f32[M]\n",
                   core(), 0);
  std::set<std::string> texts;
  for (const auto& k : p.program.kernels) texts.insert(canonical_form(k));
  CHECK(texts.size() == p.program.kernels.size());
}

TEST_CASE("names of kernels are unique", "[names]") {
  auto p = lowered(layers(3));
  std::set<std::string> names;
  for (const auto& k : p.program.kernels) names.insert(k.name);
  CHECK(names.size() == p.program.kernels.size());
}

TEST_CASE("a recurrence is a loop of launches between copies", "[recur]") {
  std::string body = "dim T, M\ninput x : f32[T, M]\ninput h0 : f32[M]\n"
                     "recur t: T carry h = h0 {\n  h[i] = tanh(h[i]) + x[t, i]\n} collect hs = h\n"
                     "output hs : f32[T, M]\noutput h as hn : f32[M]\n";
  for (int level : {0, 2}) {
    auto p = lowered(body, core(), level);
    // The first value is copied into the carry, which an input is not to lose.
    REQUIRE(p.program.steps.size() >= 2);
    CHECK(std::holds_alternative<Dispatch>(p.program.steps[0].node));
    size_t loops = 0;
    for (const auto& step : p.program.steps)
      if (const auto* loop = std::get_if<Loop>(&step.node)) {
        ++loops;
        CHECK(loop->body.size() >= 2);
        CHECK(p.program.values.as_integer(loop->extent) == std::nullopt);
      }
    CHECK(loops == 1);
    for (tang::kernel::BufferId id : p.program.arguments)
      CHECK(p.program.buffers[id.value].written ==
            (p.graph[p.program.buffers[id.value].tensor].kind == tang::graph::TensorKind::output));
  }
}

TEST_CASE("arguments are inputs as declared, then outputs; shared memory once", "[arguments]") {
  auto p = lowered("dim N\ninput x : f32[N]\nparam w : f32[N]\ny[i] = x[i] + w[i]\nz[i] = x[i]\n"
                   "output z : f32[N]\noutput y : f32[N] over x\n");
  std::vector<std::string> names;
  for (tang::kernel::BufferId id : p.program.arguments)
    names.push_back(p.program.buffers[id.value].name);
  CHECK(names == std::vector<std::string>{"x", "w", "z"});
  CHECK(p.program.buffers[p.program.arguments[0].value].written);
}

TEST_CASE("a part of a parameter is an offset of its binding", "[arguments]") {
  auto p = lowered("dim N = 5\ninput x : f32[3, N, 4]\ny[i, j] = x[2, i, j] * 2\n"
                   "output y : f32[N, 4]\n",
                   core());
  const auto& v = std::get<Dispatch>(p.program.steps[0].node).variants[0];
  REQUIRE(v.bindings.size() == 2);
  std::set<int64_t> offsets;
  for (const auto& b : v.bindings) offsets.insert(p.program.values.as_integer(b.offset).value());
  CHECK(offsets == std::set<int64_t>{0, 40});
}

TEST_CASE("every sample lowers to a program that verifies", "[samples]") {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TANGC_SOURCE_DIR) + "/samples")) {
    std::string name = entry.path().filename().string();
    // The 36 layers of this one are what the tests of layers above hold in small.
    if (entry.path().extension() != ".tg" || name == "transformer_36.tg") continue;
    ++count;
    INFO(name);
    auto written = graph_of(file_text("samples/" + name));
    for (int level : {0, 2})
      for (const auto& target : {gpu(), core()}) {
        auto graph = rewritten(written, level);
        auto program = program_of(graph, level, target);
        INFO("-O" << level << (target.lower.hardware_grid ? " with threads" : " without"));
        // Nothing is wrong for certain; what could not be proved is no fault.
        CHECK_NOTHROW(check_coverage(program));
        CHECK_NOTHROW(check_ranges(program));
        // The same text again: nothing depends on addresses or hashes.
        if (level == 2) {
          auto again = rewritten(written, level);
          CHECK(to_text(program_of(again, level, target)) == to_text(program));
        }
      }
  }
  CHECK(count > 20);
}

TEST_CASE("an equation reads the same however often it is told", "[names]") {
  auto p = lowered("dim N in 1..100\ninput x : f32[N]\ny = 1 + sum[i] x[i]\nz = 2 * max[i] x[i]\n"
                   "output y : f32\noutput z : f32\n");
  auto equations = tang::graph::equations_of(p.graph);
  int states = 0;
  for (int round = 0; round < 2; ++round)
    for (const auto& node : p.graph.nodes) {
      const auto& c = std::get<tang::graph::Comprehension>(node.definition);
      std::string text = equations(c);
      CHECK(text == tang::graph::equations_of(p.graph)(c));
      states += text.find("_1") != text.npos || text.find('\n') + 1 < text.size();
    }
  CHECK(states > 0); // names that live in one equation
}
