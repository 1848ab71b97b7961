#include "schedule/explicit.h"
#include "graph/text.h"
#include "schedule/legal.h"
#include <algorithm>
#include <set>

namespace tang::schedule {

using graph::Comprehension;
using graph::ExprId;
using graph::Graph;
using graph::Node;

namespace {

/// A kernel of a plan, with the list its nodes are in.
struct Place {
  plan::KernelPlan* kernel;
  const std::vector<Node>* nodes;
};

void collect(const std::vector<Node>& nodes, std::vector<plan::Step>& steps,
             std::vector<Place>& out) {
  for (plan::Step& step : steps) {
    if (auto* kernel = std::get_if<plan::KernelPlan>(&step.node)) {
      out.push_back({kernel, &nodes});
      continue;
    }
    // Nesting of recurrences is bounded by the language's nesting limit.
    auto& recur = std::get<plan::RecurPlan>(step.node);
    collect(std::get<graph::Recur>(nodes[recur.node].definition).body, recur.steps, out);
  }
}

/// The extents of a kernel's axes, by their text.
std::map<std::string, ExprId> extents_of(const Graph& graph, const Place& place) {
  std::map<std::string, ExprId> found;
  for (uint32_t n : place.kernel->nodes) {
    const auto* c = std::get_if<Comprehension>(&(*place.nodes)[n].definition);
    if (!c) continue;
    auto add = [&](const graph::Axis& axis) {
      found.emplace(graph::to_text(graph, axis.extent), axis.extent);
    };
    std::for_each(c->points.begin(), c->points.end(), add);
    if (c->reduction) std::for_each(c->reduction->axes.begin(), c->reduction->axes.end(), add);
  }
  return found;
}

class Application {
public:
  Application(const Graph& graph, const Machine& machine, Sink& sink)
      : graph_(graph), machine_(machine), sink_(sink) {}

  void apply(const StatedKernel& stated, const Place& place) {
    plan::KernelPlan& kernel = *place.kernel;
    if (stated.emitter && *stated.emitter != kernel.emitter) {
      sink_
          .report(Kind::schedule_illegal, stated.span,
                  "kernel `{}` is made by the emitter `{}`, not `{}`", kernel.name,
                  plan::name(kernel.emitter), plan::name(*stated.emitter))
          .help("the shape of a kernel's nodes decides that, not a schedule");
      return;
    }
    std::map<std::string, ExprId> extents = extents_of(graph_, place);
    std::vector<plan::Variant> variants;
    for (const StatedVariant& v : stated.variants) {
      plan::Variant variant{v.fields, {}};
      for (const StatedFact& fact : v.when)
        if (auto extent = named(fact, extents, kernel.name))
          variant.when.push_back({fact.kind, *extent, fact.value});
      if (variant.when.size() != v.when.size()) return;
      bool last = &v == &stated.variants.back();
      if (auto fault = why_illegal(graph_, *place.nodes, kernel, variant, last, machine_))
        sink_.report(Kind::schedule_illegal, v.span, "kernel `{}` cannot run so: {}", kernel.name,
                     *fault);
      variants.push_back(std::move(variant));
    }
    if (!sink_.ok()) return;
    kernel.variants = std::move(variants);
    kernel.reason = "stated by --schedule", kernel.modelled_ns = 0;
  }

private:
  std::optional<ExprId> named(const StatedFact& fact, const std::map<std::string, ExprId>& extents,
                              const std::string& kernel) {
    if (auto at = extents.find(fact.extent); at != extents.end()) return at->second;
    std::vector<std::string> known;
    for (const auto& [text, id] : extents) known.push_back(fmt::format("`{}`", text));
    sink_
        .report(Kind::schedule_illegal, fact.span, "`{}` is no extent of kernel `{}`", fact.extent,
                kernel)
        .help(fmt::format("its extents: {}", fmt::join(known, ", ")));
    return std::nullopt;
  }

  const Graph& graph_;
  const Machine& machine_;
  Sink& sink_;
};

} // namespace

void apply(const StatedSchedule& stated, const Graph& graph, plan::Plan& plan,
           const Machine& machine, bool general, Sink& sink) {
  if (stated.empty()) return;
  std::vector<Place> places;
  collect(graph.nodes, plan.steps, places);
  std::map<std::string, std::vector<const StatedKernel*>> by_name;
  for (const StatedKernel& kernel : stated) by_name[kernel.name].push_back(&kernel);
  std::map<std::string, size_t> seen;
  Application application(graph, machine, sink);
  for (const Place& place : places) {
    auto at = by_name.find(place.kernel->name);
    size_t number = seen[place.kernel->name]++;
    if (at == by_name.end()) continue;
    const auto& entries = at->second;
    if (entries.size() == 1 || number < entries.size())
      application.apply(*entries[entries.size() == 1 ? 0 : number], place);
  }
  if (!general) return;
  std::vector<std::string> names;
  for (const auto& [name, count] : seen) names.push_back(name);
  for (const auto& [name, entries] : by_name) {
    size_t there = seen.contains(name) ? seen.at(name) : 0;
    if (there && entries.size() <= std::max<size_t>(there, 1)) continue;
    auto& fault = there ? sink.report(Kind::schedule_illegal, entries[there]->span,
                                      "only {} kernel{} called `{}`", there,
                                      there == 1 ? " is" : "s are", name)
                        : sink.report(Kind::schedule_illegal, entries[0]->span,
                                      "there is no kernel `{}`", name);
    if (std::string near = nearest_name(name, names); !there && !near.empty())
      fault.help(fmt::format("did you mean `{}`?", near));
    else if (!there)
      fault.help("`--emit=schedule` writes the kernels and their fields");
  }
}

} // namespace tang::schedule
