// Streamed reductions on matrix units: which nodes are such, and how large their tiles are.
#include "atomics/match.h"
#include "graph/streaming.h"
#include "schedule/shapes.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tang::schedule {

using graph::Comprehension;
using graph::ElemType;
using graph::Graph;
using graph::Streaming;

namespace {

/// What one asynchronous copy moves.
constexpr int copied_bytes = 16;
/// Accumulators of a thread that leave room for operands, and for what a second score needs, or
/// factors on their way from f32 to tf32.
constexpr int most_accumulators = 192, most_beside_more = 176;
/// The same with fragments of rows: beyond, they are loaded again in every step.
constexpr int most_with_rows = 160;

int bytes_of(const Streaming& s) {
  return graph::info(s.format).bits / 8;
}
/// Elements that one asynchronous copy moves.
int copied(const Streaming& s) {
  return copied_bytes / bytes_of(s);
}
/// Factors of f32 are those of tf32 units.
plan::Precision precision(const Streaming& s) {
  return plan::precision_of(s.format, true);
}

/// Extents of an inner axis are padded to whole instructions.
int padded(const Graph& graph, const graph::Axis& axis) {
  return static_cast<int>((*graph.exprs.as_integer(axis.extent) + 15) / 16 * 16);
}

std::optional<Streaming> on_units(const Graph& graph, const Comprehension& c,
                                  const Machine& machine) {
  auto s = graph::streaming(graph, c, machine.allow_tf32);
  if (!s) return std::nullopt;
  bool tf32 = s->format == ElemType::f32;
  if (!atomics::find(machine.target, atomics::Product{ElemType::f32, s->format, s->format, tf32}) ||
      !atomics::find(machine.target, atomics::GroupShape{atomics::Kind::commit, "cp_async"}))
    return std::nullopt;
  bool rounds = !tf32 && std::any_of(s->amounts.begin(), s->amounts.end(),
                                     [](const auto& a) { return bool(a.read); });
  if (rounds && !machine.rounds_operands) return std::nullopt;
  // Sums are f32: nothing that the node touches may ask for more.
  graph::Node node{c, {}, {}};
  for (graph::TensorId id : graph::reads_of(graph, node))
    if (graph[id].type == ElemType::f64) return std::nullopt;
  for (const graph::Result& result : c.results) {
    const graph::Tensor& t = graph[result.tensor];
    if (t.type == ElemType::f64 || graph::is_packed(t.type)) return std::nullopt;
    for (const graph::Axis& axis : result.extra)
      if (!graph.exprs.as_integer(axis.extent)) return std::nullopt;
  }
  return s;
}

/// Columns of an amount that a block adds up.
int owned(const Graph& graph, const graph::Axis& axis, const plan::Fields& f) {
  return f.warp_n ? std::min(f.warp_n, padded(graph, axis)) : padded(graph, axis);
}

/// Accumulators of a thread.
int accumulators(const Graph& graph, const Streaming& s, const plan::Fields& f) {
  int columns = 0;
  for (const Streaming::Amount& a : s.amounts)
    if (a.read) columns += owned(graph, a.axis, f);
  columns += static_cast<int>(s.scores.size()) * f.block_n;
  return columns * f.warp_m / 32;
}

/// Registers of a thread with fragments of its warp's rows.
int with_rows(const Graph& graph, const Streaming& s, const plan::Fields& f) {
  int depth = 0;
  for (const Streaming::Score& score : s.scores) depth += padded(graph, score.depth);
  return accumulators(graph, s, f) + depth * f.warp_m * bytes_of(s) / 128;
}

/// Rows of the block and the ring of stretches, each line padded by 16 bytes. Reads that share a
/// tile are counted once each, so this is at most too much.
int64_t shared_bytes(const Graph& graph, const Streaming& s, const plan::Fields& f) {
  int64_t rows = 0, stretch = 0;
  for (const Streaming::Score& score : s.scores) {
    rows += padded(graph, score.depth) + copied(s);
    stretch += padded(graph, score.depth) + copied(s);
  }
  for (const Streaming::Amount& a : s.amounts)
    if (a.read) stretch += owned(graph, a.axis, f) + copied(s);
  int64_t words = static_cast<int64_t>(s.columns.size()) * 4;
  // One flag a warp, for what takes no part.
  int64_t flags = int64_t{4} * (f.block_m / f.warp_m);
  int64_t bytes = bytes_of(s);
  return flags + bytes * rows * f.block_m + f.pipeline * f.block_n * (bytes * stretch + words);
}

plan::Fields fields(const Streaming& s, const Machine& machine, int block_m, int warp_m,
                    int block_n, int pipeline, int warp_n) {
  plan::Fields f;
  f.precision = precision(s);
  f.block_m = block_m, f.warp_m = warp_m, f.block_n = block_n, f.pipeline = pipeline;
  f.warp_n = warp_n;
  f.vector = copied(s);
  f.threads = machine.warp * (block_m / warp_m);
  return f;
}

std::optional<std::string> fault(const Graph& graph, const Streaming& s, const plan::Fields& f,
                                 const Machine& machine) {
  if (f.precision != precision(s))
    return fmt::format("its factors are {}, not {}", plan::name(precision(s)),
                       plan::name(f.precision));
  if (int n = copied(s); f.vector != n)
    return fmt::format("operands are copied by {} elements: `vector: {}`", n, n);
  if (f.warp_m < 16 || f.warp_m % 16) return "`warp_m` is a multiple of 16";
  if (f.block_m < f.warp_m || f.block_m % f.warp_m)
    return "warps share the rows of a block evenly: `block_m % warp_m` is 0";
  if (f.warp_n) {
    if (f.warp_n % 16) return "`warp_n` is a multiple of 16";
    std::set<int64_t> extents;
    for (const Streaming::Amount& a : s.amounts)
      if (a.read) extents.insert(*graph.exprs.as_integer(a.axis.extent));
    if (extents.size() != 1)
      return "blocks share the columns of one extent: without them, or with several, `warp_n` is 0";
  }
  if (f.block_n < 16 || f.block_n % 16) return "`block_n` is a multiple of 16";
  if (f.pipeline < 2) return "at least 2 stretches are under way: `pipeline: 2`";
  int threads = machine.warp * (f.block_m / f.warp_m);
  if (f.threads != threads)
    return fmt::format("the block has {} threads, not {}: {} * (block_m / warp_m)", threads,
                       f.threads, machine.warp);
  if (threads > machine.max_threads)
    return fmt::format("a block of {} threads is beyond the target's {}", threads,
                       machine.max_threads);
  bool more = s.scores.size() > 1 || s.format == ElemType::f32;
  int most = more ? most_beside_more : most_accumulators;
  if (int n = accumulators(graph, s, f); n > most)
    return fmt::format("{} accumulators of a thread are beyond {}", n, most);
  if (int n = with_rows(graph, s, f); f.hold_rows && n > most_with_rows)
    return fmt::format("{} registers of a thread are beyond {}: `hold_rows: false`", n,
                       most_with_rows);
  if (int64_t bytes = shared_bytes(graph, s, f); bytes > machine.dynamic_shared_bytes)
    return fmt::format("its tiles take {} bytes of shared memory, and a block has {}", bytes,
                       machine.dynamic_shared_bytes);
  return {};
}

} // namespace

std::optional<std::string> why_no_stream(const Graph& graph, const Comprehension& c,
                                         const plan::Fields& f, const Machine& machine) {
  auto s = on_units(graph, c, machine);
  if (!s) return "it is no streamed reduction of products in one format that matrix units take";
  return fault(graph, *s, f, machine);
}

namespace {

/// A tile of a block: rows, rows of a warp, terms of a step, steps under way, columns (0: all).
struct StreamShape {
  int block_m, warp_m, block_n, pipeline, warp_n;
  bool holds; ///< only with rows held
};
// More rows of a warp reuse the stretch more often, and rows that are held are not loaded in every
// step; a short stretch needs fewer registers. Measured: scripts/bench/attention.
constexpr StreamShape shapes[] = {
    {128, 32, 64, 2, 0, false},  {128, 32, 32, 2, 0, false},  {64, 16, 32, 2, 0, true},
    {128, 16, 64, 2, 0, false},  {64, 16, 64, 2, 0, false},   {64, 16, 32, 2, 0, false},
    {64, 16, 16, 2, 0, false},   {32, 16, 16, 2, 0, false},   {64, 16, 32, 2, 256, false},
    {32, 16, 16, 2, 256, false}, {32, 16, 16, 2, 128, false}, {16, 16, 16, 2, 64, false}};

/// Few rows: more blocks of fewer rows, whose steps are shorter, are through sooner.
struct ShortShape {
  StreamShape shape;
  int registers; ///< of a thread, at most
  int rows;      ///< of the problem, at most
};
constexpr ShortShape short_shapes[] = {{{64, 16, 64, 2, 0, true}, 96, 4096},
                                       {{64, 16, 32, 2, 0, true}, 128, 2048}};

/// Fields of a shape that fits.
std::optional<plan::Fields> fitting(const Graph& graph, const Streaming& s, const Machine& machine,
                                    const StreamShape& shape) {
  plan::Fields f =
      fields(s, machine, shape.block_m, shape.warp_m, shape.block_n, shape.pipeline, shape.warp_n);
  f.hold_rows = with_rows(graph, s, f) <= most_with_rows;
  if ((shape.holds && !f.hold_rows) || fault(graph, s, f, machine)) return std::nullopt;
  return f;
}

/// The extent of the rows, where all but one of their axes have one place.
std::optional<graph::ExprId> extent_of_rows(const Graph& graph, const Comprehension& c,
                                            const Streaming& s) {
  std::optional<graph::ExprId> extent;
  for (size_t i : s.rows) {
    graph::ExprId of = c.points[i].extent;
    if (graph.exprs.as_integer(of) == 1) continue;
    if (extent) return std::nullopt;
    extent = of;
  }
  return extent;
}

} // namespace

plan::KernelPlan plan_stream(const Graph& graph, const Comprehension& c, const Machine& machine) {
  plan::KernelPlan kernel;
  auto s = on_units(graph, c, machine);
  if (!s) return kernel;
  kernel.emitter = plan::Emitter::stream;
  kernel.reason = "scores and what they weigh are two products over one streamed axis";
  std::optional<plan::Fields> general;
  for (const StreamShape& shape : shapes)
    if ((general = fitting(graph, *s, machine, shape))) break;
  if (!general) return kernel;
  auto rows = extent_of_rows(graph, c, *s);
  bool large = general->warp_m > 16 && s->scores.size() == 1;
  for (const ShortShape& few : short_shapes) {
    auto f = large && rows ? fitting(graph, *s, machine, few.shape) : std::nullopt;
    if (!f || with_rows(graph, *s, *f) > few.registers) continue;
    if (!add_variant(graph, kernel, *f, {*rows, 1, few.rows})) return kernel;
    break;
  }
  kernel.variants.push_back({*general, {}});
  return kernel;
}

} // namespace tang::schedule
