// recentre_means: what a mean lost to rounding is taken off the elements around it.
//
//   s[p] = Σ[j | c] x,  v[p] = Σ[j | c] (x - s[p]/n)²,  y[p, j] = f(x - s[p]/n)
//                                       =>
//   r[p] = Σ[j | c] (x - s[p]/n),                       y[p, j] = f((x - s[p]/n) - r[p]/n)
//
// Over the reals r is 0. A sum of n values rounds at its own magnitude and so does the mean: where
// the mean is a thousand times the spread, one unit in its last place is 1e-4 of the spread in f32.
// The distances are small and their subtraction is (nearly) exact, so their own mean is what was
// lost. The sum of squares needs no correction: it is off by n (r/n)² only. `r` is summed in the
// pass of `v` (merge_siblings). A sum that is not finite corrects nothing: the row holds infinities
// or overflows, and the elements are as they were.
//
// Side conditions: the elements are read in more than 16 bits (the spread of 16-bit values is at
// least 2^-12 of their mean, which a mean in f32 resolves); some sum of squares has its own pass
// already, so that no pass is added; `n` counts the points of the sum. Source: the corrected
// two-pass algorithm, Neely, "Comparison of several algorithms for computation of means, standard
// deviations and correlation coefficients", 1966; Chan, Golub, LeVeque, "Algorithms for computing
// the sample variance", 1983.
#include "rewrite/columns.h"
#include "rewrite/factors.h"
#include "rewrite/links.h"
#include "rewrite/moment_row.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tang::rewrite {
using namespace graph;

namespace {

constexpr int narrow_bits = 16;

class Recentring {
public:
  Recentring(Graph& graph, std::vector<Node>& nodes)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), links_(graph, nodes) {}

  bool run() {
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (auto distance = squared(n)) correct(n, *distance);
    if (made_.empty()) return false;
    std::vector<Node> all;
    auto next = made_.begin();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      all.push_back(std::move(nodes_[n]));
      if (next != made_.end() && next->first == n) all.push_back(std::move((next++)->second));
    }
    nodes_ = std::move(all);
    return true;
  }

private:
  Comprehension& node(size_t n) { return std::get<Comprehension>(nodes_[n].definition); }
  TensorId tensor_of(size_t n) { return node(n).results[0].tensor; }

  /// d, where the node is Σ d² and d = x - s/n around the mean of the same row.
  std::optional<ExprId> squared(size_t n) {
    if (!is_real_sum(graph_, nodes_[n])) return std::nullopt;
    const Reduction& r = *node(n).reduction;
    Factors factors = factors_of(s_, r.body[0]);
    if (!factors.under.empty() || !factors.conditions.empty() || factors.over.size() != 2 ||
        factors.over[0] != factors.over[1])
      return std::nullopt;
    const Expr e = s_[factors.over[0]]; // a copy: terms are made below
    if (e.op != Op::sub || !is_wide(e.operands[0])) return std::nullopt;
    auto sum = mean_of(node(n), expanded(e.operands[1]));
    bool centred = sum && node(*sum).reduction->body[0] == e.operands[0];
    return centred ? std::optional(factors.over[0]) : std::nullopt;
  }

  /// The term with the bodies of maps in the place of their reads.
  ExprId expanded(ExprId term) {
    return graph::rewrite(s_, term, [&](ExprId id) {
      auto map = s_[id].op == Op::read ? links_.producer(TensorId(s_[id].ref)) : std::nullopt;
      const Comprehension* c = map && !s_[id].guarded ? plain_map(graph_, nodes_[*map]) : nullptr;
      return c && !s_[c->results[0].value].has_state ? body_at(s_, *c, id) : id;
    });
  }

  bool is_wide(ExprId term) const {
    for (ExprId id : reachable(s_, {&term, 1})) {
      const Expr& e = s_[id];
      if (e.op == Op::read && e.scalar == Scalar::real &&
          info(graph_[TensorId(e.ref)].type).bits > narrow_bits)
        return true;
    }
    return false;
  }

  /// The sum over the row of `c` which that term divides by the number of its points.
  std::optional<size_t> mean_of(const Comprehension& c, ExprId term) {
    Factors factors = factors_of(s_, term);
    std::optional<size_t> sum;
    double scale = 1;
    auto number = point_count(graph_, c);
    for (ExprId id : factors.over) {
      auto found = sum_over_row(c, id);
      if (found && !sum)
        sum = found;
      else if (s_[id].op == Op::literal_real)
        scale *= s_[id].real;
      else
        return std::nullopt;
    }
    bool divided = false;
    for (ExprId id : factors.under)
      if (s_[id].op == Op::literal_real)
        scale /= s_[id].real;
      else if (!divided && counts(c, id, number))
        divided = true;
      else
        return std::nullopt;
    auto count = number ? s_.as_integer(*number) : std::nullopt;
    if (!divided && !count) return std::nullopt;
    if (!divided) scale *= static_cast<double>(*count);
    return std::abs(scale - 1) <= 1e-12 ? sum : std::nullopt;
  }

  /// The real sum over the row of `c` that a term reads at the row's own point.
  std::optional<size_t> sum_over_row(const Comprehension& c, ExprId term) {
    const Expr& e = s_[term];
    auto producer = e.op == Op::read ? links_.producer(TensorId(e.ref)) : std::nullopt;
    if (!producer || e.guarded || !is_real_sum(graph_, nodes_[*producer])) return std::nullopt;
    const Comprehension& sum = node(*producer);
    bool own = e.operands.size() == c.points.size();
    for (size_t k = 0; own && k < c.points.size(); ++k)
      own = s_[e.operands[k]].op == Op::index && s_[e.operands[k]].ref == c.points[k].index.value;
    return own && same_space(sum, c) ? producer : std::nullopt;
  }

  bool same_space(const Comprehension& a, const Comprehension& b) const {
    auto same = [&](const std::vector<Axis>& x, const std::vector<Axis>& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](const Axis& p, const Axis& q) {
        return same_extent(s_, p.extent, q.extent);
      });
    };
    return same(a.points, b.points) && same(a.reduction->axes, b.reduction->axes) &&
           a.reduction->filter == b.reduction->filter;
  }

  bool counts(const Comprehension& c, ExprId term, std::optional<ExprId> number) {
    const Expr& e = s_[term];
    if (e.op == Op::to_real) return number && same_extent(s_, e.operands[0], *number);
    auto sum = sum_over_row(c, term);
    if (!sum) return false;
    const Expr& body = s_[node(*sum).reduction->body[0]];
    return body.op == Op::literal_real && body.real == 1;
  }

  void correct(size_t n, ExprId distance) {
    const Comprehension& row = node(n);
    ExprId mean = expanded(s_[distance].operands[1]);
    TensorId sum = tensor_of(*mean_of(row, mean));
    std::vector<size_t> elements;
    for (size_t m : readers_of_reads(s_[distance].operands[1])) {
      if (sums(m, row, distance)) return; // the program does it itself
      if (has_elements(m, row, distance)) elements.push_back(m);
    }
    if (elements.empty()) return;
    Comprehension made = row;
    made.reduction->body[0] = distance;
    made.results[0].tensor = tensor_over(graph_, sum, row.points, {});
    std::vector<ExprId> places;
    for (const Axis& axis : row.points) places.push_back(s_.index(axis.index));
    ExprId rest = s_.read(made.results[0].tensor, Scalar::real, places);
    ExprId lost = graph::rewrite(s_, mean, [&](ExprId id) {
      return s_[id].op == Op::read && TensorId(s_[id].ref) == sum ? rest : id;
    });
    ExprId infinity = s_.real(std::numeric_limits<double>::infinity());
    ExprId finite = s_.binary(Op::lt, s_.unary(Op::abs, rest), infinity);
    ExprId corrected = s_.binary(Op::sub, distance, s_.select(finite, lost, s_.real(0)));
    for (size_t m : elements) {
      for_each_root(node(m), [&](ExprId root) {
        return rewrite_from(s_, root, [&](ExprId original, ExprId rebuilt) {
          return original == distance ? corrected : rebuilt;
        });
      });
      nodes_[m].derivation.push_back(fmt::format(
          "recentre_means: what the mean of `{}` lost to rounding is taken off", graph_[sum].name));
    }
    made_.emplace_back(n, Node{std::move(made), nodes_[n].span, {}});
  }

  std::set<size_t> readers_of_reads(ExprId term) {
    std::set<size_t> found;
    for (ExprId id : reachable(s_, {&term, 1}))
      if (s_[id].op == Op::read)
        for (size_t reader : links_.readers(TensorId(s_[id].ref))) found.insert(reader);
    return found;
  }

  bool sums(size_t m, const Comprehension& row, ExprId distance) {
    return is_real_sum(graph_, nodes_[m]) && node(m).reduction->body[0] == distance &&
           same_space(node(m), row);
  }

  /// A map over the elements of the row that reads the distance. Its own indices are numbered like
  /// the row's, so that equal terms are one.
  bool has_elements(size_t m, const Comprehension& row, ExprId distance) {
    const auto* c = std::get_if<Comprehension>(&nodes_[m].definition);
    if (!c || c->reduction || c->scan) return false;
    std::vector<Axis> axes = row.points;
    axes.insert(axes.end(), row.reduction->axes.begin(), row.reduction->axes.end());
    bool over_row = std::equal(axes.begin(), axes.end(), c->points.begin(), c->points.end(),
                               [&](const Axis& a, const Axis& b) {
                                 return a.index == b.index && same_extent(s_, a.extent, b.extent);
                               });
    if (!over_row) return false;
    auto all = roots(*c);
    auto terms = reachable(s_, all);
    return std::binary_search(terms.begin(), terms.end(), distance);
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  Links links_;
  std::vector<std::pair<size_t, Node>> made_; ///< each goes behind the node at that position
};

} // namespace

Graph recentre_means(Graph graph) {
  bool changed = false;
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    changed |= Recentring(graph, nodes).run();
  });
  return changed ? compact(std::move(graph)) : std::move(graph);
}

} // namespace tang::rewrite
