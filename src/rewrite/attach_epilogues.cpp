// attach_epilogues: a map that reads a node's results point for point becomes a result of it.
//
//   r[i] = acc,  y[i] = f(r[i], b[i])   =>   r[i] = acc,  y[i] = f(acc, b[i])   in one node
//
// `r` leaves when nobody else reads it. The same for a map on a map that must be stored, and for
// two maps over the same points that read the same elements: one node with several results, whose
// inputs are read once. A reduction whose only reader has its points in another order takes that
// order.
//
// Side conditions: every read of the node is the same permutation of all its points; what else the
// map reads is defined before the node, or nothing between the two reads the node (then it moves
// down); nothing is stored over an input; values stay under `max_body_terms`. Results of scans and
// top-k take over plain copies only: their points do not end in one thread.
#include "base/check.h"
#include "graph/reads.h"
#include "rewrite/blocks.h"
#include "rewrite/cost.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace tang::rewrite {
using namespace graph;

namespace {

class Attachment {
public:
  Attachment(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept), home_(nodes.size()) {
    std::iota(home_.begin(), home_.end(), size_t{0});
  }

  void run() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      reads_.push_back(reads_of(graph_, nodes_[n]));
      for (TensorId id : reads_[n]) readers_[id].push_back(n);
      for (TensorId id : defines_of(nodes_[n])) producer_[id] = n;
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      // A map that went onto a map is a map again, which may go further.
      std::optional<size_t> at = home_[n] == n ? std::optional(n) : std::nullopt;
      while (at && is_map(*at)) at = attach(*at);
    }
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (home_[n] == n && is_map(n)) join(n);
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (auto* c = comprehension(n); c && home_[n] == n && changed_.contains(n))
        *c = settle(graph_, std::move(*c));
    size_t next = 0;
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (home_[n] == n) {
        if (next != n) nodes_[next] = std::move(nodes_[n]);
        ++next;
      }
    nodes_.resize(next);
  }

private:
  Comprehension* comprehension(size_t n) {
    return std::get_if<Comprehension>(&nodes_[n].definition);
  }
  bool writes_over(const Comprehension& c) const {
    return std::any_of(c.results.begin(), c.results.end(),
                       [&](const Result& r) { return static_cast<bool>(graph_[r.tensor].over); });
  }
  bool is_map(size_t n) {
    const Comprehension* c = comprehension(n);
    return c && !c->reduction && !c->scan && !writes_over(*c);
  }
  /// Where the node is now that was at position `n`.
  size_t home(size_t n) const {
    while (home_[n] != n) n = home_[n];
    return n;
  }

  // ---- a map on the node that it reads

  /// Where the map went; empty when it stays.
  std::optional<size_t> attach(size_t n) {
    std::vector<size_t> producers;
    for (TensorId id : reads_[n])
      if (auto at = producer_.find(id); at != producer_.end())
        producers.push_back(home(at->second));
    std::sort(producers.rbegin(), producers.rend());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    // Reductions first: a map on a map saves less.
    for (bool wanted : {true, false})
      for (size_t p : producers) {
        const Comprehension* c = comprehension(p);
        if (!c || c->reduction.has_value() != wanted || writes_over(*c)) continue;
        if (!ends_in_one_thread(*c) && !is_copy(*comprehension(n))) continue;
        bool first = p == producers.front();
        if (!first && read_between(p, n)) continue;
        if (put_on(p, n, first ? p : n)) return first ? p : n;
      }
    return std::nullopt;
  }

  bool ends_in_one_thread(const Comprehension& c) const {
    bool listed = c.reduction && graph_[c.reduction->monoid].form == Monoid::Form::topk;
    return !c.scan && !listed;
  }
  bool is_copy(const Comprehension& map) const {
    return std::all_of(map.results.begin(), map.results.end(),
                       [&](const Result& r) { return s_[r.value].op == Op::read; });
  }

  /// True when a node between the two reads a result of the first.
  bool read_between(size_t p, size_t n) {
    for (TensorId id : defines_of(nodes_[p]))
      for (size_t reader : readers_[id]) {
        size_t at = home(reader);
        if (at > p && at < n) return true;
      }
    return false;
  }

  /// The axes of a result: the node's points, then its own.
  static std::vector<Axis> axes_of(const Comprehension& c, const Result& result) {
    std::vector<Axis> axes = c.points;
    axes.insert(axes.end(), result.extra.begin(), result.extra.end());
    return axes;
  }

  /// How the map's points name the producer's axes: for each axis of the producer's result, the
  /// position of the map's point.
  using Order = std::vector<size_t>;

  /// The order in which `read` names points of the map, each at most once; empty when it does
  /// not.
  std::optional<Order> order_of(const Comprehension& map, const Comprehension& producer,
                                const Result& result, ExprId read) {
    const auto places = s_[read].operands; // a copy: terms are made below
    auto axes = axes_of(producer, result);
    if (axes.size() > map.points.size()) return std::nullopt;
    Order order;
    for (size_t k = 0; k < axes.size(); ++k) {
      auto at = std::find_if(map.points.begin(), map.points.end(),
                             [&](const Axis& point) { return s_.index(point.index) == places[k]; });
      if (at == map.points.end() || !same_extent(s_, at->extent, axes[k].extent))
        return std::nullopt;
      auto position = static_cast<size_t>(at - map.points.begin());
      if (std::find(order.begin(), order.end(), position) != order.end()) return std::nullopt;
      order.push_back(position);
    }
    return order;
  }

  struct Match {
    Order order;       ///< names all points of the map
    size_t source = 0; ///< the result with those axes; the others lack its own ones
    std::unordered_map<ExprId, size_t> reads; ///< read term -> result of the producer
  };

  std::optional<Match> match(size_t p, size_t n) {
    const Comprehension &producer = *comprehension(p), &map = *comprehension(n);
    std::optional<Match> found;
    for (ExprId id : reachable(s_, roots(map))) {
      if (s_[id].op != Op::read) continue;
      for (size_t r = 0; r < producer.results.size(); ++r) {
        if (producer.results[r].tensor != TensorId(s_[id].ref)) continue;
        auto order = order_of(map, producer, producer.results[r], id);
        if (!order) return std::nullopt;
        if (!found) found.emplace();
        // A result of the row beside one with columns: the same points, then nothing.
        size_t common = std::min(order->size(), found->order.size());
        bool same = std::equal(order->begin(), order->begin() + static_cast<ptrdiff_t>(common),
                               found->order.begin());
        bool prefix =
            order->size() == found->order.size() || common == 0 || common == producer.points.size();
        if (!same || !prefix) return std::nullopt;
        if (order->size() > found->order.size() || found->reads.empty())
          found->order = *order, found->source = r;
        found->reads[id] = r;
      }
    }
    if (found && found->order.size() != map.points.size()) return std::nullopt;
    return found;
  }

  bool put_on(size_t p, size_t n, size_t slot) {
    auto found = match(p, n);
    if (!found) return false;
    Comprehension &producer = *comprehension(p), &map = *comprehension(n);
    size_t source = found->source;
    bool reordered = !std::is_sorted(found->order.begin(), found->order.end());
    if (reordered &&
        !(ends_in_one_thread(producer) && producer.results.size() == 1 &&
          producer.results[0].extra.empty() && only_reader(producer.results[0].tensor, n)))
      return false;
    uint32_t terms = 0;
    for (const Result& result : map.results) terms += cost_of(s_, result.value).terms;
    for (const Result& result : producer.results) terms += cost_of(s_, result.value).terms;
    if (terms > max_body_terms) return false;

    auto axes = axes_of(producer, producer.results[source]);
    std::unordered_map<IndexId, ExprId> names;
    for (size_t k = 0; k < axes.size(); ++k)
      names[map.points[found->order[k]].index] = s_.index(axes[k].index);
    auto values = moved_values(producer, map, *found, names);
    std::vector<Axis> extra = producer.results[source].extra;
    if (reordered) {
      std::vector<Axis> points = producer.points;
      for (size_t k = 0; k < points.size(); ++k) points[found->order[k]] = producer.points[k];
      producer.points = std::move(points);
    }
    for (size_t r = 0; r < map.results.size(); ++r) {
      const std::string& taken = graph_[map.results[r].tensor].name;
      const std::string& from = graph_[producer.results[source].tensor].name;
      nodes_[p].derivation.push_back(
          taken == from
              ? fmt::format("attach_epilogues: `{}` is stored where it is computed", taken)
              : fmt::format("attach_epilogues: `{}` is computed where `{}` is", taken, from));
      producer.results.push_back({map.results[r].tensor, values[r], extra});
    }
    merged(p, n, slot);
    return true;
  }

  bool only_reader(TensorId id, size_t n) {
    if (kept_.contains(id) || graph_[id].kind == TensorKind::output) return false;
    return std::all_of(readers_[id].begin(), readers_[id].end(),
                       [&](size_t reader) { return home(reader) == n; });
  }

  /// The map's values over the producer's axes and states.
  std::vector<ExprId> moved_values(const Comprehension& producer, const Comprehension& map,
                                   const Match& found, std::unordered_map<IndexId, ExprId> names) {
    uint32_t fresh = fresh_index(s_, producer).value;
    std::unordered_map<IndexId, IndexId> folds;
    for (ExprId id : reachable(s_, roots(map)))
      for (IndexId index : s_[id].bound)
        if (folds.try_emplace(index, IndexId(fresh)).second) ++fresh;
    for (auto [from, to] : folds) names[from] = s_.index(to);
    Prover prover = prover_of(graph_, producer);
    std::vector<ExprId> values;
    for (const Result& result : map.results)
      values.push_back(rewrite_from(s_, result.value, [&](ExprId original, ExprId rebuilt) {
        if (auto at = found.reads.find(original); at != found.reads.end()) {
          const Result& read = producer.results[at->second];
          return renamed_extra(producer, found, at->second,
                               stored_value(graph_, read.tensor, read.value, prover));
        }
        Expr e = s_[rebuilt];
        if (e.op == Op::index) {
          auto name = names.find(IndexId(e.ref));
          return name == names.end() ? rebuilt : name->second;
        }
        if (e.op != Op::fold) return rebuilt;
        for (IndexId& index : e.bound) index = folds.at(index);
        return s_.fold(MonoidId(e.ref), e.scalar, e.bound, std::span(e.operands).subspan(2),
                       e.operands[1], e.operands[0]);
      }));
    return values;
  }

  /// Two results may name their own axes differently: the first that is read gives the names.
  ExprId renamed_extra(const Comprehension& producer, const Match& found, size_t result,
                       ExprId value) {
    const auto& wanted = producer.results[found.source].extra;
    const auto& given = producer.results[result].extra;
    std::unordered_map<IndexId, ExprId> names;
    for (size_t k = 0; k < given.size(); ++k)
      if (given[k].index != wanted[k].index) names[given[k].index] = s_.index(wanted[k].index);
    return substitute(s_, value, names);
  }

  /// Node n became part of node p; the result lives at `slot`, which is one of them.
  void merged(size_t p, size_t n, size_t slot) {
    size_t other = slot == p ? n : p;
    if (slot == n) std::swap(nodes_[p], nodes_[n]);
    home_[other] = slot;
    changed_.insert(slot);
    Comprehension& c = *comprehension(slot);
    std::erase_if(c.results, [&](const Result& result) {
      return only_reader(result.tensor, slot) && !readers_[result.tensor].empty();
    });
    reads_[slot] = reads_of(graph_, nodes_[slot]);
  }

  // ---- maps over the same points

  /// Puts a map beside an earlier one that reads the same elements.
  void join(size_t n) {
    Comprehension& map = *comprehension(n);
    std::vector<uint32_t> key;
    for (const Axis& axis : map.points) key.push_back(axis.extent.value);
    std::vector<ExprId> elements;
    uint32_t terms = 0;
    for (const Result& result : map.results) terms += cost_of(s_, result.value).terms;
    for (ExprId id : reachable(s_, roots(map)))
      if (s_[id].op == Op::read && s_[id].free.size() == map.points.size() && !map.points.empty())
        elements.push_back(id);
    auto plain = [](const Result& r) { return r.extra.empty(); };
    if (!std::all_of(map.results.begin(), map.results.end(), plain)) return;
    auto [at, fresh] = groups_.try_emplace(key, Group{n, elements, terms});
    if (fresh) return;
    Group& group = at->second;
    bool shares = std::any_of(elements.begin(), elements.end(), [&](ExprId id) {
      return std::find(group.elements.begin(), group.elements.end(), id) != group.elements.end();
    });
    bool before = std::all_of(reads_[n].begin(), reads_[n].end(), [&](TensorId id) {
      auto producer = producer_.find(id);
      return producer == producer_.end() || home(producer->second) < group.node;
    });
    if (!shares || !before || group.terms + terms > max_body_terms) {
      group = Group{n, std::move(elements), terms};
      return;
    }
    Comprehension& first = *comprehension(group.node);
    for (Result& result : map.results) {
      nodes_[group.node].derivation.push_back(
          fmt::format("attach_epilogues: `{}` reads what `{}` reads", graph_[result.tensor].name,
                      graph_[first.results[0].tensor].name));
      first.results.push_back(std::move(result));
    }
    group.terms += terms;
    group.elements.insert(group.elements.end(), elements.begin(), elements.end());
    home_[n] = group.node;
    changed_.insert(group.node);
    reads_[group.node] = reads_of(graph_, nodes_[group.node]);
  }

  struct Group {
    size_t node;
    std::vector<ExprId> elements; ///< reads that use every point
    uint32_t terms;
  };
  struct KeyHash {
    size_t operator()(const std::vector<uint32_t>& key) const {
      size_t seed = key.size();
      for (uint32_t word : key) hash_combine(seed, word);
      return seed;
    }
  };

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  std::vector<size_t> home_; ///< a node that was merged points to where it went
  std::vector<std::vector<TensorId>> reads_;
  std::unordered_map<TensorId, std::vector<size_t>> readers_;
  std::unordered_map<TensorId, size_t> producer_;
  std::unordered_set<size_t> changed_;
  std::unordered_map<std::vector<uint32_t>, Group, KeyHash> groups_;
};

} // namespace

Graph attach_epilogues(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    Attachment(graph, nodes, kept).run();
  });
  return compact(std::move(graph));
}

} // namespace tang::rewrite
