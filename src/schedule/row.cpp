// Row groups: softmax, norms and their like, read once.
#include "schedule/shapes.h"
#include <algorithm>

namespace tang::schedule {

using graph::Axis;
using graph::Comprehension;
using graph::Expr;
using graph::ExprId;
using graph::Graph;
using graph::Op;
using graph::TensorId;

namespace {

/// How a node stands to the rows: it reduces or scans along them, maps their elements, or maps
/// rows.
enum class Role { reduction, scan, elements, row };

/// Whether its results have a value for each element, and not for each row.
bool has_elements(Role role) {
  return role == Role::elements || role == Role::scan;
}

struct Member {
  Role role;
  size_t rows;
  ExprId inner; ///< extent of the inner axis; empty for `row`
};

std::optional<Member> member(const Graph& graph, const Comprehension& c,
                             std::optional<size_t> rows) {
  for (const graph::Result& result : c.results)
    if (!result.extra.empty()) return std::nullopt;
  if (c.reduction) {
    const graph::Monoid& m = graph[c.reduction->monoid];
    bool scalar =
        std::all_of(m.fields.begin(), m.fields.end(), [](const auto& f) { return f.axes.empty(); });
    if (m.form != graph::Monoid::Form::expressions || !scalar) return std::nullopt;
    if (c.scan) {
      if (c.scan->axis + 1 != c.points.size()) return std::nullopt;
      return Member{Role::scan, c.points.size() - 1, c.points.back().extent};
    }
    const auto& axes = c.reduction->axes;
    if (axes.size() != 1) return std::nullopt;
    return Member{Role::reduction, c.points.size(), axes[0].extent};
  }
  if (c.points.empty())
    return rows == size_t{0} ? std::optional(Member{Role::row, 0, {}}) : std::nullopt;
  if (rows && c.points.size() == *rows) return Member{Role::row, *rows, {}};
  return Member{Role::elements, c.points.size() - 1, c.points.back().extent};
}

/// Reads that touch the inner axis do so along the tensor's last place, without a stride, so that
/// neighbouring threads touch neighbouring elements.
bool contiguous(const Graph& graph, const Comprehension& c, size_t rows) {
  auto all = graph::roots(c);
  graph::IndexId inner(static_cast<uint32_t>(rows));
  for (ExprId id : graph::reachable(graph.exprs, all)) {
    const Expr& e = graph.exprs[id];
    if (e.op == Op::fold) return false;
    if (e.op != Op::read || !std::binary_search(e.free.begin(), e.free.end(), inner)) continue;
    const graph::Tensor& t = graph[TensorId(e.ref)];
    if (!t.strides.empty() && graph.exprs.as_integer(t.strides.back()) != 1) return false;
    for (size_t i = 0; i < t.shape.size(); ++i) {
      const auto& free = graph.exprs[e.operands[i]].free;
      if (i + 1 < t.shape.size() && std::binary_search(free.begin(), free.end(), inner))
        return false;
    }
  }
  return true;
}

bool same_rows(const std::vector<Axis>& a, const std::vector<Axis>& b, size_t rows) {
  for (size_t i = 0; i < rows; ++i)
    if (a[i].extent != b[i].extent || a[i].lo || a[i].hi || b[i].lo || b[i].hi) return false;
  return true;
}

/// Every read of a tensor of the group is at the reader's own row (and element).
bool reads_own_row(const Graph& graph, const Comprehension& c,
                   const std::vector<std::pair<TensorId, Role>>& defined, size_t rows) {
  auto all = graph::roots(c);
  for (ExprId id : graph::reachable(graph.exprs, all)) {
    const Expr& e = graph.exprs[id];
    if (e.op != Op::read) continue;
    auto at = std::find_if(defined.begin(), defined.end(),
                           [&](const auto& d) { return d.first == TensorId(e.ref); });
    if (at == defined.end()) continue;
    size_t places = rows + (has_elements(at->second) ? 1 : 0);
    if (e.guarded || e.operands.size() != places) return false;
    for (size_t i = 0; i < places; ++i) {
      const Expr& place = graph.exprs[e.operands[i]];
      if (place.op != Op::index || place.ref != i) return false;
    }
  }
  return true;
}

/// Results at row level must not need an element.
bool row_values_only(const Graph& graph, const Comprehension& c, Role role,
                     const std::vector<std::pair<TensorId, Role>>& defined) {
  if (has_elements(role)) return true;
  for (const graph::Result& result : c.results)
    for (ExprId id : graph::reachable(graph.exprs, {&result.value, 1})) {
      const Expr& e = graph.exprs[id];
      if (e.op == Op::read && std::any_of(defined.begin(), defined.end(), [&](const auto& d) {
            return d.first == TensorId(e.ref) && has_elements(d.second);
          }))
        return false;
    }
  return true;
}

/// The fields that one class of rows has.
struct RowShape {
  int threads, rows, vector, chunks;
  int index_bits = 0;
};

/// The classes of rows in the order in which the launcher tries them; `width` elements are a
/// vector.
std::vector<RowShape> shapes_of(const RowGroup& group, int width, const Machine& machine) {
  // Without shuffles all threads of a block wait for each other, so it has one row, and not more
  // threads than meet in its memory.
  if (!machine.warp_shuffle && !group.scans)
    return {{64, 1, width, 1, 32}, {128, 1, width, 2}, {256, 1, width, 4}, {128, 1, 1, 4},
            {256, 1, 1, 8, 32},    {256, 1, width, 0}, {256, 1, 1, 0}};
  // Threads that scan hold neighbours: more than one vector of each would tear loads and stores
  // apart. Long rows go in rounds, several rows at a time on a multiprocessor.
  if (!machine.warp_shuffle)
    return {{64, 1, width, 1, 32},
            {256, 1, width, 1},
            {64, 1, 1, 1, 32},
            {256, 1, width, 0},
            {256, 1, 1, 0}};
  if (group.scans && group.rows > 0)
    return {{32, 4, width, 1, 32}, {128, 1, width, 1, 32}, {256, 1, width, 1}, {32, 4, 1, 1, 32},
            {128, 1, 1, 1, 32},    {256, 1, width, 0},     {256, 1, 1, 0}};
  // One row keeps one block busy: how much of it matters less than the launch.
  if (group.rows == 0)
    return {{1024, 1, width, group.scans ? 1 : 4}, {1024, 1, width, 0}, {1024, 1, 1, 0}};
  // A warp per row while four vectors a thread hold it (no barrier), then a block per row. Each
  // holds at most twice what the one before holds: threads past the end of a row work for nothing.
  // Rows of tensors beyond 32-bit addresses have every second class.
  return {{32, 4, width, 1, 32},  {32, 4, width, 2, 32},   {32, 4, width, 4},
          {128, 1, width, 2, 32}, {256, 1, width, 2},      {256, 1, width, 4, 32},
          {512, 1, width, 4},     {1024, 1, width, 4, 32}, {32, 4, 1, 4, 32},
          {128, 1, 1, 4},         {256, 1, 1, 8, 32},      {1024, 1, width, 0},
          {512, 1, 1, 0}};
}

/// Where threads meet in shared memory, the most of a row that have room there.
int most_threads(const Machine& machine, int64_t fields) {
  int threads = machine.max_threads;
  while (threads > 1 && meeting_bytes(fields, threads) > machine.shared_bytes) threads /= 2;
  return threads;
}

} // namespace

int64_t fields_along(const Graph& graph, const std::vector<graph::Node>& nodes,
                     std::span<const uint32_t> group) {
  size_t fields = 0;
  for (uint32_t n : group)
    if (const auto& c = std::get<Comprehension>(nodes[n].definition); c.reduction)
      fields += graph[c.reduction->monoid].fields.size();
  return static_cast<int64_t>(fields);
}

int64_t meeting_bytes(int64_t fields, int threads) {
  constexpr int64_t turns = 2, bytes = 8;
  return fields * threads * turns * bytes;
}

std::optional<RowGroup> row_group(const Graph& graph, const std::vector<graph::Node>& nodes,
                                  uint32_t first, const Machine& machine) {
  // More nodes than this would hold too much of a row in registers.
  constexpr size_t limit = 16;
  // Rows shorter than a few vectors leave most threads idle.
  constexpr int64_t least = 17;
  RowGroup group;
  std::vector<std::pair<TensorId, Role>> defined;
  size_t useful = 0;
  bool reduces = false;
  const Comprehension* head = nullptr;
  // Elements are dealt out from one end of the row: what needs their order needs the same end.
  std::optional<bool> from_end;
  for (uint32_t n = first; n < nodes.size() && group.nodes.size() < limit; ++n) {
    const auto* c = std::get_if<Comprehension>(&nodes[n].definition);
    if (!c) break;
    // What tiles reuse is no row's own: a product of two matrices, though both lie along `k`.
    if (auto sides = graph::contraction(graph, *c); sides && worth_tiling(graph, *c, *sides)) break;
    auto m = member(graph, *c, head ? std::optional(group.rows) : std::nullopt);
    if (!m || (m->role == Role::row && !head)) break;
    // A thread that is alone scans as it goes.
    if (m->role == Role::scan && !machine.hardware_grid) break;
    if (m->role == Role::scan || (c->reduction && !graph[c->reduction->monoid].commutative)) {
      bool descends = c->scan && c->scan->descending;
      if (from_end && *from_end != descends) break;
      from_end = descends;
    }
    if (!head) group.rows = m->rows, group.extent = m->inner, head = c;
    if (m->rows != group.rows || (m->inner && m->inner != group.extent) ||
        !same_rows(c->points, head->points, group.rows))
      break;
    if (!contiguous(graph, *c, group.rows) || !reads_own_row(graph, *c, defined, group.rows) ||
        !row_values_only(graph, *c, m->role, defined))
      break;
    bool in_place = std::any_of(c->results.begin(), c->results.end(), [&](const graph::Result& r) {
      return static_cast<bool>(graph[r.tensor].over);
    });
    if (in_place) break;
    for (const graph::Result& result : c->results) defined.emplace_back(result.tensor, m->role);
    group.nodes.push_back(n);
    reduces |= m->role == Role::reduction || m->role == Role::scan;
    group.scans |= m->role == Role::scan;
    useful = group.nodes.size();
  }
  group.nodes.resize(useful);
  if (!reduces) return std::nullopt;
  auto fixed = graph.exprs.as_integer(group.extent);
  if (fixed && *fixed < least) return std::nullopt;
  return group;
}

plan::KernelPlan plan_row(const Graph& graph, const std::vector<graph::Node>& nodes,
                          const RowGroup& group, const Machine& machine) {
  plan::KernelPlan kernel;
  kernel.emitter = plan::Emitter::row;
  kernel.nodes = group.nodes;
  kernel.reason = "maps, reductions and scans over common rows share one pass";
  if (!machine.hardware_grid) {
    kernel.variants.push_back({});
    return kernel;
  }
  int bits = 32;
  for (uint32_t n : group.nodes)
    for (TensorId id : graph::reads_of(graph, nodes[n]))
      bits = std::min(bits, graph::info(graph[id].type).bits);
  int most = machine.max_threads;
  if (!machine.warp_shuffle) most = most_threads(machine, fields_along(graph, nodes, group.nodes));
  for (const RowShape& shape : shapes_of(group, bits <= 16 ? 8 : 4, machine)) {
    if (shape.threads > most && shape.chunks) continue;
    plan::Fields fields;
    fields.threads = std::min(shape.threads, most), fields.rows = shape.rows;
    fields.vector = shape.vector;
    fields.chunks = shape.chunks, fields.index_bits = shape.index_bits;
    Lengths lengths{group.extent, shape.vector, {}};
    if (shape.chunks) lengths.most = int64_t{shape.threads} * shape.vector * shape.chunks;
    if (!add_variant(graph, kernel, fields, lengths)) break;
  }
  // Nothing stands behind the last one.
  kernel.variants.back().fields.index_bits = 0;
  return kernel;
}

} // namespace tang::schedule
