// Kernels that do not read each other run beside each other in one launch: where the first leaves
// room on the machine, they fill it together, and one start is waited for instead of several. Only
// where sizes are known: what fills the machine gains nothing by it.
#include "base/checked.h"
#include "graph/reads.h"
#include "graph/streaming.h"
#include "schedule/shapes.h"
#include <algorithm>
#include <numeric>

namespace tang::schedule {

using namespace graph;

namespace {

/// More kernels in one are code that few blocks run.
constexpr size_t most_beside = 4;

/// Blocks of a kernel for one node; empty where its sizes are not known.
std::optional<int64_t> blocks_of(const Graph& graph, const Comprehension& c,
                                 const plan::KernelPlan& kernel) {
  const plan::Fields& f = kernel.variants.back().fields;
  auto size = [&](const std::vector<size_t>& axes) { return fixed_size(graph, c, axes); };
  auto tiles = [&](const std::vector<size_t>& batch, const std::vector<size_t>& rows,
                   std::optional<int64_t> columns) -> std::optional<int64_t> {
    auto outer = size(batch), along = size(rows);
    if (!outer || !along || !columns || f.block_m < 1) return std::nullopt;
    return *outer * ceildiv(*along, f.block_m) * *columns;
  };
  std::vector<size_t> all(c.points.size());
  std::iota(all.begin(), all.end(), size_t{0});
  switch (kernel.emitter) {
  case plan::Emitter::point:
  case plan::Emitter::row:
    if (auto points = size(all)) {
      bool row = kernel.emitter == plan::Emitter::row;
      return ceildiv(*points, row ? f.rows : int64_t{f.threads} * f.vector);
    }
    return std::nullopt;
  case plan::Emitter::tile: {
    Sides sides = sides_of(graph, c);
    auto columns = size(sides.n);
    if (columns) columns = ceildiv(*columns, std::max(1, f.block_n));
    return tiles(sides.batch, sides.m, columns);
  }
  case plan::Emitter::stream: {
    auto s = streaming(graph, c, f.precision == plan::Precision::tf32);
    return s ? tiles(s->batch, s->rows, 1) : std::nullopt;
  }
  }
  return std::nullopt;
}

/// Whether a multiprocessor would have less than two blocks of what is there.
bool leaves_room(const Graph& graph, const std::vector<Node>& nodes, const plan::KernelPlan& kernel,
                 const Machine& machine) {
  int64_t blocks = 0;
  for (uint32_t n : kernel.nodes) {
    auto own = blocks_of(graph, std::get<Comprehension>(nodes[n].definition), kernel);
    if (!own) return false;
    blocks += *own;
  }
  return blocks < 2 * int64_t{machine.units};
}

bool one_block_for_all(const plan::KernelPlan& a, const plan::KernelPlan& b) {
  auto equal = [](const plan::Variant& x, const plan::Variant& y) {
    auto same = [](const plan::Fact& f, const plan::Fact& g) {
      return f.kind == g.kind && f.extent == g.extent && f.value == g.value;
    };
    return x.fields == y.fields &&
           std::equal(x.when.begin(), x.when.end(), y.when.begin(), y.when.end(), same);
  };
  return a.emitter == b.emitter && std::equal(a.variants.begin(), a.variants.end(),
                                              b.variants.begin(), b.variants.end(), equal);
}

/// Whether nodes of `b` wait for nodes of `a`, or write over what those read.
bool waits(const Graph& graph, const std::vector<Node>& nodes, const plan::KernelPlan& a,
           const plan::KernelPlan& b) {
  std::set<TensorId> made;
  for (const plan::KernelPlan* kernel : {&a, &b})
    for (uint32_t n : kernel->nodes)
      for (TensorId id : defines_of(nodes[n])) {
        if (graph[id].over) return true;
        if (kernel == &a) made.insert(id);
      }
  return std::any_of(b.nodes.begin(), b.nodes.end(), [&](uint32_t n) {
    auto reads = reads_of(graph, nodes[n]);
    return std::any_of(reads.begin(), reads.end(), [&](TensorId id) { return made.contains(id); });
  });
}

} // namespace

void run_beside(const Graph& graph, const std::vector<Node>& nodes, const Machine& machine,
                std::vector<plan::Step>& steps) {
  std::vector<plan::Step> out;
  for (plan::Step& step : steps) {
    auto* kernel = std::get_if<plan::KernelPlan>(&step.node);
    auto* before = out.empty() ? nullptr : std::get_if<plan::KernelPlan>(&out.back().node);
    // A row kernel of several nodes computes one after the other.
    bool alone = kernel && kernel->nodes.size() == 1 && before &&
                 (before->beside ? before->nodes.size() < most_beside : before->nodes.size() == 1);
    bool joins = alone && one_block_for_all(*before, *kernel) &&
                 !waits(graph, nodes, *before, *kernel) &&
                 leaves_room(graph, nodes, *before, machine);
    if (!joins) {
      out.push_back(std::move(step));
      continue;
    }
    before->beside = true;
    before->name += "_" + kernel->name;
    before->modelled_ns += kernel->modelled_ns;
    before->nodes.push_back(kernel->nodes[0]);
  }
  steps = std::move(out);
}

} // namespace tang::schedule
