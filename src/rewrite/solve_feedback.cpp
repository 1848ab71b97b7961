// solve_feedback: a recurrence that corrects its state by a contraction of it solves the
// corrections of a chunk of steps at once.
//
//   recur t { r[p] = Σ[n] S[p, n] * q[t, n]
//             S[p, n] = a[t] * S[p, n] + (c[t, p] + g[t] * r[p]) * e[t, n] }
//     =>
//   recur t { S[p, n] = a[t] * S[p, n] + d[t, p] * e[t, n] }
//
// where d is what is in parentheses, for all steps. The recurrence is then a linear scan of outer
// products, which scan_recurrences and chunk_scans take over. In a chunk that starts from the state
// S, with D the products of the factors between steps, d is the solution of a triangular system,
//
//   d[i, p] = c[i, p] + g[i] * D[i] * Σ[n] q[i, n] * S[p, n] + Σ[j < i] L[i, j] * d[j, p]
//   L[i, j] = g[i] * D[j, i] * Σ[n] q[i, n] * e[j, n]
//
// and affine in S: with X the inverse of 1 - L,
//
//   d[i, p] = Σ[j] X[i, j] * c[j, p]  +  Σ[n] w[i, n] * S[p, n]
//   w[i, n] = Σ[j] X[i, j] * g[j] * D[j] * q[j, n]
//
// X is made for all chunks at once from the inverses of its diagonal blocks, of 1, 2, 4, ... rows:
// the block below two of them is minus the product of the three. What is left is a recurrence with
// a step per chunk, of two matrix products. The gated delta rule is of this form.
//
// Side conditions: one sum in the step, of the state at its own rows; its update is affine in state
// and sum, and both summands behind the state have the same factors along n; a, g, q and e do not
// depend on the rows p; what a step is given is computed outside the recurrence; by typical sizes
// fewer bytes are stored. Sources: Bischof, Van Loan, "The WY representation for products of
// Householder matrices", 1987; Yang et al., "Parallelizing linear transformers with the delta
// rule", arXiv:2406.06484; Yang, Kautz, Hatamizadeh, arXiv:2412.06464.
#include "graph/recur.h"
#include "graph/typical.h"
#include "rewrite/affine.h"
#include "rewrite/blocks.h"
#include "rewrite/chunks.h"
#include "rewrite/cost.h"
#include "rewrite/factors.h"
#include "rewrite/links.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include "rewrite/steps.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tang::rewrite {
using namespace graph;

namespace {

using Places = std::unordered_map<IndexId, ExprId>;

class Feedback {
public:
  Feedback(Graph& graph, Node& node, const Carry& carry)
      : graph_(graph), s_(graph.exprs), node_(node), r_(std::get<Recur>(node.definition)),
        carry_(carry), k_(graph, carry.current, "solve_feedback", node.span) {}

  /// What stands before the recurrence, whose update then reads it; empty where it stays.
  std::vector<Node> run(const std::vector<size_t>& parts, size_t part) {
    if (!find_nodes(parts, part) || !find_sum() || !find_update() || !separates() || !pays())
      return {};
    make_inverse();
    make_chunks();
    update();
    return std::move(k_.made);
  }

private:
  // ---- recognising

  const std::string& name() const { return graph_[carry_.current].name; }
  bool needs(ExprId id, const std::vector<Axis>& axes) const {
    return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
      return std::binary_search(s_[id].free.begin(), s_[id].free.end(), axis.index);
    });
  }
  bool holds(ExprId term, ExprId part) const {
    auto all = reachable(s_, {&term, 1});
    return std::binary_search(all.begin(), all.end(), part);
  }

  /// The part of the carried tensor: one sum, one update, and maps between them.
  bool find_nodes(const std::vector<size_t>& parts, size_t part) {
    const Tensor& state = graph_[carry_.current];
    if (scalar_of(state.type) != Scalar::real || state.store_given || state.accumulate)
      return false;
    for (size_t k = 0; k < r_.carries.size(); ++k)
      if (r_.carries[k].current != carry_.current && parts[r_.body.size() + k] == part)
        return false;
    for (size_t n = 0; n < r_.body.size(); ++n) {
      for (TensorId id : defines_of(r_.body[n])) inside_.insert(id);
      if (parts[n] != part) continue;
      if (const Reduction* r = plain_reduction(graph_, r_.body[n], Op::add)) {
        if (sum_ || r->filter) return false;
        sum_ = n;
      } else if (!plain_map(graph_, r_.body[n])) {
        return false;
      }
      members_.push_back(n);
    }
    for (const Carry& carry : r_.carries) inside_.insert(carry.current);
    inside_.erase(r_.step);
    for (size_t n : members_)
      if (defines_of(r_.body[n])[0] == carry_.next) update_ = n;
    return sum_ && update_ && *update_ != *sum_;
  }

  const Comprehension& node(size_t n) const {
    return std::get<Comprehension>(r_.body[n].definition);
  }

  /// A term of a member with the maps of the part put in; empty where it grows too large.
  ExprId expanded(ExprId term) {
    return graph::rewrite(s_, term, [&](ExprId id) {
      const Expr e = s_[id]; // a copy: terms are made below
      auto at = e.op == Op::read && !e.guarded ? maps_.find(TensorId(e.ref)) : maps_.end();
      if (at == maps_.end()) return id;
      Places places;
      for (size_t k = 0; k < e.operands.size(); ++k)
        places[at->second.first->points[k].index] = e.operands[k];
      return substitute(s_, at->second.second, places);
    });
  }

  /// Finds the terms of sum and update over the state and the sum alone, in the update's names.
  bool find_sum() {
    const Comprehension& update = node(*update_);
    for (const Axis& axis : update.points) own_.push_back(s_.index(axis.index));
    state_ = s_.read(carry_.current, Scalar::real, own_);
    ExprId sum;
    for (size_t n : members_) {
      const Comprehension& c = node(n);
      ExprId term = expanded(n == *sum_ ? c.reduction->body[0] : c.results[0].value);
      Cost cost = cost_of(s_, term);
      if (cost.folds || cost.terms > max_body_terms) return false;
      if (n == *sum_)
        sum = term;
      else
        maps_[c.results[0].tensor] = {&c, term};
      if (n == *update_) term_ = term;
    }
    if (!sum || !term_) return false;
    // The one read of the sum in the update names its points, that of the state its other axes.
    const Comprehension& c = node(*sum_);
    Places names;
    for (ExprId id : reachable(s_, {&term_, 1})) {
      const Expr& e = s_[id];
      if (e.op != Op::read || TensorId(e.ref) != c.results[0].tensor) continue;
      if (read_ || e.guarded) return false;
      read_ = id;
      for (size_t k = 0; k < c.points.size(); ++k) names[c.points[k].index] = e.operands[k];
    }
    std::optional<std::vector<ExprId>> places;
    for (ExprId id : reachable(s_, {&sum, 1})) {
      const Expr& e = s_[id];
      if (e.op != Op::read || TensorId(e.ref) != carry_.current) continue;
      if (places || e.guarded) return false;
      places.emplace(e.operands.begin(), e.operands.end());
    }
    if (!read_ || !places) return false;
    for (size_t k = 0; k < places->size(); ++k) {
      const Expr& place = s_[(*places)[k]];
      if (place.op != Op::index) return false;
      IndexId index(place.ref);
      if (auto at = names.find(index); at != names.end()) {
        if (at->second != own_[k]) return false;
        continue;
      }
      names[index] = own_[k];
      summed_.push_back(update.points[k]);
    }
    if (summed_.empty() || summed_.size() != c.reduction->axes.size() ||
        c.points.size() + summed_.size() != own_.size())
      return false;
    sum = substitute(s_, sum, names);
    auto form = affine_form(s_, sum, state_);
    if (!form || !form->a || form->b || form->resets) return false;
    q_ = form->a;
    return true;
  }

  bool find_update() {
    auto form = affine_form(s_, term_, state_);
    if (!form || !form->a || !form->b || form->resets || holds(form->a, read_)) return false;
    a_ = form->a;
    auto rest = affine_form(s_, form->b, read_);
    if (!rest || !rest->a || !rest->b) return false;
    Factors fed = factors_of(s_, rest->a), given = factors_of(s_, rest->b);
    if (rest->resets) fed.conditions.push_back(s_.unary(Op::logical_not, rest->resets));
    auto split = [&](const Factors& factors, ExprId& along, ExprId& other) {
      std::vector<ExprId> parts[2][2];
      for (ExprId id : factors.over) parts[needs(id, summed_)][0].push_back(id);
      for (ExprId id : factors.under) parts[needs(id, summed_)][1].push_back(id);
      for (auto& list : parts[1]) std::sort(list.begin(), list.end());
      other = build(s_, parts[0][0], parts[0][1]), along = build(s_, parts[1][0], parts[1][1]);
    };
    ExprId also;
    split(fed, e_, g_), split(given, also, c_);
    return e_ == also && needs(e_, summed_) && exclude(fed.conditions, given.conditions);
  }

  /// What a condition excludes takes no part, a NaN neither: all that belongs to it is 0 there.
  bool exclude(const std::vector<ExprId>& fed, const std::vector<ExprId>& given) {
    auto all = [&](const std::vector<ExprId>& conditions) {
      ExprId condition = s_.boolean(true);
      for (ExprId id : conditions) condition = s_.logical_and(condition, id);
      return condition;
    };
    auto where = [&](ExprId condition, ExprId term) {
      return s_.select(condition, term, s_.real(0));
    };
    ExprId feeds = all(fed), gives = all(given);
    if (needs(feeds, summed_) || needs(gives, summed_)) return false;
    g_ = where(feeds, g_), q_ = where(feeds, q_), c_ = where(gives, c_);
    e_ = where(s_.binary(Op::logical_or, feeds, gives), e_);
    return true;
  }

  /// Whether rows are free of what belongs to steps, and all of it comes from outside.
  bool separates() {
    std::set<IndexId> shared;
    for (ExprId id : {a_, q_, g_, e_}) shared.insert(s_[id].free.begin(), s_[id].free.end());
    for (const Axis& axis : node(*update_).points) {
      if (needs(own_[static_cast<size_t>(&axis - node(*update_).points.data())], summed_)) continue;
      (shared.contains(axis.index) ? shared_ : rows_).push_back(axis);
    }
    if (rows_.empty() || needs(a_, summed_)) return false;
    std::vector<ExprId> terms{a_, q_, g_, e_, c_};
    for (ExprId id : reachable(s_, terms))
      if (s_[id].op == Op::read && inside_.contains(TensorId(s_[id].ref))) return false;
    // The step becomes an index, as it is in nodes outside.
    time_ = r_.time;
    uint32_t next =
        std::max(fresh_index(s_, node(*update_)).value, fresh_index(s_, node(*sum_)).value);
    time_.index = IndexId(next++);
    ExprId step = s_.read(r_.step, Scalar::integer, {}), index = s_.index(time_.index);
    for (ExprId* id : {&a_, &q_, &g_, &e_, &c_})
      *id = graph::rewrite(s_, *id, [&](ExprId part) { return part == step ? index : part; });
    k_.set_time(time_, false, next);
    return true;
  }

  bool pays() const {
    const double steps = typical(graph_, time_.extent), width = static_cast<double>(Chunks::length);
    const double rows = typical(graph_, rows_), columns = typical(graph_, summed_);
    // Per step: the state, written and read twice; else the square tensors of a chunk, what is
    // solved for, and the states between chunks.
    double before = 3 * rows * columns;
    double after = 24 * width + 4 * (rows + columns) + 6 * rows * columns / width;
    return steps >= 2 * width && after < before;
  }

  // ---- nodes

  ExprId at(const Axis& axis) { return k_.at(axis); }
  ExprId less(ExprId x, ExprId y) { return s_.binary(Op::lt, x, y); }
  ExprId minus_one(ExprId x) { return canonical(s_, s_.binary(Op::sub, x, s_.integer(1))); }
  ExprId here(ExprId term, const Axis& step) { return k_.in_step(term, step, s_.real(0)); }
  std::string text(const char* what) const { return fmt::format("{} of `{}`", what, name()); }

  /// 1 / (1 - L) for every chunk.
  void make_inverse() {
    const Axis &i = k_.step, &j = k_.from;
    k_.make_decays(a_ == s_.real(1) ? ExprId() : a_, shared_);
    square_ = joined(shared_, {k_.chunk, i, j});
    TensorId scores = k_.make_sum(square_, summed_, {}, k_.times(here(q_, i), here(e_, j)),
                                  "_scores", text("the scores inside a chunk"));
    ExprId weight = k_.times(
        here(g_, i), k_.times(k_.since_step(at(j), minus_one(at(i))), k_.read(scores, square_)));
    TensorId lower = k_.make_map(square_, s_.select(less(at(j), at(i)), weight, s_.real(0)),
                                 "_lower", text("what steps of a chunk feed to later ones"));
    ExprId same = s_.binary(Op::eq, at(i), at(j));
    inverse_ = k_.make_map(square_, s_.select(same, s_.real(1), s_.real(0)), "_inverse",
                           text("the solution in blocks of 1"));
    for (int64_t size = 1; size < Chunks::length; size *= 2) double_blocks(lower, size);
  }

  /// From the inverses of blocks of `size` to those of twice that: below two blocks stands the
  /// product of the lower one, what feeds it, and the upper one. Sums keep to the triangle, so that
  /// no step feeds an earlier one.
  void double_blocks(TensorId lower, int64_t size) {
    const Axis &i = k_.step, &j = k_.from;
    Axis inner = i;
    inner.index = IndexId(std::max({i.index.value, j.index.value, k_.chunk.index.value}) + 1);
    inner.extent = s_.integer(size), inner.name = "block";
    auto block = [&](ExprId id, int64_t rows) {
      return s_.binary(Op::floordiv, id, s_.integer(rows));
    };
    auto in_block_of = [&](ExprId id) {
      ExprId first = s_.binary(Op::mul, s_.integer(size), block(id, size));
      return canonical(s_, s_.binary(Op::add, first, at(inner)));
    };
    ExprId below = s_.logical_and(s_.binary(Op::eq, block(at(i), 2 * size), block(at(j), 2 * size)),
                                  less(block(at(j), size), block(at(i), size)));
    const std::vector<Axis> rows = joined(shared_, {k_.chunk});
    auto filter = [&](ExprId condition) { return s_.logical_and(below, condition); };
    ExprId middle = in_block_of(at(i));
    TensorId left = k_.make_sum(
        square_, {inner}, filter(s_.binary(Op::le, middle, at(i))),
        k_.times(k_.read(inverse_, rows, {at(i), middle}), k_.read(lower, rows, {middle, at(j)})),
        fmt::format("_left{}", size), text("the lower block times what feeds it, in the solution"));
    middle = in_block_of(at(j));
    TensorId both = k_.make_sum(
        square_, {inner}, filter(s_.binary(Op::le, at(j), middle)),
        k_.times(k_.read(left, rows, {at(i), middle}), k_.read(inverse_, rows, {middle, at(j)})),
        fmt::format("_below{}", size), text("the part below two blocks, in the solution"));
    inverse_ =
        k_.make_map(square_, s_.binary(Op::add, k_.read(inverse_, square_), k_.read(both, square_)),
                    fmt::format("_inverse{}", 2 * size),
                    fmt::format("the solution of `{}` in blocks of {}", name(), 2 * size));
  }

  /// What is solved for: its part from the chunk alone, and its rows for the state in front of it;
  /// then the states between chunks, one after another.
  void make_chunks() {
    const Axis &i = k_.step, &j = k_.from;
    const std::vector<Axis> steps = joined(shared_, {k_.chunk, i});
    ExprId earlier = s_.binary(Op::le, at(j), at(i)), inverse = k_.read(inverse_, square_);
    TensorId alone = k_.make_sum(joined(steps, rows_), {j}, earlier, k_.times(inverse, here(c_, j)),
                                 "_alone", text("the corrections from the chunk alone"));
    ExprId first = s_.binary(Op::eq, at(j), s_.integer(0));
    ExprId decay = a_ == s_.real(1)
                       ? s_.real(1)
                       : s_.select(first, s_.real(1), k_.since_start(minus_one(at(j))));
    TensorId looks =
        k_.make_sum(joined(steps, summed_), {j}, earlier,
                    k_.times(inverse, k_.times(k_.times(here(g_, j), decay), here(q_, j))),
                    "_looks", text("how the corrections look at the state in front of the chunk"));
    corrections_ = recur_over_chunks(alone, looks);
    // In the order of the steps.
    Places places = k_.places_at(s_.index(time_.index));
    ExprId value = k_.read(corrections_, joined({k_.chunk}, joined(shared_, joined({i}, rows_))));
    by_step_ = k_.make_map(joined({time_}, joined(shared_, rows_)), substitute(s_, value, places),
                           "_corrections", text("the corrections"));
  }

  /// Carries the state from chunk to chunk; gives the corrections of all steps.
  TensorId recur_over_chunks(TensorId alone, TensorId looks) {
    const Axis &i = k_.step, &j = k_.from;
    const std::vector<Axis> points = node(*update_).points;
    Chunks inner(graph_, carry_.current, "solve_feedback", node_.span);
    Recur r;
    r.time = k_.chunk, r.time.index = IndexId(0);
    r.step = graph_.add(step_tensor(graph_, k_.chunk.name, r.time.extent));
    Places now{{k_.chunk.index, s_.read(r.step, Scalar::integer, {})}};
    auto in_chunk = [&](ExprId id) { return substitute(s_, id, now); };
    TensorId state = k_.tensor(points, "_chunk"), last = k_.tensor(points, "_behind");
    ExprId held = k_.read(state, points);

    std::vector<Axis> steps = joined(shared_, {k_.chunk, i});
    std::vector<Axis> solved = joined(shared_, joined({i}, rows_));
    TensorId seen = inner.make_sum(solved, summed_, {},
                                   k_.times(in_chunk(k_.read(looks, joined(steps, summed_))), held),
                                   "_seen", text("what the corrections see"));
    ExprId sum = s_.binary(Op::add, in_chunk(k_.read(alone, joined(steps, rows_))),
                           inner.read(seen, solved));
    TensorId correction =
        inner.make_map(solved, sum, "_solved", text("the corrections of a chunk"));
    std::unordered_map<IndexId, ExprId> at_j{{i.index, at(j)}};
    ExprId weight = k_.times(k_.since_step(at(j), k_.last_step()), here(e_, j));
    TensorId added = inner.make_sum(
        points, {j}, {},
        k_.times(in_chunk(weight), substitute(s_, inner.read(correction, solved), at_j)), "_added",
        text("what the corrections of a chunk add"));
    ExprId kept = k_.times(in_chunk(k_.since_start(k_.last_step())), held);
    TensorId next = inner.make_map(points, s_.binary(Op::add, kept, inner.read(added, points)),
                                   "_next", text("the state behind a chunk"));
    r.carries.push_back({carry_.init, state, next, last});
    TensorId all = k_.tensor(joined({k_.chunk}, solved), "_solutions");
    r.collects.push_back({correction, all});
    r.body = std::move(inner.made);
    std::string law = "solve_feedback: " + text("the states in front of chunks");
    k_.made.push_back({std::move(r), node_.span, {std::move(law)}});
    return all;
  }

  void update() {
    Node& target = r_.body[*update_];
    auto& map = std::get<Comprehension>(target.definition);
    ExprId step = s_.read(r_.step, Scalar::integer, {});
    Places now{{time_.index, step}};
    ExprId correction = k_.read(by_step_, joined({time_}, joined(shared_, rows_)));
    ExprId value = s_.binary(Op::add, k_.times(a_, state_), k_.times(correction, e_));
    map.results[0].value = substitute(s_, value, now);
    map = settle(graph_, std::move(map));
    target.derivation.push_back(fmt::format(
        "solve_feedback: `{}` takes corrections that are solved for in chunks", name()));
  }

  Graph& graph_;
  ExprStore& s_;
  Node& node_;
  Recur& r_;
  const Carry carry_;
  Chunks k_;
  TensorSet inside_; ///< what a step makes, and what it carries
  std::vector<size_t> members_;
  std::optional<size_t> sum_, update_; ///< positions in the body
  std::unordered_map<TensorId, std::pair<const Comprehension*, ExprId>> maps_;
  std::vector<ExprId> own_; ///< places of the state at its own point, in the update's names
  ExprId state_, read_;     ///< the reads of the state and of the sum there
  ExprId term_;             ///< the update
  ExprId a_, q_, g_, e_, c_;
  std::vector<Axis> summed_, shared_, rows_;
  Axis time_;
  std::vector<Axis> square_;
  TensorId inverse_, corrections_, by_step_;
};

} // namespace

Graph solve_feedback(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    std::vector<Node> all;
    for (Node& node : nodes) {
      if (auto* r = std::get_if<Recur>(&node.definition)) {
        const std::vector<size_t> parts = step_parts(graph, *r);
        for (size_t k = 0; k < r->carries.size(); ++k) {
          auto made = Feedback(graph, node, r->carries[k]).run(parts, parts[r->body.size() + k]);
          changed |= !made.empty();
          std::move(made.begin(), made.end(), std::back_inserter(all));
        }
      }
      all.push_back(std::move(node));
    }
    nodes = std::move(all);
  });
  return changed ? drop_dead_nodes(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
