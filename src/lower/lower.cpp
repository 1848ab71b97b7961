#include "lower/lower.h"
#include "base/check.h"
#include "graph/text.h"
#include "lower/signature.h"
#include "lower/workspace.h"
#include <algorithm>
#include <set>

namespace tang::lower {

using graph::Graph;
using graph::Node;
using graph::TensorId;
using kernel::BufferId;

namespace {

class Lowering {
public:
  Lowering(Graph& graph, const Machine& machine)
      : graph_(graph), machine_(machine), host_(graph, program_),
        equations_(graph::equations_of(graph)) {
    program_.name = graph.name;
  }

  kernel::Program run(const plan::Plan& plan) {
    for (TensorId id : graph_.inputs) {
      program_.arguments.push_back(buffer(id));
      if (auto promise = host_.promise(graph_[id], program_.arguments.back()))
        program_.promises.push_back(std::move(*promise));
    }
    for (TensorId id : graph_.outputs) {
      BufferId b = buffer(id);
      program_.buffers[b.value].written = true;
      if (!graph_[id].over) program_.arguments.push_back(b);
      if (auto room = host_.room(graph_[id], b)) program_.rooms.push_back(std::move(*room));
    }
    count_readers(graph_.nodes);
    program_.steps = steps(plan.steps, graph_.nodes);
    plan_workspace(program_, host_);
    return std::move(program_);
  }

private:
  /// The tensor whose memory a tensor lives in: an in-place output in its input, the last value of
  /// a carry in the carry.
  TensorId storage(TensorId id) const {
    if (graph_[id].over) return graph_[id].over;
    auto at = alias_.find(id);
    return at == alias_.end() ? id : at->second;
  }

  BufferId buffer(TensorId tensor) {
    TensorId id = storage(tensor);
    auto [at, inserted] = buffers_.try_emplace(id);
    if (inserted) {
      const graph::Tensor& t = graph_[id];
      kernel::Buffer b;
      using Kind = kernel::Buffer::Kind;
      switch (t.kind) {
      case graph::TensorKind::input:
      case graph::TensorKind::param:
      case graph::TensorKind::output: b.kind = Kind::argument; break;
      case graph::TensorKind::constant: b.kind = Kind::table; break;
      case graph::TensorKind::intermediate: b.kind = Kind::workspace; break;
      }
      b.name = t.name, b.type = t.type, b.tensor = id, b.align = t.align;
      b.elements = host_.elements(t);
      for (graph::ExprId extent : t.shape) b.shape.push_back(host_.term(extent));
      for (graph::ExprId stride : t.strides) b.strides.push_back(host_.term(stride));
      if (b.kind == Kind::table) b.reals = t.reals, b.integers = t.integers;
      at->second = BufferId(static_cast<uint32_t>(program_.buffers.size()));
      program_.buffers.push_back(std::move(b));
    }
    return at->second;
  }

  void count_readers(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      for (TensorId id : graph::reads_of(graph_, node)) readers_[id].insert(&node);
      if (const auto* recur = std::get_if<graph::Recur>(&node.definition))
        count_readers(recur->body);
    }
  }

  std::vector<kernel::Step> steps(const std::vector<plan::Step>& plans,
                                  const std::vector<Node>& nodes) {
    std::vector<kernel::Step> out;
    for (const plan::Step& step : plans)
      std::visit(Overload{[&](const plan::KernelPlan& k) {
                            if (k.beside) return beside(k, nodes, out);
                            std::vector<const Node*> members;
                            for (uint32_t n : k.nodes) members.push_back(&nodes[n]);
                            out.push_back({dispatch(k, members, {}, plans_++)});
                          },
                          [&](const plan::RecurPlan& r) { recurrence(r, nodes[r.node], out); }},
                 step.node);
    return out;
  }

  /// A launch for each node, which may run at the same time.
  void beside(const plan::KernelPlan& plan, const std::vector<Node>& nodes,
              std::vector<kernel::Step>& out) {
    for (uint32_t n : plan.nodes) {
      plan::KernelPlan one = plan;
      one.nodes = {n}, one.name = graph_[graph::defines_of(nodes[n]).front()].name;
      kernel::Dispatch d = dispatch(one, {&nodes[n]}, {}, plans_);
      d.beside = n != plan.nodes.front();
      out.push_back({std::move(d)});
    }
    ++plans_;
  }

  kernel::Dispatch dispatch(const plan::KernelPlan& plan, const std::vector<const Node*>& nodes,
                            TensorId prefix_step, uint32_t plan_number) {
    kernel::Dispatch d;
    d.name = plan.name, d.nodes = plan.nodes, d.plan = plan_number;
    auto inside = internal(nodes);
    Signature signature = signature_of(graph_, nodes, inside);
    for (size_t i = 0; i < plan.variants.size(); ++i) {
      const plan::Variant& variant = plan.variants[i];
      // Inside a recurrence a kernel may take its step.
      std::string key = fmt::format(
          "{} {} {} {}\n{}", plan::name(plan.emitter), plan::to_text(variant.fields),
          prefix_step.value, steps_.empty() ? 0 : steps_.back().first.value + 1, signature.text);
      auto at = known_.find(key);
      if (at == known_.end()) {
        std::string name = i == 0 ? plan.name : fmt::format("{}_{}", plan.name, i + 1);
        Emission e{graph_,   unique(name), nodes,  variant.fields,
                   machine_, steps_,       inside, prefix_step};
        at = known_.emplace(key, emit(plan.emitter, e, signature)).first;
        kernel(at->second).comment = comment(plan, variant, nodes);
      }
      d.variants.push_back(launch(at->second, signature, variant));
    }
    return d;
  }

  /// A kernel and which of its signature's tensors its parameters are.
  struct Known {
    kernel::KernelId id;
    std::vector<size_t> params;
    std::vector<ScalarSource> scalars;
  };
  kernel::Kernel& kernel(const Known& known) { return program_.kernels[known.id.value]; }

  Known emit(plan::Emitter emitter, const Emission& e, const Signature& signature) {
    Built built;
    switch (emitter) {
    case plan::Emitter::point: built = emit_point(e); break;
    case plan::Emitter::row: built = emit_row(e); break;
    case plan::Emitter::tile:
      built = e.fields.precision != plan::Precision::full ? emit_matrix_tile(e)
              : e.fields.pipeline > 1                     ? emit_ring_tile(e)
                                                          : emit_tile(e);
      break;
    case plan::Emitter::stream: built = emit_stream(e); break;
    }
    Known known{kernel::KernelId(static_cast<uint32_t>(program_.kernels.size())),
                {},
                std::move(built.scalars)};
    for (const TensorSource& source : built.tensors) {
      auto at = std::find(signature.tensors.begin(), signature.tensors.end(), source);
      TANG_CHECK(at != signature.tensors.end(), "`{}` has a parameter that its nodes do not name",
                 e.name);
      known.params.push_back(at - signature.tensors.begin());
    }
    program_.kernels.push_back(std::move(built.kernel));
    return known;
  }

  /// What the kernel computes, in the words of the input, and how.
  std::vector<std::string> comment(const plan::KernelPlan& plan, const plan::Variant& variant,
                                   const std::vector<const Node*>& nodes) {
    // Longer lines are no comment any more.
    constexpr size_t longest = 160;
    std::vector<std::string> lines;
    for (const Node* node : nodes) {
      std::string text = equations_(std::get<graph::Comprehension>(node->definition));
      for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        std::string line = text.substr(at, text.find('\n', at) - at);
        if (line.size() > longest) line = line.substr(0, longest) + " ...";
        lines.push_back(std::move(line));
      }
    }
    lines.push_back(
        fmt::format("schedule: {} {}", plan::name(plan.emitter), plan::to_text(variant.fields)));
    return lines;
  }

  kernel::Variant launch(const Known& known, const Signature& signature,
                         const plan::Variant& plan) {
    auto& v = program_.values;
    kernel::Variant variant;
    variant.kernel = known.id;
    variant.index_bits = plan.fields.index_bits;
    for (size_t param : known.params) {
      const TensorSource& source = signature.tensors[param];
      variant.bindings.push_back({buffer(source.tensor), host_.offset(source)});
    }
    for (const ScalarSource& source : known.scalars)
      variant.scalars.push_back(host_.scalar(source));
    for (const kernel::BlockMode& mode : kernel(known).blocks)
      variant.blocks.push_back(host_.import(kernel(known), mode.extent, variant.scalars));
    for (const plan::Fact& fact : plan.when) {
      ValueId extent = host_.term(fact.extent), value = v.integer(fact.value, Type::i64);
      ValueId holds = fact.kind == plan::Fact::Kind::at_most
                          ? v.binary(graph::Op::le, extent, value)
                          : v.binary(graph::Op::eq, v.binary(graph::Op::mod, extent, value),
                                     v.integer(0, Type::i64));
      variant.condition = v.both(variant.condition, holds);
    }
    if (variant.condition && v.as_boolean(variant.condition) == true) variant.condition = {};
    return variant;
  }

  /// Tensors that nobody outside these nodes reads.
  std::vector<TensorId> internal(const std::vector<const Node*>& nodes) const {
    std::vector<TensorId> list;
    for (const Node* node : nodes)
      for (TensorId id : graph::defines_of(*node)) {
        auto at = readers_.find(id);
        bool inside = graph_[id].kind == graph::TensorKind::intermediate && at != readers_.end() &&
                      !carried_.contains(id) &&
                      std::all_of(at->second.begin(), at->second.end(), [&](const Node* reader) {
                        return std::find(nodes.begin(), nodes.end(), reader) != nodes.end();
                      });
        if (inside) list.push_back(id);
      }
    return list;
  }

  void recurrence(const plan::RecurPlan& plan, const Node& node, std::vector<kernel::Step>& out) {
    const auto& r = std::get<graph::Recur>(node.definition);
    for (const graph::Carry& carry : r.carries) {
      alias_[carry.last] = carry.current;
      carried_.insert(carry.next);
      copy(carry.init, carry.current, {}, out);
    }
    for (const graph::Collect& collect : r.collects) carried_.insert(collect.value);
    kernel::Loop loop;
    loop.var = host_.declare_step(r.step, r.time.name);
    loop.extent = host_.term(r.time.extent);
    graph::IntRange range = program_.values.range(loop.extent);
    if (range.hi <= 0) return; // no step is ever taken
    steps_.emplace_back(
        r.step, std::max<int64_t>(range.hi == graph::IntRange{}.hi ? range.hi : range.hi - 1, 0));
    loop.body = steps(plan.steps, r.body);
    for (const graph::Collect& collect : r.collects)
      copy(collect.value, collect.stacked, r.step, loop.body);
    for (const graph::Carry& carry : r.carries)
      if (storage(carry.next) != storage(carry.current))
        copy(carry.next, carry.current, {}, loop.body);
    steps_.pop_back();
    out.push_back({std::move(loop)});
  }

  /// One kernel that copies `from` to `to` (behind the step when `step` is given).
  void copy(TensorId from, TensorId to, TensorId step, std::vector<kernel::Step>& out) {
    graph::Comprehension c;
    std::vector<ExprId> places;
    const std::vector<ExprId> shape = graph_[from].shape;
    for (uint32_t i = 0; i < shape.size(); ++i) {
      c.points.push_back({graph::IndexId(i), shape[i], fmt::format("i{}", i), {}, {}});
      places.push_back(graph_.exprs.index(graph::IndexId(i)));
    }
    ExprId value = graph_.exprs.read(from, graph::scalar_of(graph_[from].type), places);
    c.results.push_back({to, value, {}});
    Node node{c, {}, {}};
    plan::KernelPlan plan;
    plan.name = graph_[to].name + "_copy", plan.variants = {{}};
    plan.variants[0].fields.threads = machine_.hardware_grid ? 256 : 1;
    plan.variants[0].fields.serial_inner = !machine_.hardware_grid;
    out.push_back({dispatch(plan, {&node}, step, kernel::Dispatch::no_plan)});
  }

  std::string unique(std::string name) {
    std::string candidate = name;
    for (int n = 2; !names_.insert(candidate).second; ++n)
      candidate = fmt::format("{}_{}", name, n);
    return candidate;
  }

  Graph& graph_;
  Machine machine_;
  kernel::Program program_;
  Host host_;
  uint32_t plans_ = 0;
  std::unordered_map<TensorId, BufferId> buffers_;
  std::unordered_map<TensorId, TensorId> alias_;
  std::set<TensorId> carried_;
  std::unordered_map<TensorId, std::set<const Node*>> readers_;
  std::vector<std::pair<TensorId, int64_t>> steps_;
  std::set<std::string> names_;
  std::function<std::string(const graph::Comprehension&)> equations_;
  std::unordered_map<std::string, Known> known_; ///< by schedule and signature
};

} // namespace

kernel::Program lower(Graph& graph, const plan::Plan& plan, const Machine& machine) {
  return Lowering(graph, machine).run(plan);
}

} // namespace tang::lower
