#pragma once
// What the tests of emitters share: a `.tg` text becomes a program, a program becomes counts.
#include "../schedule/scheduled.h"
#include "kernel/verify.h"
#include "lower/lower.h"
#include <map>

namespace tang::lower::test {

using schedule::test::file_text;
using schedule::test::graph_of;
using schedule::test::rewritten;

struct Target {
  schedule::Machine schedule;
  lower::Machine lower;
};
inline Target gpu() {
  return {schedule::test::gpu(), {}};
}
inline Target core() {
  return {schedule::test::core(), {false, false, 64}};
}

/// Schedules, lowers and verifies.
inline kernel::Program program_of(graph::Graph& graph, int level, const Target& target) {
  plan::Plan plan = schedule::schedule(graph, level, target.schedule);
  kernel::Program program = lower(graph, plan, target.lower);
  kernel::verify(program, "lower");
  return program;
}
struct Lowered {
  graph::Graph graph;
  kernel::Program program;
};
inline Lowered lowered(const std::string& body, const Target& target = gpu(), int level = 2) {
  graph::Graph graph = rewritten(graph_of("tg 1\n" + body), level);
  kernel::Program program = program_of(graph, level, target);
  return {std::move(graph), std::move(program)};
}

/// What a kernel is made of.
struct Counts {
  int serial = 0, unrolled = 0, vector = 0; ///< loops by kind
  int barriers = 0, shuffles = 0;
  int shared = 0;            ///< tensors
  int loads = 0, stores = 0; ///< of global memory, element by element
  int predicated_stores = 0; ///< of them
  std::map<int, int> copies; ///< by width
};
inline Counts counts_of(const kernel::Kernel& k) {
  using namespace kernel;
  Counts n;
  auto global = [&](const Ref& ref) { return k[ref.tensor].memory == Memory::global; };
  for_each_stmt(k.body, [&](const Stmt& stmt) {
    if (const auto* loop = std::get_if<For>(&stmt.node))
      ++(loop->kind == LoopKind::serial     ? n.serial
         : loop->kind == LoopKind::unrolled ? n.unrolled
                                            : n.vector);
    n.barriers += std::holds_alternative<Barrier>(stmt.node);
    n.shuffles += std::holds_alternative<Shfl>(stmt.node);
    if (const auto* a = std::get_if<Allocate>(&stmt.node))
      n.shared += k[a->tensor].memory == Memory::shared;
    if (const auto* l = std::get_if<Load>(&stmt.node)) n.loads += global(l->src);
    if (const auto* s = std::get_if<Store>(&stmt.node); s && global(s->dst)) {
      ++n.stores;
      n.predicated_stores += static_cast<bool>(s->predicate);
    }
    if (const auto* c = std::get_if<Copy>(&stmt.node)) ++n.copies[c->width];
  });
  return n;
}

/// The kernel of variant `v` of the program's step.
inline const kernel::Kernel& kernel_at(const kernel::Program& program, size_t step = 0,
                                       size_t v = 0) {
  const auto& dispatch = std::get<kernel::Dispatch>(program.steps.at(step).node);
  return program.kernels.at(dispatch.variants.at(v).kernel.value);
}

} // namespace tang::lower::test
