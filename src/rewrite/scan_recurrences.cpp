// scan_recurrences: a recurrence whose steps are affine in what they carry is a scan.
//
//   recur t: T carry h = h0 { h[p] = a(t, p) * h[p] + b(t, p) }
//        =>   (A, h)[t, p] = scan[t] (a(t, p), b(t, p)),   (A, h) ⊕ (a, b) = (a A, a h + b)
//
// where the first step takes `a * h0 + b` for `b`: one kernel and not one per step.
// What the body computes besides becomes a node over all steps, in which the carried tensor is read
// one step back. With a = 1 the monoid is the sum, with b = 0 the product; a choice that does not
// ask for h resets the scan (the segmented scan), so that nothing passes it; `h = max(h, b)` and
// the like go by their own monoid.
//
// Side conditions, for every tensor that is carried, or the recurrence stays: its update is a map
// that reads it at its own point only; neither `a` nor `b` depends on it, not through other tensors
// either; no line rounds it; integer factors are -1, 0 or 1, because the product of others may
// leave 64 bits where h does not. `-Wperf` says which one fails. Source: Blelloch, "Prefix sums and
// their applications", 1990, section 4; as a law of programs, Fisher, Ghuloum, "Parallelizing
// complex scans and reductions", PLDI 1994.
#include "rewrite/affine.h"
#include "rewrite/blocks.h"
#include "rewrite/cost.h"
#include "rewrite/links.h"
#include "rewrite/passes.h"
#include "rewrite/steps.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tang::rewrite {
using namespace graph;

namespace {

/// Carried tensors that only hand on other ones: h[t - 3] is a chain of three.
constexpr size_t max_shifts = 8;

class Unrolling {
public:
  /// `zeros`: tensors that are 0 everywhere.
  Unrolling(Graph& graph, const Node& node, const TensorSet& zeros)
      : graph_(graph), s_(graph.exprs), node_(node), r_(std::get<Recur>(node.definition)),
        zeros_(zeros) {}

  /// The nodes that take the recurrence's place; empty when it stays, and then the graph is as it
  /// was.
  std::optional<std::vector<Node>> run() {
    const size_t tensors = graph_.tensors.size(), monoids = graph_.monoids.size();
    if (find_cycles() && make_all()) return std::move(made_);
    graph_.tensors.resize(tensors), graph_.monoids.resize(monoids);
    return std::nullopt;
  }
  const std::string& why() const { return why_; }

private:
  bool make_all() {
    for (const Node& inner : r_.body)
      for (TensorId id : defines_of(inner)) stacked_[id] = stacked(id);
    for (size_t n = 0; n < r_.body.size(); ++n)
      if (!updates_.contains(n)) add(r_.body[n]);
    for (const auto& [n, carry] : updates_)
      if (!add_update(n, *carry)) return false;
    for (const Collect& collect : r_.collects) add_collect(collect);
    for (const Carry& carry : r_.carries) add_last(carry);
    return why_.empty();
  }

  const std::string& name(TensorId id) const { return graph_[id].name; }

  bool stays(TensorId id, const char* what) {
    if (why_.empty()) why_ = fmt::format("`{}` {}", name(id), what);
    return false;
  }

  // ---- what depends on itself

  /// Numbers the parts of a step that depend on themselves from one step to the next, and finds the
  /// map that updates the carried tensor of each; false when one cannot be a scan.
  bool find_cycles() {
    const size_t nodes = r_.body.size();
    std::unordered_map<TensorId, size_t> producer;
    for (size_t n = 0; n < nodes; ++n) {
      if (!std::holds_alternative<Comprehension>(r_.body[n].definition))
        return stays(defines_of(r_.body[n]).front(), "is a recurrence itself");
      for (TensorId id : defines_of(r_.body[n])) producer[id] = n;
    }
    for (const Carry& carry : r_.carries) {
      if (rounded(carry.current) || rounded(carry.next))
        return stays(carry.current, "is rounded in each step");
      carry_[carry.current] = &carry;
    }
    part_ = step_parts(graph_, r_);

    std::unordered_map<size_t, const Carry*> carried; // by part
    for (size_t k = 0; k < r_.carries.size(); ++k) {
      const Carry& carry = r_.carries[k];
      if (carry.next == carry.current) continue;
      auto [at, first] = carried.try_emplace(part_[nodes + k], &carry);
      if (!first) return stays(carry.current, "and other carried tensors depend on each other");
      auto next = producer.find(carry.next);
      if (next != producer.end() && part_[next->second] == part_[nodes + k])
        updates_.emplace(next->second, &carry);
    }
    for (const auto& [part, carry] : carried) cycle_of_[carry->current] = part;
    for (size_t n = 0; n < nodes; ++n) {
      auto at = carried.find(part_[n]);
      if (at == carried.end()) continue;
      if (!plain_map(graph_, r_.body[n]))
        return stays(at->second->current, "goes through more than a map in each step");
      members_[part_[n]].push_back(n);
      cycle_of_[defines_of(r_.body[n])[0]] = part_[n];
    }
    return true;
  }

  bool rounded(TensorId id) const {
    const Tensor& t = graph_[id];
    return t.kind != TensorKind::intermediate || t.store_given || t.accumulate;
  }

  // ---- terms of a step as terms over all steps

  /// The same tensor for all steps.
  TensorId stacked(TensorId id) {
    Tensor tensor = graph_[id];
    tensor.shape.insert(tensor.shape.begin(), r_.time.extent);
    tensor.strides.clear(), tensor.sorted = false;
    return graph_.add(std::move(tensor));
  }

  /// What a tensor holds in step `time`.
  ExprId value_in(TensorId id, Scalar scalar, ExprId time, std::vector<ExprId> places,
                  ExprId otherwise) {
    struct Choice {
      ExprId first, value;
    };
    std::vector<Choice> choices; // the outermost first
    ExprId value;
    while (!value) {
      if (auto at = stacked_.find(id); at != stacked_.end()) {
        places.insert(places.begin(), time);
        value = s_.read(at->second, scalar, places, otherwise);
        break;
      }
      auto carried = carry_.find(id);
      ExprId here =
          s_.read(carried == carry_.end() ? id : carried->second->init, scalar, places, otherwise);
      if (carried == carry_.end() || carried->second->next == id) {
        value = here;
      } else {
        if (choices.size() == max_shifts) stays(id, "is handed on through too many steps");
        if (choices.size() == max_shifts) return here;
        choices.push_back({s_.binary(Op::eq, time, s_.integer(0)), here});
        time = canonical(s_, s_.binary(Op::sub, time, s_.integer(1)));
        id = carried->second->next;
      }
    }
    for (; !choices.empty(); choices.pop_back())
      value = s_.select(choices.back().first, choices.back().value, value);
    return value;
  }

  ExprId over_steps(ExprId term, ExprId time) {
    return graph::rewrite(s_, term, [&](ExprId id) {
      const Expr e = s_[id]; // a copy: terms are made below
      if (e.op != Op::read) return id;
      TensorId tensor(e.ref);
      if (tensor == r_.step) return time;
      std::vector<ExprId> places(e.operands.begin(), e.operands.end());
      ExprId otherwise;
      if (e.guarded) otherwise = places.back(), places.pop_back();
      return value_in(tensor, e.scalar, time, std::move(places), otherwise);
    });
  }

  Axis time_axis(const Comprehension& c) {
    Axis time = r_.time;
    time.index = fresh_index(s_, c);
    return time;
  }

  // ---- nodes

  void make(Comprehension c, const Node& from, std::string sentence) {
    std::vector<std::string> derivation = from.derivation;
    derivation.push_back("scan_recurrences: " + std::move(sentence));
    made_.push_back({settle(graph_, std::move(c)), from.span, std::move(derivation)});
  }

  /// A node of the body, for all steps at once.
  void add(const Node& inner) {
    Comprehension c = std::get<Comprehension>(inner.definition);
    Axis time = time_axis(c);
    ExprId index = s_.index(time.index);
    for_each_root(c, [&](ExprId root) { return over_steps(root, index); });
    c.points.insert(c.points.begin(), time);
    if (c.scan) ++c.scan->axis;
    for (Result& result : c.results) result.tensor = stacked_.at(result.tensor);
    std::string text =
        fmt::format("`{}` for all {} at once", name(c.results[0].tensor), r_.time.name);
    make(std::move(c), inner, std::move(text));
  }

  /// The update of a carried tensor with the maps of its part put in; empty when it grows too
  /// large.
  ExprId update_term(size_t update) {
    std::unordered_map<TensorId, const Comprehension*> maps;
    std::unordered_map<TensorId, ExprId> terms;
    for (size_t n : members_.at(part_[update])) {
      if (n > update) break;
      const auto& map = std::get<Comprehension>(r_.body[n].definition);
      ExprId term = graph::rewrite(s_, map.results[0].value, [&](ExprId id) {
        const Expr e = s_[id]; // a copy: terms are made below
        auto at = e.op == Op::read ? maps.find(TensorId(e.ref)) : maps.end();
        if (at == maps.end() || e.guarded) return id;
        std::unordered_map<IndexId, ExprId> places;
        for (size_t k = 0; k < e.operands.size(); ++k)
          places[at->second->points[k].index] = e.operands[k];
        return substitute(s_, terms.at(at->first), places);
      });
      Cost cost = cost_of(s_, term);
      if (cost.folds || cost.terms > max_body_terms) return {};
      maps[map.results[0].tensor] = &map;
      terms[map.results[0].tensor] = term;
    }
    return terms.at(std::get<Comprehension>(r_.body[update].definition).results[0].tensor);
  }

  /// The scan that gives the carried tensor for all steps.
  bool add_update(size_t n, const Carry& carry) {
    const Node& inner = r_.body[n];
    const auto& map = std::get<Comprehension>(inner.definition);
    ExprId update = update_term(n);
    if (!update) return stays(carry.current, "has a large step");
    std::vector<ExprId> own;
    for (const Axis& axis : map.points) own.push_back(s_.index(axis.index));
    const Scalar scalar = s_[update].scalar;
    ExprId unknown = s_.read(carry.current, scalar, own);
    for (ExprId id : reachable(s_, {&update, 1})) {
      auto at = s_[id].op == Op::read ? cycle_of_.find(TensorId(s_[id].ref)) : cycle_of_.end();
      if (id != unknown && at != cycle_of_.end() && at->second == part_[n])
        return stays(carry.current, "needs other elements of the step before");
    }
    Comprehension c;
    c.points = map.points;
    Comprehension probe = map;
    probe.results[0].value = update;
    auto step = step_of(update, unknown, probe);
    if (!step) return stays(carry.current, "is not affine in the step before");
    Axis time = time_axis(probe);
    ExprId index = s_.index(time.index);
    c.points.insert(c.points.begin(), time);
    if (!step->from_zero || !zeros_.contains(carry.init))
      step->body.back() =
          started(*step, s_.binary(Op::eq, index, s_.integer(0)), s_.read(carry.init, scalar, own));
    c.reduction = Reduction{};
    c.reduction->monoid = step->monoid;
    for (ExprId id : step->body) c.reduction->body.push_back(over_steps(id, index));
    c.reduction->field_axes.resize(step->body.size());
    c.scan = Scan{};
    auto field = static_cast<uint32_t>(step->body.size() - 1);
    c.results = {{stacked_.at(carry.next), s_.state(Op::acc, field, scalar), {}}};
    make(std::move(c), inner,
         fmt::format("`{}` is a scan over {}, because each step is affine in the one before",
                     name(carry.next), r_.time.name));
    return true;
  }

  /// The value of a step; the first one combines with what the recurrence starts from.
  ExprId started(const AffineStep& step, ExprId first, ExprId init) {
    const Monoid& m = graph_[step.monoid];
    ExprId before = s_.select(first, init, m.fields.back().identity);
    return graph::rewrite(s_, m.combine.back(), [&](ExprId id) {
      const Expr& e = s_[id];
      if (e.op == Op::lhs) return before; // its own field: no other one is asked for
      return e.op == Op::rhs ? step.body[e.ref] : id;
    });
  }

  std::optional<AffineStep> step_of(ExprId update, ExprId unknown, const Comprehension& map) {
    const Expr root = s_[update];
    for (auto [op, monoid] : {std::pair(Op::max, "max"),
                              {Op::min, "min"},
                              {Op::logical_or, "any"},
                              {Op::logical_and, "all"}})
      for (size_t k : {size_t{0}, size_t{1}})
        if (root.op == op && root.operands[k] == unknown && !holds(root.operands[1 - k], unknown))
          return AffineStep{*graph_.builtin(monoid, root.scalar), {root.operands[1 - k]}, false};
    if (root.scalar == Scalar::boolean) return std::nullopt;
    auto form = affine_form(s_, update, unknown);
    if (!form || !form->a) return std::nullopt;
    AffineStep step = affine_step(graph_, *form, root.scalar);
    bool exact = root.scalar == Scalar::real || step.body.size() == 1 ||
                 IntRange{-1, 1}.contains(prover_of(graph_, map).range(form->a));
    return exact ? std::optional(std::move(step)) : std::nullopt;
  }

  bool holds(ExprId term, ExprId part) const {
    auto all = reachable(s_, {&term, 1});
    return std::binary_search(all.begin(), all.end(), part);
  }

  /// Index terms over the axes of a tensor, which become the points of `c`.
  std::vector<ExprId> points_over(Comprehension& c, TensorId tensor) {
    std::vector<ExprId> places;
    for (ExprId extent : graph_[tensor].shape) {
      auto k = static_cast<uint32_t>(places.size());
      c.points.push_back({IndexId(k), extent, fmt::format("i{}", k), {}, {}});
      places.push_back(s_.index(IndexId(k)));
    }
    return places;
  }

  void add_collect(const Collect& collect) {
    Comprehension c;
    std::vector<ExprId> places = points_over(c, collect.stacked);
    c.points[0].name = r_.time.name;
    ExprId time = places.front();
    places.erase(places.begin());
    ExprId value = value_in(collect.value, scalar_of(graph_[collect.stacked].type), time,
                            std::move(places), {});
    c.results = {{collect.stacked, value, {}}};
    made_.push_back({settle(graph_, std::move(c)), node_.span, {}});
  }

  void add_last(const Carry& carry) {
    Comprehension c;
    std::vector<ExprId> places = points_over(c, carry.last);
    Scalar scalar = scalar_of(graph_[carry.last].type);
    ExprId value = s_.read(carry.init, scalar, places);
    if (carry.next != carry.current) {
      ExprId end = canonical(s_, s_.binary(Op::sub, r_.time.extent, s_.integer(1)));
      ExprId any = s_.binary(Op::lt, s_.integer(0), r_.time.extent);
      value = s_.select(any, value_in(carry.next, scalar, end, places, {}), value);
    }
    c.results = {{carry.last, value, {}}};
    made_.push_back({settle(graph_, std::move(c)), node_.span, {}});
  }

  Graph& graph_;
  ExprStore& s_;
  const Node& node_;
  const Recur& r_;
  const TensorSet& zeros_;
  std::unordered_map<TensorId, const Carry*> carry_; ///< by `current`
  std::unordered_map<TensorId, TensorId> stacked_;   ///< what the body defines
  std::vector<size_t> part_; ///< of each node of the body, then of each carry
  /// Of the parts that depend on themselves: their nodes in order, and what these define or carry.
  std::unordered_map<size_t, std::vector<size_t>> members_;
  std::unordered_map<TensorId, size_t> cycle_of_;
  std::map<size_t, const Carry*> updates_; ///< by node
  std::vector<Node> made_;
  std::string why_; ///< the recurrence stays
};

} // namespace

Graph scan_recurrences(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    std::vector<Node> all;
    TensorSet zeros;
    bool here = false;
    for (Node& node : nodes) {
      if (const Comprehension* map = plain_map(graph, node)) {
        ExprId value = map->results[0].value;
        if (value == zero(graph.exprs, graph.exprs[value].scalar))
          zeros.insert(map->results[0].tensor);
      }
      if (!std::holds_alternative<Recur>(node.definition)) {
        all.push_back(std::move(node));
        continue;
      }
      Unrolling unrolling(graph, node, zeros);
      if (auto made = unrolling.run()) {
        here = true;
        std::move(made->begin(), made->end(), std::back_inserter(all));
      } else {
        // What another law made is not for its author to change.
        if (node.derivation.empty())
          graph.remarks.push_back({node.span, fmt::format("scan_recurrences runs the steps one "
                                                          "after another: {}",
                                                          unrolling.why())});
        all.push_back(std::move(node));
      }
    }
    nodes = std::move(all);
    if (here) sort_nodes(graph, nodes);
    changed |= here;
  });
  return changed ? drop_dead_nodes(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
