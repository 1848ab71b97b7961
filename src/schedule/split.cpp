// Reductions that a machine of many units runs in parts: split-K, split-KV, trees of sums.
#include "schedule/split.h"
#include "graph/streaming.h"
#include "graph/typical.h"
#include "schedule/plain_tiles.h"
#include "schedule/shapes.h"
#include <algorithm>

namespace tang::schedule {

using namespace graph;

namespace {

/// How a reduction fills the machine, and how long a part has to be to be worth its start.
struct Load {
  double workers = 0;  ///< blocks or threads that it gives
  double wanted = 0;   ///< that the machine runs at once
  double shortest = 0; ///< terms of a part
};

class Chooser {
public:
  Chooser(const Graph& graph, const Machine& machine, bool batch_invariant)
      : graph_(graph), machine_(machine), batch_invariant_(batch_invariant) {}

  std::optional<Parts> choose(size_t n) const {
    const auto* c = std::get_if<Comprehension>(&graph_.nodes[n].definition);
    if (!c || !c->reduction || c->scan || c->reduction->axes.empty()) return std::nullopt;
    const Monoid& m = graph_[c->reduction->monoid];
    const bool lists = m.form == Monoid::Form::topk;
    if (lists && (m.k == 0 || c->reduction->axes.size() > 1)) return std::nullopt;
    for (const Result& result : c->results)
      if (graph_[result.tensor].over) return std::nullopt;
    auto stream = plan_stream(graph_, *c, machine_);
    auto sides = contraction(graph_, *c);
    bool tile = sides && worth_tiling(graph_, *c, *sides);
    if (tile && !batch_invariant_) {
      auto product = matrix_product(graph_, *c, *sides, machine_);
      auto parts = product ? matrix_parts(graph_, *c, *sides, *product, machine_)
                           : plain_parts(graph_, *c, *sides, machine_);
      if (parts) return *parts > 1 ? std::optional(Parts{n, 0, *parts}) : std::nullopt;
    }
    // Without tiles a reduction over several axes runs inside one thread: its rows come first.
    const auto& axes = c->reduction->axes;
    Load load = !stream.variants.empty() ? of_stream(*c, stream.variants.back().fields)
                : tile                   ? of_tiles(*c, *sides)
                : axes.size() == 1       ? of_row(n, *c)
                                         : of_threads(*c);
    if (lists) load.shortest = 256;
    if (!batch_invariant_ && load.workers * 2 > load.wanted) return std::nullopt;
    if (!tile && axes.size() > 1) {
      auto extent = polynomial_of(graph_.exprs, axes[0].extent);
      bool many = length(*c) >= load.shortest * 4;
      return many && extent ? std::optional(Parts{n, 0, 0}) : std::nullopt;
    }
    double depth = typical(graph_, axes[0].extent);
    double most = depth / load.shortest;
    double parts = batch_invariant_ ? most : std::min(most, load.wanted / load.workers);
    int64_t count = 1;
    // One thread merges the lists of a row: no more elements than another has in its part.
    auto few = [&](int64_t n) { return !lists || double(n) * double(n) * double(m.k) <= depth; };
    while (count * 2 <= parts && count < max_parts && few(count * 2)) count *= 2;
    // Two parts do not pay for a second kernel.
    return count > 2 ? std::optional(Parts{n, 0, count}) : std::nullopt;
  }

private:
  static constexpr int64_t max_parts = 64;

  double size(const std::vector<Axis>& axes) const {
    double product = 1;
    for (const Axis& axis : axes) product *= typical(graph_, axis.extent);
    return product;
  }
  double length(const Comprehension& c) const { return size(c.reduction->axes); }

  Load of_tiles(const Comprehension& c, const Sides& sides) const {
    constexpr double block = 64;
    auto blocks = [&](const std::vector<size_t>& axes, double of) {
      double product = 1;
      for (size_t i : axes) product *= typical(graph_, c.points[i].extent);
      return std::max(1.0, product / of);
    };
    double workers = blocks(sides.m, block) * blocks(sides.n, block) * blocks(sides.batch, 1);
    return {workers, double(machine_.units) * 2, 512};
  }
  /// A block per stretch of rows; each part brings its own operands and merges its own amounts.
  Load of_stream(const Comprehension& c, const plan::Fields& fields) const {
    auto streaming = graph::streaming(graph_, c, machine_.allow_tf32);
    auto points = [&](const std::vector<size_t>& axes) {
      double product = 1;
      for (size_t i : axes) product *= typical(graph_, c.points[i].extent);
      return product;
    };
    double blocks = std::max(1.0, points(streaming->rows) / fields.block_m);
    return {blocks * points(streaming->batch), double(machine_.units), 512};
  }
  /// A block per row where a row kernel takes it, else a thread.
  Load of_row(size_t n, const Comprehension& c) const {
    auto group = row_group(graph_, graph_.nodes, static_cast<uint32_t>(n), machine_);
    if (!group) return of_threads(c);
    return {size(c.points), double(machine_.units) * 2, 4096};
  }
  Load of_threads(const Comprehension& c) const {
    return {size(c.points), double(machine_.units) * 512, 32};
  }

  const Graph& graph_;
  const Machine& machine_;
  bool batch_invariant_;
};

} // namespace

std::vector<Parts> choose_parts(const Graph& graph, const Machine& machine, bool batch_invariant) {
  std::vector<Parts> chosen;
  if (!machine.hardware_grid) return chosen;
  Chooser chooser(graph, machine, batch_invariant);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (auto parts = chooser.choose(n)) chosen.push_back(*parts);
  auto is_row = [](const Parts& p) { return p.parts == 0; };
  if (std::any_of(chosen.begin(), chosen.end(), is_row))
    std::erase_if(chosen, [&](const Parts& p) { return !is_row(p); });
  return chosen;
}

} // namespace tang::schedule
