// chunk_scans: a linear scan whose states are only contracted runs in chunks of matrix products.
//
//   h[t, p, n] = a[t] * h[t-1, p, n] + x[t, p] * b[t, n],   y[t, p] = Σ[n] c[t, n] * h[t, p, n]
//
// stores a state per step: T × P × N. With t = L*k + i, step by step:
//
// 1. A scan splits along its axis, because ⊕ is associative: the state is what came before the
//    chunk, h[k], times the factors since, plus a scan inside the chunk.
// 2. That scan is a sum, because each step is linear: Σ[j <= i] D[k, i, j] * x[j, p] * b[j, n],
// where
//    D[k, i, j] = Π[j < r <= i] a[r] is a scan of products: no quotient and no exponential of a
//    sum, so that a = 0 and long decays are exact.
// 3. The contraction moves over both sums, because it is linear too, and the factors that no n
// moves
//    leave it:
//      y[k, i, p] = Σ[j <= i] (D * Σ[n] c[i, n] * b[j, n]) * x[j, p]
//                 + D[k, i] * Σ[n] c[i, n] * h[k, p, n]
// 4. The states between chunks are the same scan over T / L steps of what the chunks add:
//      u[k, p, n] = Σ[j] (D[k, L-1, j] * x[j, p]) * b[j, n]
//
// The last chunk is filled up with steps that change nothing. A state that is read at the end of
// the scan is read behind the last chunk. With a = 1 this is linear attention.
//
// Side conditions: the monoid composes affine steps or adds; the scan is inclusive; every reader
// sums it over some of its axes, each once, or reads its end; the term is a product, of which the
// factors that need summed axes and the others share only axes that are common to the whole of a
// chunk; `a` does not depend on summed axes; by typical sizes fewer bytes are stored. `-Wperf` says
// which one fails. Sources: Dao, Gu, "Transformers are SSMs", arXiv:2405.21060, section 6;
// Katharopoulos et al., "Transformers are RNNs", arXiv:2006.16236.
#include "graph/typical.h"
#include "rewrite/affine.h"
#include "rewrite/blocks.h"
#include "rewrite/chunks.h"
#include "rewrite/cost.h"
#include "rewrite/factors.h"
#include "rewrite/links.h"
#include "rewrite/monoids.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tang::rewrite {
using namespace graph;

namespace {

using Indices = std::set<IndexId>;
using Places = std::unordered_map<IndexId, ExprId>;

/// The factors of a term that need the same axes, beside time.
struct Group {
  std::vector<ExprId> over, under;
};

/// A sum over some axes of the states, in the scan's names.
struct Reader {
  size_t node = 0;
  std::vector<Axis> summed;
  std::vector<Axis> scored; ///< axes of the state that its scores differ along
  std::vector<Axis> shared; ///< those, and the ones that the factors of a step differ along
  std::vector<Axis> extra;  ///< points of the reader that the state lacks
  std::vector<Axis> kept;   ///< the other axes of the state
  std::vector<ExprId> factors;
  Group left, right; ///< factors of the term that need summed axes, and the others
  Places own;        ///< from the scan's names to the reader's
};

class Chunking {
public:
  Chunking(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept, const Links& links,
           size_t node)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept), links_(links), node_(node),
        scan_(std::get<Comprehension>(nodes[node].definition)),
        k_(graph, scan_.results[0].tensor, "chunk_scans", nodes[node].span) {}

  /// What takes the place of the scan; its readers are rewritten. Empty where the scan stays.
  std::vector<Node> run() {
    if (!linear_step() || !find_readers()) return {};
    if (!separates() || !pays()) return {};
    k_.set_time(time(), scan_.scan->descending, next_);
    k_.make_decays(factor_, decayed_);
    make_states();
    for (const Reader& reader : readers_) make_outputs(reader);
    for (size_t reader : ends_) read_end(reader);
    return std::move(k_.made);
  }
  /// Why a scan that comes close stays; empty where it does not come close.
  const std::string& why() const { return why_; }

private:
  // ---- recognising

  const Axis& time() const { return scan_.points[scan_.scan->axis]; }
  TensorId states() const { return scan_.results[0].tensor; }
  bool needs(ExprId id, IndexId index) const {
    return std::binary_search(s_[id].free.begin(), s_[id].free.end(), index);
  }
  bool needs(ExprId id, const std::vector<Axis>& axes) const {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return needs(id, axis.index); });
  }
  bool stays(std::string why) {
    why_ = std::move(why);
    return false;
  }

  /// Finds h = a * h + b in a scan of scalars: `factor_` (empty for 1), `term_`.
  bool linear_step() {
    const Reduction& r = *scan_.reduction;
    const Monoid& m = graph_[r.monoid];
    if (scan_.results.size() != 1 || r.filter || m.form != Monoid::Form::expressions) return false;
    const Tensor& tensor = graph_[states()];
    const Expr value = s_[scan_.results[0].value];
    if (value.op != Op::acc || value.scalar != Scalar::real || kept_.contains(states()) ||
        tensor.kind != TensorKind::intermediate || tensor.store_given || tensor.accumulate)
      return false;
    for (const Axis& axis : scan_.points)
      if (axis.lo || axis.hi) return false;
    term_ = r.body[value.ref];
    if (is_sum(graph_, r.monoid)) return true;
    if (m.fields.size() != 2 || !m.fields[0].axes.empty() || !m.fields[1].axes.empty())
      return false;
    uint32_t state = value.ref, factor = 1 - state;
    if (m.fields[factor].scalar != Scalar::real) return false;
    auto side = [&](Op op, uint32_t field) { return s_.state(op, field, Scalar::real); };
    auto step = affine_form(s_, m.combine[state], side(Op::lhs, state));
    ExprId both = m.combine[factor];
    bool product = both == s_.binary(Op::mul, side(Op::lhs, factor), side(Op::rhs, factor)) ||
                   both == s_.binary(Op::mul, side(Op::rhs, factor), side(Op::lhs, factor));
    if (!step || step->resets || step->a != side(Op::rhs, factor) ||
        step->b != side(Op::rhs, state) || !product ||
        m.fields[factor].identity != one(s_, Scalar::real) ||
        m.fields[state].identity != zero(s_, Scalar::real))
      return false;
    factor_ = r.body[factor];
    return true;
  }

  /// Every reader is a sum over axes of the states, or reads the end; a scan that nobody sums is
  /// not meant.
  bool find_readers() {
    next_ = fresh_index(s_, scan_).value;
    std::string other;
    for (size_t n : links_.readers(states())) {
      const auto* c = std::get_if<Comprehension>(&nodes_[n].definition);
      if (c && reads_end(*c))
        ends_.push_back(n);
      else if (auto reader = reader_of(n))
        readers_.push_back(std::move(*reader));
      else if (other.empty())
        other = fmt::format("`{}` needs it stored", graph_[defines_of(nodes_[n]).front()].name);
    }
    if (readers_.empty()) return false;
    if (!other.empty()) return stays(other);
    if (scan_.scan->exclusive) return stays("the scan is exclusive");
    return true;
  }

  std::vector<ExprId> reads_in(const Comprehension& c) const {
    std::vector<ExprId> found;
    for (ExprId id : reachable(s_, roots(c)))
      if (s_[id].op == Op::read && TensorId(s_[id].ref) == states()) found.push_back(id);
    return found;
  }

  bool reads_end(const Comprehension& c) {
    ExprId end =
        scan_.scan->descending ? s_.integer(0) : s_.binary(Op::sub, time().extent, s_.integer(1));
    auto reads = reads_in(c);
    return std::all_of(reads.begin(), reads.end(), [&](ExprId id) {
      return !s_[id].guarded && same_extent(s_, s_[id].operands[scan_.scan->axis], end);
    });
  }

  std::optional<Reader> reader_of(size_t n) {
    const Reduction* r = plain_reduction(graph_, nodes_[n], Op::add);
    if (!r || r->filter) return std::nullopt;
    const auto& c = std::get<Comprehension>(nodes_[n].definition);
    auto reads = reads_in(c);
    Factors factors = factors_of(s_, r->body[0]);
    if (reads.size() != 1 || s_[reads[0]].guarded || !factors.conditions.empty() ||
        cost_of(s_, r->body[0]).folds ||
        std::count(factors.over.begin(), factors.over.end(), reads[0]) != 1 ||
        std::find(factors.under.begin(), factors.under.end(), reads[0]) != factors.under.end())
      return std::nullopt;
    Reader reader;
    reader.node = n;
    Places names; // from the reader's names to the scan's
    for (size_t k = 0; k < scan_.points.size(); ++k) {
      const Expr& place = s_[s_[reads[0]].operands[k]];
      if (place.op != Op::index) return std::nullopt;
      const Axis& axis = scan_.points[k];
      IndexId index(place.ref);
      if (!names.try_emplace(index, s_.index(axis.index)).second) return std::nullopt;
      auto named = [&](const Axis& a) { return a.index == index; };
      auto at = std::find_if(r->axes.begin(), r->axes.end(), named);
      auto point = std::find_if(c.points.begin(), c.points.end(), named);
      const Axis& own = at != r->axes.end() ? *at : *point;
      if (!same_extent(s_, own.extent, axis.extent)) return std::nullopt;
      if (at != r->axes.end()) {
        if (k == scan_.scan->axis) return std::nullopt;
        reader.summed.push_back(axis);
      } else {
        reader.own[axis.index] = s_.index(index);
      }
    }
    if (reader.summed.empty() || reader.summed.size() != r->axes.size()) return std::nullopt;
    for (const Axis& axis : c.points) {
      if (axis.lo || axis.hi) return std::nullopt;
      if (names.contains(axis.index)) continue;
      Axis extra = axis;
      extra.index = IndexId(next_++);
      names[axis.index] = s_.index(extra.index);
      reader.own[extra.index] = s_.index(axis.index);
      reader.extra.push_back(extra);
    }
    auto translate = [&](ExprId id, bool under) {
      ExprId term = substitute(s_, id, names);
      return under ? s_.binary(Op::div, s_.real(1), term) : term;
    };
    for (ExprId id : factors.over)
      if (id != reads[0]) reader.factors.push_back(translate(id, false));
    for (ExprId id : factors.under) reader.factors.push_back(translate(id, true));
    return reader;
  }

  /// Takes the term apart: what the scan starts from, and a product that separates along the axes
  /// that each reader sums.
  bool separates() {
    if (cost_of(s_, term_).folds || (factor_ && cost_of(s_, factor_).folds)) return false;
    if (s_[term_].op == Op::add)
      for (size_t k : {size_t{0}, size_t{1}})
        if (!start_ && take_start(s_[term_].operands[k])) {
          term_ = s_[term_].operands[1 - k];
          break;
        }
    product_ = factors_of(s_, term_);
    for (const Axis& axis : scan_.points)
      if (factor_ && axis.index != time().index && needs(factor_, axis.index))
        decayed_.push_back(axis);
    for (Reader& reader : readers_)
      if (!separates(reader)) return false;
    return true;
  }

  /// Whether a summand is a * where(t == 0, start, 0): the state before the first step.
  bool take_start(ExprId summand) {
    Factors f = factors_of(s_, summand);
    ExprId t = s_.index(time().index), none = s_.integer(0);
    if (scan_.scan->descending) return false;
    auto remove = [](std::vector<ExprId>& from, const std::vector<ExprId>& parts) {
      for (ExprId part : parts) {
        auto at = std::find(from.begin(), from.end(), part);
        if (at == from.end()) return false;
        from.erase(at);
      }
      return true;
    };
    if (factor_) {
      Factors a = factors_of(s_, factor_);
      if (!remove(f.conditions, a.conditions) || !remove(f.over, a.over) ||
          !remove(f.under, a.under))
        return false;
    }
    if (f.conditions.size() != 1 || (f.conditions[0] != s_.binary(Op::eq, t, none) &&
                                     f.conditions[0] != s_.binary(Op::eq, none, t)))
      return false;
    ExprId start = build(s_, f.over, f.under);
    if (needs(start, time().index)) return false;
    start_ = start;
    return true;
  }

  bool separates(Reader& reader) {
    const std::string name = graph_[defines_of(nodes_[reader.node]).front()].name;
    if (factor_ && needs(factor_, reader.summed))
      return stays(fmt::format("the factor of a step depends on what `{}` sums over", name));
    Indices shared;
    auto share = [&](ExprId id) { shared.insert(s_[id].free.begin(), s_[id].free.end()); };
    auto split = [&](const std::vector<ExprId>& factors, std::vector<ExprId> Group::*part) {
      for (ExprId id : factors) {
        bool left = needs(id, reader.summed);
        ((left ? reader.left : reader.right).*part).push_back(id);
        if (left) share(id);
      }
    };
    split(product_.over, &Group::over), split(product_.under, &Group::under);
    for (ExprId id : reader.factors) share(id);
    for (ExprId id : product_.conditions) share(id);
    const Indices scored = shared;
    if (factor_) share(factor_);
    auto summed = [&](const Axis& axis) {
      return std::any_of(reader.summed.begin(), reader.summed.end(),
                         [&](const Axis& other) { return other.index == axis.index; });
    };
    for (const Axis& axis : scan_.points) {
      if (axis.index == time().index || summed(axis)) continue;
      (shared.contains(axis.index) ? reader.shared : reader.kept).push_back(axis);
      if (scored.contains(axis.index)) reader.scored.push_back(axis);
    }
    for (ExprId id : product_.conditions)
      if (needs(id, reader.summed))
        return stays(fmt::format("a condition depends on what `{}` sums over", name));
    if (reader.kept.empty())
      return stays(fmt::format("no axis of `{}` is free of what it sums over", name));
    return true;
  }

  /// Compares what is written and read between kernels, in elements at typical sizes.
  bool pays() const {
    const double steps = typical(graph_, time().extent),
                 width = static_cast<double>(Chunks::length);
    const double all = typical(graph_, scan_.points), passes = static_cast<double>(readers_.size());
    if (steps < 2 * width) return false;
    double before = all * (1 + passes);
    double after = 3 * all / width + passes * all / width; // what chunks add, states between them
    if (factor_) after += (2 + passes) * steps * width * typical(graph_, decayed_);
    for (const Reader& reader : readers_) {
      double rows = steps * typical(graph_, reader.shared) * typical(graph_, reader.extra);
      after += 4 * rows * width + 4 * rows * typical(graph_, reader.kept);
    }
    return after < before;
  }

  // ---- nodes

  /// What each chunk adds, and the states between chunks.
  void make_states() {
    const std::string name = graph_[states()].name;
    state_axes_ = scan_.points;
    state_axes_[scan_.scan->axis] = k_.chunk;
    // Factors that need the same axes are one operand.
    std::map<Indices, Group> groups;
    auto collect = [&](const std::vector<ExprId>& factors, std::vector<ExprId> Group::*part) {
      for (ExprId id : factors) {
        Indices axes(s_[id].free.begin(), s_[id].free.end());
        axes.erase(time().index);
        (groups[axes].*part).push_back(id);
      }
    };
    collect(product_.over, &Group::over), collect(product_.under, &Group::under);
    ExprId body = k_.since_step(k_.at(k_.from), k_.last_step());
    for (const auto& [axes, group] : groups) body = k_.times(body, in_step(group, k_.from));
    added_ = k_.make_sum(state_axes_, {k_.from}, {}, body, "_added",
                         fmt::format("what each chunk adds to `{}`", name));
    AffineForm step{k_.since_start(k_.last_step()), k_.read(added_, state_axes_), {}};
    if (start_) {
      ExprId begin = s_.select(k_.first_chunk(), start_, s_.real(0));
      step.b = s_.binary(Op::add, step.b, k_.times(step.a, begin));
    }
    before_ =
        k_.make_scan(state_axes_, scan_.scan->axis, true, affine_step(graph_, step, Scalar::real),
                     "_before", fmt::format("`{}` in front of each chunk", name));
  }

  /// A group of factors of the term in a step.
  ExprId in_step(const Group& group, const Axis& step) {
    return k_.in_step(build(s_, group.over, group.under), step, s_.real(0), product_.conditions);
  }

  /// The state in front of the chunk.
  ExprId before() {
    ExprId state = k_.read(before_, state_axes_);
    return start_ ? s_.select(k_.first_chunk(), start_, state) : state;
  }

  void make_outputs(const Reader& reader) {
    Node& node = nodes_[reader.node];
    auto& c = std::get<Comprehension>(node.definition);
    const TensorId result = c.results[0].tensor;
    const std::string name = graph_[result].name;
    ExprId factor = s_.real(1);
    for (ExprId id : reader.factors) factor = k_.times(factor, id);
    factor = k_.in_step(factor, k_.step, s_.real(0));
    const std::vector<Axis> rows = joined({k_.chunk}, joined(reader.extra, {k_.step}));
    const std::vector<Axis> square = joined(rows, {k_.from});
    const std::vector<Axis> scored = joined(reader.scored, square);
    const std::vector<Axis> weighted = joined(reader.shared, square);
    const std::vector<Axis> points = joined(joined(reader.shared, rows), reader.kept);

    TensorId scores =
        k_.make_sum(scored, reader.summed, {}, k_.times(factor, in_step(reader.left, k_.from)),
                    "_scores", fmt::format("the scores of `{}` inside a chunk", name));
    ExprId score = k_.read(scores, scored);
    if (factor_) {
      ExprId decay = k_.since_step(k_.at(k_.from), k_.at(k_.step));
      TensorId weights = k_.make_map(weighted, s_.binary(Op::mul, score, decay), "_weights",
                                     fmt::format("the weights of `{}` inside a chunk", name));
      score = k_.read(weights, weighted);
    }
    TensorId inside =
        k_.make_sum(points, {k_.from}, s_.binary(Op::le, k_.at(k_.from), k_.at(k_.step)),
                    k_.times(score, in_step(reader.right, k_.from)), "_inside",
                    fmt::format("`{}` from the steps of the same chunk", name));
    TensorId across = k_.make_sum(points, reader.summed, {}, k_.times(factor, before()), "_across",
                                  fmt::format("`{}` from the state in front of the chunk", name));

    // The two parts at the reader's own points.
    ExprId value = k_.times(k_.since_start(k_.at(k_.step)), k_.read(across, points));
    value = s_.binary(Op::add, k_.read(inside, points), value);
    Places places = k_.places_at(reader.own.at(time().index));
    places.insert(reader.own.begin(), reader.own.end());
    Comprehension map;
    map.points = c.points;
    map.results = {{result, substitute(s_, value, places), {}}};
    node.derivation.push_back(fmt::format("chunk_scans: `{}` in chunks of {} along {}", name,
                                          Chunks::length, time().name));
    node.definition = settle(graph_, std::move(map));
  }

  /// The state at the end is the one behind the last chunk.
  void read_end(size_t n) {
    auto& c = std::get<Comprehension>(nodes_[n].definition);
    ExprId state = k_.times(k_.since_start(k_.last_step()), before());
    state = s_.binary(Op::add, state, k_.read(added_, state_axes_));
    ExprId last = s_.binary(Op::sub, k_.chunk.extent, s_.integer(1));
    for_each_root(c, [&](ExprId root) {
      return graph::rewrite(s_, root, [&](ExprId id) {
        const Expr e = s_[id]; // a copy: terms are made below
        if (e.op != Op::read || TensorId(e.ref) != states()) return id;
        Places places{{k_.chunk.index, canonical(s_, last)}};
        for (size_t k = 0; k < scan_.points.size(); ++k)
          if (k != scan_.scan->axis) places[scan_.points[k].index] = e.operands[k];
        return substitute(s_, state, places);
      });
    });
    c = settle(graph_, std::move(c));
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  const Links& links_;
  const size_t node_;
  const Comprehension scan_;
  ExprId factor_, term_, start_; ///< h = factor * h + term from start; empty: 1, -, 0
  Factors product_;              ///< of the term
  std::vector<Axis> decayed_;    ///< the axes of the factor but time
  std::vector<Reader> readers_;
  std::vector<size_t> ends_; ///< nodes that read the last state
  uint32_t next_ = 0;
  Chunks k_;
  std::vector<Axis> state_axes_; ///< as the states', with chunks for steps
  TensorId added_, before_;
  std::string why_;
};

} // namespace

Graph chunk_scans(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    std::vector<Node> made;
    const Links links(graph, nodes);
    for (size_t n = 0; n < nodes.size(); ++n) {
      const auto* c = std::get_if<Comprehension>(&nodes[n].definition);
      if (!c || !c->scan) continue;
      std::string name = graph[c->results[0].tensor].name;
      Chunking chunking(graph, nodes, kept, links, n);
      auto more = chunking.run();
      std::move(more.begin(), more.end(), std::back_inserter(made));
      if (!chunking.why().empty())
        graph.remarks.push_back(
            {nodes[n].span,
             fmt::format("chunk_scans stores `{}` for every step: {}", name, chunking.why())});
    }
    if (made.empty()) return;
    changed = true;
    std::move(made.begin(), made.end(), std::back_inserter(nodes));
    sort_nodes(graph, nodes);
  });
  return changed ? drop_dead_nodes(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
