// substitute_maps: a map's body replaces its reads, and views compose.
//
//   h[i] = f(i),  y[p] = ... h[v(p)] ...            =>   y[p] = ... f(v(p)) ...
//   h[i] = f(i),  y[p] = ... (h[v(p)] else e) ...   =>   y[p] = ... where(v(p) in range, f(v(p)),
//   e) ...
//
// A gather is a guarded read with `else 0`. Conditions that the axes of the reader decide vanish,
// divisions in composed views are carried out (simplify_index.h), so transposes, slices and
// reshapes leave nothing behind. What a `store` line or an output rounds stays rounded, and a map
// that does nothing but round a reduction stays.
//
// Side conditions: results of reductions, scans and top-k are never substituted (their work would
// be repeated per reader); a map goes into all of its readers or, if its tensor is needed anyway,
// only where it is cheap; work is repeated only as far as cost.h allows; bodies stay under
// `max_body_terms`. Maps are taken in the order of definition, each once, so time is linear in the
// size of the graph. A node whose output is stored over an input takes only bodies that read that
// input point for point, and no other input that is replaced. Source: the deforestation of Wadler,
// 1990, for views with guards.
#include "base/check.h"
#include "graph/reads.h"
#include "rewrite/blocks.h"
#include "rewrite/cost.h"
#include "rewrite/passes.h"
#include "rewrite/simplify_index.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace tang::rewrite {
using namespace graph;

namespace {

/// A map whose body goes into its readers.
struct Inlined {
  std::vector<Axis> points;
  ExprId body; ///< over `points`, as a read of the tensor would give it
  Cost cost;
  std::vector<std::string> names; ///< what it consists of, for the derivation
  size_t hidden = 0;              ///< further names that were too many to list
};

class Substitution {
public:
  Substitution(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept) {}

  void run() {
    for (const Tensor& tensor : graph_.tensors)
      if (tensor.over) replaced_.insert(tensor.over);
    for (size_t n = 0; n < nodes_.size(); ++n) count_readers(n);
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (auto* c = std::get_if<Comprehension>(&nodes_[n].definition)) visit(n, *c);
    std::erase_if(nodes_, [](const Node& node) {
      const auto* c = std::get_if<Comprehension>(&node.definition);
      return c && c->results.empty();
    });
  }

private:
  /// How often one reader evaluates what it reads of a tensor.
  struct Use {
    Polynomial evaluations; ///< over all views of the tensor
    bool unknown = false;   ///< too large to say
    bool opaque = false;    ///< a recurrence reads it
    TensorId over;          ///< the input that a reader is stored over
    bool elsewhere = false; ///< that reader, or another of its kind, reads at other points
  };

  // ---- before: who reads what, how often

  void count_readers(size_t n) {
    if (std::holds_alternative<Recur>(nodes_[n].definition)) {
      for (TensorId id : reads_of(graph_, nodes_[n])) uses_[id].opaque = true;
      return;
    }
    const auto& c = std::get<Comprehension>(nodes_[n].definition);
    auto points = points_of(s_, c.points);
    for (const Result& result : c.results) {
      if (c.reduction) reduced_.insert(result.tensor);
      if (graph_[result.tensor].over) note_in_place(c, result);
      auto extra = points_of(s_, result.extra);
      count_reads(c, {result.value}, points && extra ? points->times(*extra) : std::nullopt);
    }
    if (!c.reduction) return;
    auto axes = points_of(s_, c.reduction->axes);
    std::vector<ExprId> inside = c.reduction->body;
    if (c.reduction->filter) inside.push_back(c.reduction->filter);
    count_reads(c, inside, points && axes ? points->times(*axes) : std::nullopt);
  }

  void note_in_place(const Comprehension& c, const Result& result) {
    for (ExprId id : reachable(s_, {&result.value, 1})) {
      if (s_[id].op != Op::read) continue;
      Use& use = uses_[TensorId(s_[id].ref)];
      use.elsewhere |= use.over || !at_points(s_[id], c.points);
      use.over = graph_[result.tensor].over;
    }
  }

  /// True when the places of a read are the points, in order.
  bool at_points(const Expr& read, const std::vector<Axis>& points) const {
    auto places = places_of(read);
    bool same = places.size() == points.size();
    for (size_t k = 0; same && k < places.size(); ++k)
      same = s_[places[k]].op == Op::index && IndexId(s_[places[k]].ref) == points[k].index;
    return same;
  }

  void count_reads(const Comprehension& c, const std::vector<ExprId>& terms,
                   const std::optional<Polynomial>& space) {
    std::unordered_map<IndexId, ExprId> folds;
    auto all = reachable(s_, terms);
    for (ExprId id : all)
      for (size_t k = 0; k < s_[id].bound.size(); ++k)
        folds[s_[id].bound[k]] = s_[id].operands[2 + k];
    // An indexed field's body runs over the field's indices as well.
    if (c.reduction)
      for (const auto& axes : c.reduction->field_axes)
        for (const Axis& axis : axes) folds[axis.index] = axis.extent;
    for (ExprId id : all) {
      if (s_[id].op != Op::read) continue;
      Use& use = uses_[TensorId(s_[id].ref)];
      auto evaluations = space;
      for (IndexId index : s_[id].free)
        if (auto fold = folds.find(index); fold != folds.end() && evaluations) {
          auto extent = polynomial_of(s_, fold->second);
          evaluations = extent ? evaluations->times(*extent) : std::nullopt;
        }
      if (evaluations) evaluations = evaluations->plus(use.evaluations);
      if (evaluations)
        use.evaluations = std::move(*evaluations);
      else
        use.unknown = true;
    }
  }

  // ---- one node

  void visit(size_t n, Comprehension& c) {
    names_.clear(), hidden_ = 0, views_.clear();
    bool is_map = !c.reduction && !c.scan;
    if (is_map && c.results.size() == 1) own_ = cost_of(s_, c.results[0].value);
    changed_ = false;
    in_place_ = std::any_of(c.results.begin(), c.results.end(), [&](const Result& r) {
      return static_cast<bool>(graph_[r.tensor].over);
    });
    node_ = &c;
    prover_.reset();
    fresh_ = IndexId();
    take_names(c);
    for_each_root(c, [&](ExprId root) { return substituted(root); });
    if (is_map)
      std::erase_if(c.results, [&](const Result& result) { return becomes_inlined(c, result); });
    if (c.results.empty() || !changed_) return;
    c = settle(graph_, std::move(c));
    std::string list = fmt::format("{}", fmt::join(names_, ", "));
    if (hidden_ > 0) list += fmt::format(" and {} more", hidden_);
    nodes_[n].derivation.push_back(
        fmt::format("substitute_maps: {} put into `{}`", list, graph_[c.results[0].tensor].name));
  }

  /// A plain copy is called as what it copies: its indices take those names.
  void take_names(Comprehension& c) {
    if (c.reduction || c.results.size() != 1) return;
    const Expr& e = s_[c.results[0].value];
    auto at = e.op == Op::read ? inlined_.find(TensorId(e.ref)) : inlined_.end();
    if (at == inlined_.end() || e.operands.size() != c.points.size()) return;
    for (size_t k = 0; k < c.points.size(); ++k)
      if (s_[e.operands[k]].op == Op::index && IndexId(s_[e.operands[k]].ref) == c.points[k].index)
        c.points[k].name = at->second.points[k].name;
  }

  ExprId substituted(ExprId root) {
    auto terms = reachable(s_, {&root, 1});
    bool any = std::any_of(terms.begin(), terms.end(), [&](ExprId id) { return inlined(id); });
    if (!any) return root;
    changed_ = true;
    return rewrite_from(s_, root, [&](ExprId original, ExprId rebuilt) {
      const Inlined* map = inlined(original);
      return map ? inlined_read(original, rebuilt, *map) : rebuilt;
    });
  }

  /// The map that a term reads and whose body this node takes; null where there is none.
  const Inlined* inlined(ExprId id) const {
    if (s_[id].op != Op::read) return nullptr;
    TensorId tensor(s_[id].ref);
    auto at = inlined_.find(tensor);
    if (at == inlined_.end() || (in_place_ && not_in_place_.contains(tensor))) return nullptr;
    return &at->second;
  }

  const Prover& prover() {
    if (!prover_) prover_.emplace(prover_of(graph_, *node_));
    return *prover_;
  }

  /// The term that stands for a read of an inlined map; its places are rewritten in `rebuilt`.
  ExprId inlined_read(ExprId original, ExprId rebuilt, const Inlined& map) {
    if (auto at = views_.find(original); at != views_.end()) return at->second;
    Expr e = s_[rebuilt];
    std::vector<ExprId> places(places_of(e).begin(), places_of(e).end());
    note(map);
    ExprId body = viewed(map, places);
    ExprId otherwise = e.guarded ? e.operands.back() : ExprId();
    ExprId inside = in_range(map, original, places);
    view_cost_ = s_.as_boolean(inside) == false ? Cost{} : map.cost;
    if (s_.as_boolean(inside) != true)
      body = guarded(inside, body, otherwise ? otherwise : zero(s_, e.scalar));
    views_[original] = body;
    return body;
  }

  /// The condition under which a read stays in the tensor, without what is known. What was a gather
  /// keeps its test, though its index may be affine by now.
  ExprId in_range(const Inlined& map, ExprId original, const std::vector<ExprId>& places) {
    ExprId condition = s_.boolean(true);
    auto require = [&](ExprId part) {
      auto known = decide(part);
      condition = s_.logical_and(condition, known ? s_.boolean(*known) : part);
    };
    for (size_t k = 0; k < places.size(); ++k) {
      const Expr& e = s_[original];
      if (!e.guarded && !is_gathered(s_, e.operands[k])) continue;
      require(s_.binary(Op::le, s_.integer(0), places[k]));
      require(s_.binary(Op::lt, places[k], map.points[k].extent));
    }
    return condition;
  }

  /// A test of data is decided only by what holds whatever the data.
  std::optional<bool> decide(ExprId part) {
    if (!s_[part].has_read) return prover().decide(part);
    Prover cautious = prover();
    cautious.distrust_data();
    return cautious.decide(part);
  }

  /// where(inside, body, otherwise). A body that is itself a guarded read with the same other value
  /// needs no second test where its own range implies the condition.
  ExprId guarded(ExprId inside, ExprId body, ExprId otherwise) {
    const Expr& e = s_[body];
    if (e.op == Op::read && e.guarded && e.operands.back() == otherwise) {
      Prover inner = prover();
      const Tensor& tensor = graph_[TensorId(e.ref)];
      auto places = places_of(e);
      std::vector<ExprId> facts;
      for (size_t k = 0; k < places.size(); ++k) {
        facts.push_back(s_.binary(Op::le, s_.integer(0), s_[body].operands[k]));
        facts.push_back(s_.binary(Op::lt, s_[body].operands[k], tensor.shape[k]));
      }
      for (ExprId fact : facts) inner.assume(fact);
      if (inner.holds(inside)) return body;
    }
    return s_.select(inside, body, otherwise);
  }

  /// The body at the places of a read.
  ExprId viewed(const Inlined& map, const std::vector<ExprId>& places) {
    bool identity = !map.cost.folds;
    for (size_t k = 0; k < places.size() && identity; ++k)
      identity = places[k] == s_.index(map.points[k].index);
    if (identity) return map.body;
    std::unordered_map<IndexId, ExprId> at;
    for (size_t k = 0; k < places.size(); ++k) at[map.points[k].index] = places[k];
    std::unordered_map<IndexId, IndexId> bound; // fresh names for the folds of the body
    if (map.cost.folds)
      for (ExprId id : reachable(s_, {&map.body, 1}))
        for (IndexId index : s_[id].bound)
          if (!bound.contains(index)) bound[index] = fresh();
    return graph::rewrite(s_, map.body, [&](ExprId id) {
      Expr e = s_[id];
      if (e.op == Op::index) {
        IndexId index(e.ref);
        if (auto place = at.find(index); place != at.end()) return place->second;
        auto name = bound.find(index);
        return name == bound.end() ? id : s_.index(name->second);
      }
      if (e.op == Op::fold) {
        for (IndexId& index : e.bound) index = bound.at(index);
        return s_.fold(MonoidId(e.ref), e.scalar, e.bound, std::span(e.operands).subspan(2),
                       e.operands[1], e.operands[0]);
      }
      if (e.op != Op::read) return id;
      for (size_t k = 0; k < places_of(e).size(); ++k)
        e.operands[k] = simplify_index(s_, prover(), e.operands[k]);
      return s_.with_operands(id, e.operands);
    });
  }

  IndexId fresh() {
    if (!fresh_) fresh_ = fresh_index(s_, *node_);
    IndexId id = fresh_;
    fresh_ = IndexId(id.value + 1);
    return id;
  }

  void note(const Inlined& map) {
    constexpr size_t listed = 6;
    for (const std::string& name : map.names) {
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      if (names_.size() < listed)
        names_.push_back(name);
      else
        ++hidden_;
    }
    hidden_ += map.hidden;
  }

  // ---- deciding

  /// True when the result leaves its node because every reader takes its body.
  bool becomes_inlined(const Comprehension& c, const Result& result) {
    const Tensor& tensor = graph_[result.tensor];
    if (!result.extra.empty() || tensor.over) return false;
    auto use = uses_.find(result.tensor);
    if (use == uses_.end()) return false;
    bool needed =
        kept_.contains(result.tensor) || tensor.kind == TensorKind::output || use->second.opaque;
    if (use->second.over && !may_go_in_place(c, result, use->second)) {
      needed = true;
      not_in_place_.insert(result.tensor);
    }
    if (tensor.store_given && rounds_reduction(c, result)) return false;
    Inlined map{c.points, result.value, cost_after(result.value), names_, hidden_};
    if (map.cost.terms > max_body_terms) return false;
    if (!is_cheap(map.cost)) {
      auto points = points_of(s_, c.points);
      if (needed || use->second.unknown || !points ||
          !pays_off(graph_, map.cost, *points, use->second.evaluations))
        return false;
    }
    if (is_rounded(tensor)) map.body = stored_value(graph_, result.tensor, map.body, prover());
    map.names.insert(map.names.begin(), fmt::format("`{}`", tensor.name));
    inlined_.emplace(result.tensor, std::move(map));
    return !needed;
  }

  /// True when the result is that of a reduction, point for point, in the format that is stored
  /// (separate_rounding): readers would take the wider one and round it themselves.
  bool rounds_reduction(const Comprehension& c, const Result& result) const {
    const Expr& e = s_[result.value];
    return e.op == Op::read && reduced_.contains(TensorId(e.ref)) && at_points(e, c.points);
  }

  /// True when the value may be computed where the result is stored over an input: of all that is
  /// replaced it reads that input alone, at the point that is written.
  bool may_go_in_place(const Comprehension& c, const Result& result, const Use& use) const {
    auto terms = reachable(s_, {&result.value, 1});
    return std::all_of(terms.begin(), terms.end(), [&](ExprId id) {
      const Expr& e = s_[id];
      if (e.op != Op::read || !replaced_.contains(TensorId(e.ref))) return true;
      return TensorId(e.ref) == use.over && !use.elsewhere && at_points(e, c.points);
    });
  }

  /// The cost of a value after substitution. With one view the sum is exact enough; with several,
  /// which may share terms, they are counted.
  Cost cost_after(ExprId value) {
    if (views_.size() > 1 || node_->results.size() > 1) return cost_of(s_, value);
    Cost cost = own_;
    if (views_.empty()) return cost;
    cost.terms += view_cost_.terms, cost.work += view_cost_.work;
    cost.reads += view_cost_.reads - std::min(cost.reads, 1u);
    cost.streams += view_cost_.streams - std::min(cost.streams, 1u);
    cost.folds |= view_cost_.folds;
    return cost;
  }

  bool is_rounded(const Tensor& tensor) const {
    return tensor.kind == TensorKind::output || tensor.store_given;
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  std::unordered_map<TensorId, Use> uses_;
  std::unordered_map<TensorId, Inlined> inlined_;
  TensorSet reduced_;      ///< results of reductions
  TensorSet replaced_;     ///< inputs that an output is stored over
  TensorSet not_in_place_; ///< maps that nodes stored over an input do not take
  // Of the node that is visited:
  Comprehension* node_ = nullptr;
  std::optional<Prover> prover_;
  IndexId fresh_;
  bool changed_ = false;
  bool in_place_ = false; ///< a result is stored over an input
  Cost own_;              ///< of a map's value before substitution
  Cost view_cost_;        ///< of the map put in last
  std::vector<std::string> names_;
  size_t hidden_ = 0;
  std::unordered_map<ExprId, ExprId> views_; ///< reads that were replaced
};

} // namespace

Graph substitute_maps(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    Substitution(graph, nodes, kept).run();
  });
  // Views that are gone may have hidden that two nodes are equal.
  return merge_common_nodes(std::move(graph));
}

} // namespace tang::rewrite
