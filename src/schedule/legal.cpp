#include "schedule/legal.h"
#include "graph/prover.h"
#include "graph/text.h"
#include "schedule/shapes.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace tang::schedule {

using graph::Comprehension;
using graph::ExprId;
using graph::Graph;
using graph::Node;
using plan::Fact;
using plan::Fields;

namespace {

using Fault = std::optional<std::string>;

/// Neighbours that loads and stores are made for.
constexpr int most_neighbours = 8;
/// Accumulators that a thread's registers hold beside its operands.
constexpr int most_accumulators = 128;

bool is_power_of_two(int n) {
  return std::has_single_bit(static_cast<unsigned>(n));
}

class Judge {
public:
  Judge(const Graph& graph, const std::vector<Node>& nodes, const plan::KernelPlan& kernel,
        const plan::Variant& variant, const Machine& machine)
      : graph_(graph), nodes_(nodes), kernel_(kernel), variant_(variant), f_(variant.fields),
        machine_(machine) {}

  Fault judge(bool last) const {
    if (last && !variant_.when.empty())
      return "the last variant takes all sizes, and has no `when`";
    if (last && f_.index_bits)
      return "the last variant takes tensors of all sizes: `index_bits` is 0";
    if (f_.index_bits != 0 && f_.index_bits != 32) return "`index_bits` is 0 or 32";
    if (auto fault = unused()) return fault;
    switch (kernel_.emitter) {
    case plan::Emitter::point: return point();
    case plan::Emitter::row: return row();
    case plan::Emitter::tile: return machine_.hardware_grid ? staged_tile() : register_tile();
    case plan::Emitter::stream: return stream();
    }
    return {};
  }

private:
  /// Fields that this emitter does not read would say something untrue.
  Fault unused() const {
    const Fields initial;
    // A bit for each emitter, in the order of the enumeration.
    constexpr unsigned point = 1, row = 2, tile = 4, stream = 8,
                       every = point | row | tile | stream;
    const unsigned reader = 1u << static_cast<unsigned>(kernel_.emitter);
    Fault fault;
    std::string_view emitter = plan::name(kernel_.emitter);
#define TANG_FIELD(type, name, initial_value, least, greatest, readers, text)                      \
  if (f_.name != initial.name && !((readers)&reader))                                              \
    fault = fmt::format("`" #name "` means nothing to the emitter `{}`", emitter);
#include "plan/fields.def"
#undef TANG_FIELD
    return fault;
  }

  Fault block(int64_t threads) const {
    if (threads <= machine_.max_threads) return {};
    return fmt::format("a block of {} threads is beyond the target's {}", threads,
                       machine_.max_threads);
  }

  bool divides(ExprId extent, int width) const {
    return std::any_of(variant_.when.begin(), variant_.when.end(), [&](const Fact& fact) {
      return fact.kind == Fact::Kind::divisible && fact.extent == extent && fact.value % width == 0;
    });
  }
  bool at_most(ExprId extent, int64_t most) const {
    if (graph::Prover(graph_).range(extent).hi <= most) return true;
    return std::any_of(variant_.when.begin(), variant_.when.end(), [&](const Fact& fact) {
      return fact.kind == Fact::Kind::at_most && fact.extent == extent && fact.value <= most;
    });
  }

  Fault neighbours(ExprId extent) const {
    if (!is_power_of_two(f_.vector) || f_.vector > most_neighbours)
      return fmt::format("`vector` is 1, 2, 4 or 8, not {}", f_.vector);
    if (known_divisor(graph_, extent) % f_.vector == 0) return {};
    std::string text = graph::to_text(graph_, extent);
    if (!has_solvable_multiples(graph_, extent))
      return fmt::format("vectors of {0} need a multiple of {0}, which no one dim of `{1}` decides",
                         f_.vector, text);
    if (divides(extent, f_.vector)) return {};
    return fmt::format("vectors of {} need `({}) % {} == 0` in `when`", f_.vector, text, f_.vector);
  }

  Fault point() const {
    const auto& c = std::get<Comprehension>(nodes_[kernel_.nodes[0]].definition);
    if (f_.serial_inner == machine_.hardware_grid)
      return machine_.hardware_grid
                 ? "`serial_inner` is for targets without threads"
                 : "the target has no threads: a block walks the axis, `serial_inner`";
    if (!machine_.hardware_grid)
      return f_.threads == 1 && f_.vector == 1 ? Fault() : "the target's blocks have one thread";
    if (auto fault = block(f_.threads)) return fault;
    if (f_.vector == 1) return {};
    bool map = !c.reduction && !c.points.empty();
    for (const graph::Result& result : c.results)
      map &= result.extra.empty() && !graph::is_packed(graph_[result.tensor].type);
    if (!map) return "only a map of elements of a byte or more moves vectors";
    return neighbours(c.points.back().extent);
  }

  Fault row() const {
    if (!machine_.hardware_grid)
      return f_ == Fields{} ? Fault() : "the target has no threads: rows run one after the other";
    if (!is_power_of_two(f_.threads) || f_.threads < machine_.warp)
      return fmt::format("a row has a power of two of threads, from {}", machine_.warp);
    if (auto fault = meeting()) return fault;
    if (f_.rows > 1 && f_.threads != machine_.warp)
      return fmt::format("rows share a block only where each has {} threads: others wait for each "
                         "other",
                         machine_.warp);
    if (auto fault = block(int64_t{f_.threads} * f_.rows)) return fault;
    ExprId extent;
    for (uint32_t n : kernel_.nodes)
      if (const auto& c = std::get<Comprehension>(nodes_[n].definition); c.reduction)
        extent = graph::axis_along(c).extent;
    if (auto fault = neighbours(extent)) return fault;
    int64_t held = int64_t{f_.threads} * f_.vector * f_.chunks;
    if (f_.chunks == 0 || at_most(extent, held)) return {};
    return fmt::format("{} threads with {} chunks of {} hold {} elements: `when` needs `{} <= {}`",
                       f_.threads, f_.chunks, f_.vector, held, graph::to_text(graph_, extent),
                       held);
  }

  /// Threads without shuffles reduce in shared memory.
  Fault meeting() const {
    if (machine_.warp_shuffle) return {};
    if (f_.rows > 1) return "the target's threads meet in shared memory: a block has one row";
    int64_t fields = fields_along(graph_, nodes_, kernel_.nodes);
    int64_t bytes = meeting_bytes(fields, f_.threads);
    if (bytes <= machine_.shared_bytes) return {};
    return fmt::format("{} threads with {} values each meet in {} bytes of shared memory, and a "
                       "block has {}",
                       f_.threads, fields, bytes, machine_.shared_bytes);
  }

  Fault tile() const {
    if (f_.block_m < 1 || f_.block_n < 1) return "a tile has rows and columns";
    if (f_.block_m % f_.thread_m || f_.block_n % f_.thread_n)
      return "threads share a block's tile evenly: `block_m % thread_m` and `block_n % thread_n` "
             "are 0";
    const auto& c = std::get<Comprehension>(nodes_[kernel_.nodes[0]].definition);
    int64_t fields = static_cast<int64_t>(graph_[c.reduction->monoid].fields.size());
    int64_t accumulators = fields * f_.thread_m * f_.thread_n;
    if (accumulators > most_accumulators)
      return fmt::format("{} accumulators of a thread are beyond {}", accumulators,
                         most_accumulators);
    return {};
  }

  Fault register_tile() const {
    if (f_.stage || f_.block_k || f_.threads != 1)
      return "the target has no threads and no shared memory: `threads` is 1, and nothing is "
             "staged";
    if (f_.thread_m != f_.block_m || f_.thread_n != f_.block_n)
      return "the target has no threads: `thread_m` is `block_m`, and `thread_n` is `block_n`";
    return tile();
  }

  Fault staged_tile() const {
    if (!f_.stage || f_.block_k < 1) return "operands go through shared memory: `stage`, `block_k`";
    if (f_.precision != plan::Precision::full) return matrix_tile();
    if (f_.vector > 1 || f_.store > 1)
      return "`store` and `vector` are for matrix units: `precision`";
    if (f_.pipeline == 1 && (f_.warp_m || f_.warp_n || f_.raster > 1))
      return "`warp_m`, `warp_n` and `raster` are for chunks under way at once (`pipeline`) and "
             "for "
             "matrix units (`precision`)";
    if (auto fault = tile()) return fault;
    for (int side : {f_.thread_m, f_.thread_n})
      if (side > 4 && side % 4)
        return fmt::format("a thread takes up to 4 neighbours, or groups of 4, not {}", side);
    int64_t threads = int64_t{f_.block_m / f_.thread_m} * (f_.block_n / f_.thread_n);
    if (auto fault = block(threads)) return fault;
    if (f_.threads != threads)
      return fmt::format("the tile has {} threads, not {}: (block_m / thread_m) * (block_n / "
                         "thread_n)",
                         threads, f_.threads);
    const auto& c = std::get<Comprehension>(nodes_[kernel_.nodes[0]].definition);
    if (f_.pipeline > 1) return why_no_ring(graph_, c, f_, machine_);
    auto sides = graph::sides_of(graph_, c);
    int64_t bytes = staged_bytes(graph_, c, graph::operands_of(graph_, c, sides), f_);
    if (bytes > machine_.shared_bytes)
      return fmt::format("its tiles take {} bytes of shared memory, and a block has {}", bytes,
                         machine_.shared_bytes);
    return {};
  }

  Fault stream() const {
    const auto& c = std::get<Comprehension>(nodes_[kernel_.nodes[0]].definition);
    return why_no_stream(graph_, c, f_, machine_);
  }

  Fault matrix_tile() const {
    const auto& c = std::get<Comprehension>(nodes_[kernel_.nodes[0]].definition);
    if (auto fault = why_no_matrix(graph_, c, f_, machine_)) return fault;
    auto sides = graph::sides_of(graph_, c);
    auto product = matrix_product(graph_, c, sides, machine_);
    for (ExprId extent : product->vectors)
      if (auto fault = neighbours(extent)) return fault;
    ExprId columns = c.points[sides.n.back()].extent;
    if (known_divisor(graph_, columns) % f_.store != 0 && !divides(columns, f_.store))
      return fmt::format("pairs of results need `({}) % {} == 0` in `when`",
                         graph::to_text(graph_, columns), f_.store);
    return {};
  }

  const Graph& graph_;
  const std::vector<Node>& nodes_;
  const plan::KernelPlan& kernel_;
  const plan::Variant& variant_;
  const Fields& f_;
  const Machine& machine_;
};

} // namespace

std::optional<std::string> why_illegal(const Graph& graph, const std::vector<Node>& nodes,
                                       const plan::KernelPlan& kernel, const plan::Variant& variant,
                                       bool last, const Machine& machine) {
  if (!kernel.beside) return Judge(graph, nodes, kernel, variant, machine).judge(last);
  for (uint32_t n : kernel.nodes) {
    plan::KernelPlan one = kernel;
    one.beside = false, one.nodes = {n};
    if (auto fault = Judge(graph, nodes, one, variant, machine).judge(last)) return fault;
  }
  return {};
}

} // namespace tang::schedule
