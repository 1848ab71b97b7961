#include "bound/analysis.h"
#include "base/check.h"
#include <algorithm>
#include <map>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

class Analyzer {
public:
  Analyzer(const Graph& graph, const plan::Plan& plan, bool allow_tf32) : tf32_(allow_tf32) {
    out_.formulas = std::make_unique<Formulas>(graph);
    walk(plan.steps, f().graph().nodes, f().number(1), {});
  }

  Analysis run() {
    find_leaving();
    for (size_t k = 0; k < out_.kernels.size(); ++k) bound(k);
    find_edges();
    whole();
    return std::move(out_);
  }

private:
  Formulas& f() { return *out_.formulas; }

  void walk(const std::vector<plan::Step>& steps, const std::vector<Node>& nodes, ExprId launches,
            const std::vector<const Recur*>& around) {
    for (const plan::Step& step : steps) {
      if (const auto* kernel = std::get_if<plan::KernelPlan>(&step.node)) {
        KernelBound bound;
        bound.plan = kernel, bound.launches = launches;
        for (uint32_t node : kernel->nodes) bound.nodes.push_back(&nodes.at(node));
        out_.kernels.push_back(std::move(bound));
        around_.push_back(around);
        continue;
      }
      const auto& r = std::get<plan::RecurPlan>(step.node);
      const auto& recur = std::get<Recur>(nodes.at(r.node).definition);
      recurs_.push_back(&recur);
      auto inner = around;
      inner.push_back(&recur);
      walk(r.steps, recur.body, f().product(launches, f().positive(recur.time.extent)), inner);
    }
  }

  std::vector<const Comprehension*> comprehensions(const KernelBound& kernel) const {
    std::vector<const Comprehension*> found;
    for (const Node* node : kernel.nodes)
      if (const auto* c = std::get_if<Comprehension>(&node->definition)) found.push_back(c);
    return found;
  }

  /// Which tensors are read by whom, and which of them leave their kernel.
  void find_leaving() {
    std::set<TensorId> outside(f().graph().outputs.begin(), f().graph().outputs.end());
    for (const Recur* recur : recurs_) {
      for (const Carry& carry : recur->carries)
        outside.insert(carry.init), outside.insert(carry.next);
      for (const Collect& collect : recur->collects) outside.insert(collect.value);
    }
    for (size_t k = 0; k < out_.kernels.size(); ++k)
      for (const Node* node : out_.kernels[k].nodes) {
        for (TensorId tensor : reads_of(f().graph(), *node)) readers_[tensor].insert(k);
        for (TensorId tensor : defines_of(*node)) writer_[tensor] = k;
      }
    for (size_t k = 0; k < out_.kernels.size(); ++k)
      for (const Node* node : out_.kernels[k].nodes)
        for (TensorId tensor : defines_of(*node)) {
          const auto& readers = readers_[tensor];
          bool elsewhere = std::any_of(readers.begin(), readers.end(),
                                       [&](size_t reader) { return reader != k; });
          if (elsewhere || outside.contains(tensor)) out_.kernels[k].leaving.push_back(tensor);
        }
  }

  void bound(size_t k) {
    KernelBound& kernel = out_.kernels[k];
    Group group{comprehensions(kernel), kernel.leaving, around_[k]};
    kernel.traffic = compulsory(f(), group);
    kernel.operations = operations_of(f(), group.nodes);
    kernel.contractions = contractions_of(f(), group, kernel.traffic, false, tf32_);
    kernel.moved_bytes = f().number(0);
    auto add = [&](TensorId tensor) {
      kernel.moved_bytes = f().sum(kernel.moved_bytes,
                                   f().bytes(f().graph()[tensor].type, elements_of(f(), tensor)));
    };
    std::set<TensorId> read;
    for (const Node* node : kernel.nodes)
      for (TensorId tensor : reads_of(f().graph(), *node)) read.insert(tensor);
    for (TensorId tensor : read) {
      auto writer = writer_.find(tensor);
      bool own = writer != writer_.end() && writer->second == k;
      if (own || is_step(tensor)) continue;
      kernel.reading.push_back(tensor);
      add(tensor);
    }
    for (TensorId tensor : kernel.leaving) add(tensor);
  }
  bool is_step(TensorId tensor) const {
    return std::any_of(recurs_.begin(), recurs_.end(),
                       [&](const Recur* recur) { return recur->step == tensor; });
  }

  void find_edges() {
    // What a recurrence hands on is written by the kernel of its next value.
    std::map<TensorId, TensorId> made_from;
    for (const Recur* recur : recurs_) {
      for (const Carry& carry : recur->carries)
        made_from[carry.last] = carry.next, made_from[carry.current] = carry.init;
      for (const Collect& collect : recur->collects) made_from[collect.stacked] = collect.value;
    }
    for (const auto& [tensor, readers] : readers_) {
      TensorId source = tensor;
      for (auto at = made_from.find(source); at != made_from.end(); at = made_from.find(source))
        source = at->second;
      auto writer = writer_.find(source);
      if (writer == writer_.end()) continue;
      for (size_t reader : readers)
        if (reader != writer->second)
          out_.edges.push_back({writer->second, reader, tensor,
                                f().bytes(f().graph()[tensor].type, elements_of(f(), tensor))});
    }
    std::sort(out_.edges.begin(), out_.edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.from, a.to, a.tensor) < std::tie(b.from, b.to, b.tensor);
    });
  }

  void whole() {
    out_.whole = compulsory(f());
    std::vector<const Comprehension*> outer;
    for (const Node& node : f().graph().nodes)
      if (const auto* c = std::get_if<Comprehension>(&node.definition)) outer.push_back(c);
    // Products inside recurrences are left out: they count as avoidable.
    Group group{outer, f().graph().outputs, {}};
    out_.contractions = contractions_of(f(), group, out_.whole, true, tf32_);
    out_.operations = {f().number(0), f().number(0), f().number(0), {}};
    out_.fused_bytes = f().number(0);
    for (const KernelBound& kernel : out_.kernels) {
      out_.fused_bytes =
          f().sum(out_.fused_bytes, f().product(kernel.launches, kernel.moved_bytes));
      auto add = [&](ExprId& to, ExprId count) {
        to = f().sum(to, f().product(kernel.launches, count));
      };
      add(out_.operations.flops, kernel.operations.flops);
      add(out_.operations.special, kernel.operations.special);
      add(out_.operations.integer, kernel.operations.integer);
    }
  }

  bool tf32_;
  Analysis out_;
  std::vector<std::vector<const Recur*>> around_; ///< per kernel
  std::vector<const Recur*> recurs_;
  std::map<TensorId, std::set<size_t>> readers_;
  std::map<TensorId, size_t> writer_;
};

Work work_of(const Formulas& f, const Traffic& traffic, const Operations& operations,
             const std::vector<Contraction>& contractions, std::span<const int64_t> dims) {
  Work work;
  work.read_bytes = f.value(traffic.read_bytes, dims);
  work.written_bytes = f.value(traffic.written_bytes, dims);
  work.special = f.value(operations.special, dims);
  for (const Contraction& contraction : contractions) {
    Amount points = f.value(contraction.points, dims);
    if (points && *points > std::numeric_limits<int64_t>::max() / 2) points.reset();
    work.operations.emplace_back(contraction, points ? Amount(*points * 2) : Amount());
  }
  return work;
}

} // namespace

Analysis analyze(const Graph& graph, const plan::Plan& plan, bool allow_tf32) {
  return Analyzer(graph, plan, allow_tf32).run();
}

Floor floor_of(const Analysis& analysis, const KernelBound& kernel, std::span<const int64_t> dims,
               const targets::Device& device) {
  return floor_of(
      work_of(*analysis.formulas, kernel.traffic, kernel.operations, kernel.contractions, dims),
      device);
}

std::vector<std::string> floor_formulas(const Analysis& analysis, const KernelBound& kernel,
                                        const targets::Device& device) {
  Formulas& f = *analysis.formulas;
  const Traffic& traffic = kernel.traffic;
  WorkText work;
  work.reads = f.store().as_integer(traffic.read_bytes) != 0;
  work.writes = f.store().as_integer(traffic.written_bytes) != 0;
  work.always_reads = f.proves_less_equal(f.number(1), traffic.read_bytes);
  for (const Contraction& contraction : kernel.contractions)
    work.operations.emplace_back(contraction, f.text(f.product(f.number(2), contraction.points)));
  return floor_formulas(work, device);
}

Floor floor_of_whole(const Analysis& analysis, std::span<const int64_t> dims,
                     const targets::Device& device) {
  return floor_of(
      work_of(*analysis.formulas, analysis.whole, analysis.operations, analysis.contractions, dims),
      device);
}

int64_t critical_path_ps(const Analysis& analysis, const std::vector<Floor>& floors,
                         std::span<const int64_t> dims) {
  // Kernels stand in an order in which each needs only earlier ones; edges back to earlier kernels
  // belong to the next step of a recurrence.
  std::vector<int64_t> until(floors.size(), 0);
  int64_t longest = 0;
  for (size_t k = 0; k < floors.size(); ++k) {
    int64_t start = 0;
    for (const Edge& edge : analysis.edges)
      if (edge.to == k && edge.from < k) start = std::max(start, until[edge.from]);
    int64_t times = analysis.formulas->value(analysis.kernels[k].launches, dims).value_or(0);
    __int128 end = start + static_cast<__int128>(floors[k].warm_ps) * std::max<int64_t>(times, 0);
    until[k] = static_cast<int64_t>(std::min<__int128>(end, std::numeric_limits<int64_t>::max()));
    longest = std::max(longest, until[k]);
  }
  return longest;
}

} // namespace tang::bound
