// nest_contractions: a short contraction is computed again where a carried reduction reads it.
//
//   s[p, j] = Σ[k] a[p, k] * b[j, k],   o[p] = ⊕[j] f(s[p, j])   =>   o[p] = ⊕[j] f(Σ[k] a * b)
//
// The reader evaluates it once per point and reduce index, which is once per element of `s`, so
// that the first reader costs nothing, and a tensor of size p × j is not stored. It starts from a
// reduction over rows of `s`. When it starts, all readers follow, through maps over the same
// elements, and so do other short contractions that these read beside it: the backward pass of
// attention computes scores twice more and stores none of them. A sum among the readers whose own
// columns the elements do not need carries them in an indexed field (columns.h).
//
// Side conditions: it pays, which is that the reduction that starts carries columns already
// (stabilize_softmax: nothing else reads `s` row by row), or that some reader will and that the
// contraction has at most `max_repeated` terms; every reader reads it element for element, and its
// filter is of the same indices; columns have constant extents; no output, `store` line, recurrence
// or scan needs the tensor. Sources: the recomputation of Dao et al., "FlashAttention",
// arXiv:2205.14135; loop fusion with rematerialised producers, Megiddo, Sarkar, "Optimal weighted
// loop fusion", 1997.
#include "base/check.h"
#include "rewrite/blocks.h"
#include "rewrite/columns.h"
#include "rewrite/cost.h"
#include "rewrite/links.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace tang::rewrite {
using namespace graph;

namespace {

/// Longer contractions are worth a kernel of their own, which reuses what it loads.
constexpr int64_t max_length = 512;

class Nesting {
public:
  Nesting(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept), links_(graph, nodes) {}

  void run() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (inside_.contains(n) || !is_sum_of_products(n)) continue;
      bool carried = is_read_by_rows(n, true);
      if (!carried && !(grows_twice(n) && is_read_by_rows(n, false) && is_short(n, max_repeated)))
        continue;
      why_.clear();
      if (!is_short(n, max_length))
        why_ = fmt::format("its sum may have more than {} terms", max_length);
      else if (closes(n) && (carried || some_end_has_columns()))
        nest();
      if (carried && !why_.empty())
        graph_.remarks.push_back({nodes_[n].span, fmt::format("nest_contractions stores `{}`: {}",
                                                              graph_[tensor_of(n)].name, why_)});
    }
    if (views_.empty()) return;
    for (Node& view : views_) nodes_.push_back(std::move(view));
    sort_nodes(graph_, nodes_);
  }

  bool changed() const { return !inside_.empty(); }

private:
  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(nodes_[n].definition);
  }
  TensorId tensor_of(size_t n) const { return node(n).results[0].tensor; }

  bool is_sum_of_products(size_t n) const {
    return plain_reduction(graph_, nodes_[n], Op::add) && !node(n).points.empty() &&
           !kept_.contains(tensor_of(n));
  }

  /// Two of its axes may be long: stored, it is what grows fastest.
  bool grows_twice(size_t n) const {
    const auto& points = node(n).points;
    return std::count_if(points.begin(), points.end(), [&](const Axis& axis) {
             auto extent = s_.as_integer(axis.extent);
             return !extent || *extent > max_length;
           }) >= 2;
  }

  bool is_short(size_t n, int64_t most) const {
    return is_short_contraction(graph_, nodes_[n], most) && is_sum_of_products(n);
  }

  /// True when a reduction, with `carries` one that carries columns, reads the contraction, or a
  /// map over its elements, once per point and reduce index.
  bool is_read_by_rows(size_t n, bool carries) const {
    std::vector<size_t> open{n};
    std::set<size_t> seen{n};
    while (!open.empty()) {
      size_t m = open.back();
      open.pop_back();
      for (size_t reader : links_.readers(tensor_of(m))) {
        const Comprehension* map = plain_map(graph_, nodes_[reader]);
        if (map && element_by_element(*map, m) && seen.insert(reader).second)
          open.push_back(reader);
        const auto* c = std::get_if<Comprehension>(&nodes_[reader].definition);
        if (!c || !c->reduction || c->scan) continue;
        const auto& fields = c->reduction->field_axes;
        bool has_columns = std::any_of(fields.begin(), fields.end(),
                                       [](const auto& axes) { return !axes.empty(); });
        if ((has_columns || !carries) && reads_whole_space(*c, tensor_of(m))) return true;
      }
    }
    return false;
  }

  bool reads_whole_space(const Comprehension& c, TensorId tensor) const {
    auto terms = reachable(s_, c.reduction->body);
    return std::any_of(terms.begin(), terms.end(), [&](ExprId id) {
      const Expr& e = s_[id];
      auto moves = [&](const Axis& axis) {
        return std::binary_search(e.free.begin(), e.free.end(), axis.index);
      };
      return e.op == Op::read && TensorId(e.ref) == tensor &&
             std::all_of(c.points.begin(), c.points.end(), moves) &&
             std::all_of(c.reduction->axes.begin(), c.reduction->axes.end(), moves);
    });
  }

  // ---- what goes inside, and into what

  /// Collects the maps and contractions that vanish and the reductions that take them in; false
  /// when the contraction has to stay.
  bool closes(size_t n) {
    members_ = {n}, ends_.clear();
    std::vector<size_t> open{n};
    std::set<size_t> beside;
    while (!open.empty()) {
      size_t m = open.back();
      open.pop_back();
      if (kept_.contains(tensor_of(m))) return stops(m, "is needed outside");
      for (size_t reader : links_.readers(tensor_of(m))) {
        if (members_.contains(reader) || ends_.contains(reader)) continue;
        if (const Comprehension* map = plain_map(graph_, nodes_[reader])) {
          if (!element_by_element(*map, m)) return stops(reader, "reads other elements");
          members_.insert(reader), open.push_back(reader);
          note_beside(*map, beside);
        } else if (may_take(reader)) {
          ends_.insert(reader);
          note_beside(node(reader), beside);
        } else {
          return stops(reader, "needs it stored");
        }
      }
    }
    join(beside);
    for (size_t end : ends_)
      if (!takes(end)) return stops(end, "would compute it more than once");
    return true;
  }

  bool stops(size_t n, const char* what) {
    why_ = fmt::format("`{}` {}", graph_[defines_of(nodes_[n]).front()].name, what);
    return false;
  }

  /// Every read of member `m` names all points of the map, each once.
  bool element_by_element(const Comprehension& map, size_t m) const {
    for (ExprId id : reachable(s_, roots(map)))
      if (s_[id].op == Op::read && TensorId(s_[id].ref) == tensor_of(m) &&
          (!is_pick(s_[id]) || s_[id].free.size() != map.points.size()))
        return false;
    return true;
  }

  /// Unguarded, and each place is another index.
  bool is_pick(const Expr& read) const {
    std::set<uint32_t> seen;
    for (ExprId place : read.operands)
      if (s_[place].op != Op::index || !seen.insert(s_[place].ref).second) return false;
    return !read.guarded;
  }

  bool may_take(size_t n) const {
    const auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
    return c && c->reduction && !c->scan;
  }

  /// Other short contractions that the node reads.
  void note_beside(const Comprehension& c, std::set<size_t>& beside) const {
    for (ExprId id : reachable(s_, roots(c))) {
      if (s_[id].op != Op::read) continue;
      auto producer = links_.producer(TensorId(s_[id].ref));
      if (producer && !members_.contains(*producer) && is_short(*producer, max_length))
        beside.insert(*producer);
    }
  }

  /// Of the contractions beside the first, those go in that nobody else reads.
  void join(const std::set<size_t>& beside) {
    for (size_t n : beside) {
      const auto& readers = links_.readers(tensor_of(n));
      bool all = std::all_of(readers.begin(), readers.end(), [&](size_t reader) {
        if (ends_.contains(reader)) return true;
        return members_.contains(reader) && element_by_element(node(reader), n);
      });
      if (all && !kept_.contains(tensor_of(n)) && largest_extent(n)) members_.insert(n);
    }
  }

  /// True when the contraction has no fewer elements than the one that started: a small one is
  /// better stored.
  bool largest_extent(size_t n) const {
    return node(n).points.size() == node(*members_.begin()).points.size();
  }

  /// A reduction takes the members in when it reads each once per point and reduce index.
  bool takes(size_t n) {
    const Comprehension& c = node(n);
    for (const Result& result : c.results)
      for (ExprId id : reachable(s_, {&result.value, 1}))
        if (is_member_read(id)) return false;
    std::vector<IndexId> rows;
    if (!used_indices(c, rows)) return false;
    for (const Axis& axis : c.reduction->axes)
      if (std::find(rows.begin(), rows.end(), axis.index) == rows.end()) return false;
    // Whether a point takes part is asked once for all columns of a row.
    if (c.reduction->filter)
      for (IndexId index : s_[c.reduction->filter].free)
        if (std::find(rows.begin(), rows.end(), index) == rows.end()) return false;
    auto columns = columns_of(s_, c.points, rows);
    return columns && (columns->empty() || plain_reduction(graph_, nodes_[n], Op::add));
  }

  bool some_end_has_columns() const {
    return std::any_of(ends_.begin(), ends_.end(), [&](size_t n) {
      std::vector<IndexId> rows;
      used_indices(node(n), rows);
      return !columns_of(s_, node(n).points, rows)->empty();
    });
  }

  bool is_member_read(ExprId id) const {
    if (s_[id].op != Op::read) return false;
    auto producer = links_.producer(TensorId(s_[id].ref));
    return producer && members_.contains(*producer);
  }

  /// The indices that every read of a member uses; false when two reads differ, or one is no pick.
  bool used_indices(const Comprehension& c, std::vector<IndexId>& rows) const {
    std::vector<ExprId> terms = c.reduction->body;
    if (c.reduction->filter) terms.push_back(c.reduction->filter);
    bool first = true;
    for (ExprId id : reachable(s_, terms)) {
      if (!is_member_read(id)) continue;
      if (!is_pick(s_[id]) || (!first && !std::ranges::equal(s_[id].free, rows))) return false;
      rows.assign(s_[id].free.begin(), s_[id].free.end()), first = false;
    }
    return !first;
  }

  // ---- rewriting

  void nest() {
    for (size_t end : ends_) {
      std::vector<IndexId> rows;
      used_indices(node(end), rows);
      std::optional<Comprehension> view;
      Comprehension c = node(end);
      auto columns = columns_of(s_, c.points, rows);
      if (!columns->empty()) c = with_columns(graph_, c, *columns, view);
      names_.clear(), folds_.clear();
      next_ = fresh_index(s_, c).value;
      for (ExprId& id : c.reduction->body) id = nested(id);
      if (c.reduction->filter) c.reduction->filter = nested(c.reduction->filter);
      Node& target = nodes_[end];
      target.derivation.push_back(fmt::format("nest_contractions: {} computed inside `{}`",
                                              fmt::join(names_, ", "),
                                              graph_[c.results[0].tensor].name));
      target.definition = settle(graph_, std::move(c));
      if (view) views_.push_back({canonicalize(s_, std::move(*view)), target.span, {}});
    }
    inside_.insert(members_.begin(), members_.end());
  }

  /// The term with maps and contractions in the place of reads of the members.
  ExprId nested(ExprId term) {
    // A map's body may read another member: each round goes one map deeper.
    for (ExprId before; before != term;) {
      before = term;
      term = graph::rewrite(s_, term,
                            [&](ExprId id) { return is_member_read(id) ? body_of(id) : id; });
    }
    return term;
  }

  ExprId body_of(ExprId read) {
    if (auto at = folds_.find(read); at != folds_.end()) return at->second;
    size_t n = *links_.producer(TensorId(s_[read].ref));
    const std::string name = fmt::format("`{}`", graph_[tensor_of(n)].name);
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    const Comprehension& c = node(n);
    if (!c.reduction) return folds_[read] = body_at(s_, c, read);
    const Reduction& r = *c.reduction;
    std::unordered_map<IndexId, ExprId> places;
    for (size_t k = 0; k < c.points.size(); ++k) places[c.points[k].index] = s_[read].operands[k];
    std::vector<IndexId> bound;
    std::vector<ExprId> extents;
    for (const Axis& axis : r.axes) {
      bound.push_back(IndexId(next_++));
      places[axis.index] = s_.index(bound.back());
      extents.push_back(axis.extent);
    }
    ExprId filter = r.filter ? substitute(s_, r.filter, places) : ExprId();
    return folds_[read] = s_.fold(r.monoid, s_[read].scalar, bound, extents, filter,
                                  substitute(s_, r.body[0], places));
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  Links links_;
  std::set<size_t> members_, ends_; ///< of the contraction at hand
  std::set<size_t> inside_;         ///< nodes that are computed inside others
  std::vector<Node> views_;
  std::vector<std::string> names_;
  std::unordered_map<ExprId, ExprId> folds_;
  uint32_t next_ = 0;
  std::string why_; ///< the contraction at hand stays stored
};

} // namespace

Graph nest_contractions(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    Nesting pass(graph, nodes, kept);
    pass.run();
    changed |= pass.changed();
  });
  return changed ? drop_dead_nodes(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
