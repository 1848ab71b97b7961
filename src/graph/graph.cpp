#include "graph/graph.h"
#include "base/check.h"
#include <algorithm>
#include <set>
#include <unordered_set>

namespace tang::graph {

TensorId Graph::add(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return TensorId(static_cast<uint32_t>(tensors.size() - 1));
}

namespace {

bool same_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Axis& x, const Axis& y) {
    return x.index == y.index && x.extent == y.extent;
  });
}

bool same_monoid(const Monoid& a, const Monoid& b) {
  auto same_field = [](const MonoidField& x, const MonoidField& y) {
    return x.name == y.name && x.scalar == y.scalar && x.identity == y.identity &&
           same_axes(x.axes, y.axes);
  };
  return a.form == b.form && a.name == b.name && a.k == b.k && a.combine == b.combine &&
         a.visible == b.visible && a.commutative == b.commutative &&
         std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(), same_field);
}

} // namespace

MonoidId Graph::add(Monoid monoid) {
  for (uint32_t i = 0; i < monoids.size(); ++i)
    if (same_monoid(monoids[i], monoid)) return MonoidId(i);
  monoids.push_back(std::move(monoid));
  return MonoidId(static_cast<uint32_t>(monoids.size() - 1));
}

namespace {

/// Whether state b beats the earlier or other state a, both (value, index) with index -1 for
/// "none": NaN first, then the better value, then the lower index. A total order, so the combine
/// commutes.
ExprId beats(ExprStore& s, Op better, Scalar scalar) {
  ExprId av = s.state(Op::lhs, 0, scalar), ai = s.state(Op::lhs, 1, Scalar::integer);
  ExprId bv = s.state(Op::rhs, 0, scalar), bi = s.state(Op::rhs, 1, Scalar::integer);
  ExprId zero = s.integer(0);
  ExprId a_nan = s.binary(Op::ne, av, av), b_nan = s.binary(Op::ne, bv, bv);
  ExprId b_better = better == Op::max ? s.binary(Op::lt, av, bv) : s.binary(Op::lt, bv, av);
  ExprId tie = s.binary(Op::logical_or, s.binary(Op::eq, av, bv), s.logical_and(a_nan, b_nan));
  ExprId lower = s.logical_and(tie, s.binary(Op::lt, bi, ai));
  ExprId wins = s.binary(
      Op::logical_or, lower,
      s.logical_and(s.unary(Op::logical_not, a_nan), s.binary(Op::logical_or, b_nan, b_better)));
  return s.logical_and(s.binary(Op::le, zero, bi),
                       s.binary(Op::logical_or, s.binary(Op::lt, ai, zero), wins));
}

} // namespace

std::optional<MonoidId> Graph::builtin(std::string_view name, Scalar scalar, int64_t k) {
  ExprStore& s = exprs;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    greatest = std::numeric_limits<int64_t>::max();
  Monoid m;
  m.name = name, m.builtin = true, m.commutative = true, m.visible = {0};
  auto one_field = [&](Op op, ExprId identity) {
    m.fields = {{"", scalar, {}, identity}};
    m.combine = {s.binary(op, s.state(Op::lhs, 0, scalar), s.state(Op::rhs, 0, scalar))};
  };
  bool real = scalar == Scalar::real;
  if (name == "any" || name == "all") {
    if (scalar != Scalar::boolean) return std::nullopt;
    one_field(name == "any" ? Op::logical_or : Op::logical_and, s.boolean(name == "all"));
    return add(std::move(m));
  }
  if (scalar == Scalar::boolean) return std::nullopt;
  if (name == "sum")
    one_field(Op::add, real ? s.real(0) : s.integer(0));
  else if (name == "prod")
    one_field(Op::mul, real ? s.real(1) : s.integer(1));
  else if (name == "max")
    one_field(Op::max, real ? s.real(-inf) : s.integer(least));
  else if (name == "min")
    one_field(Op::min, real ? s.real(inf) : s.integer(greatest));
  else if (name == "argmax" || name == "argmin") {
    bool max = name == "argmax";
    ExprId worst = real ? s.real(max ? -inf : inf) : s.integer(max ? least : greatest);
    m.fields = {{"value", scalar, {}, worst}, {"index", Scalar::integer, {}, s.integer(-1)}};
    ExprId b_wins = beats(s, max ? Op::max : Op::min, scalar);
    m.combine = {s.select(b_wins, s.state(Op::rhs, 0, scalar), s.state(Op::lhs, 0, scalar)),
                 s.select(b_wins, s.state(Op::rhs, 1, Scalar::integer),
                          s.state(Op::lhs, 1, Scalar::integer))};
    m.visible = {1};
  } else if (name == "topk") {
    if (k < 0) return std::nullopt;
    Axis position{IndexId(0), s.integer(k), "n", {}, {}};
    m.form = Monoid::Form::topk, m.k = k;
    m.fields = {{"value", scalar, {position}, real ? s.real(-inf) : s.integer(least)},
                {"index", Scalar::integer, {position}, s.integer(-1)}};
    m.visible = {0, 1};
  } else
    return std::nullopt;
  return add(std::move(m));
}

std::vector<ExprId> roots(const Comprehension& node) {
  std::vector<ExprId> all;
  auto add = [&](ExprId id) {
    if (id) all.push_back(id);
  };
  auto add_axes = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) add(axis.extent), add(axis.lo), add(axis.hi);
  };
  add_axes(node.points);
  if (node.reduction) {
    add_axes(node.reduction->axes);
    for (const auto& axes : node.reduction->field_axes) add_axes(axes);
    add(node.reduction->filter);
    for (ExprId id : node.reduction->body) add(id);
  }
  for (const Result& result : node.results) add_axes(result.extra), add(result.value);
  return all;
}

IndexId fresh_index(const ExprStore& store, const Comprehension& node) {
  uint32_t next = 0;
  auto above = [&](IndexId id) { next = std::max(next, id.value + 1); };
  auto axes_above = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) above(axis.index);
  };
  axes_above(node.points);
  if (node.reduction) {
    axes_above(node.reduction->axes);
    for (const auto& axes : node.reduction->field_axes) axes_above(axes);
  }
  for (const Result& result : node.results) axes_above(result.extra);
  auto all = roots(node);
  for (ExprId id : reachable(store, all)) {
    if (store[id].op == Op::index) above(IndexId(store[id].ref));
    for (IndexId bound : store[id].bound) above(bound);
  }
  return IndexId(next);
}

namespace {

/// The indices that folds bind, in the order of the text: ids tell when a term was made, and equal
/// nodes may have been made in another order.
std::vector<IndexId> bound_by_folds(const ExprStore& store, std::vector<ExprId> open) {
  auto all = reachable(store, open);
  std::vector<IndexId> bound;
  if (std::all_of(all.begin(), all.end(), [&](ExprId id) { return store[id].bound.empty(); }))
    return bound;
  std::reverse(open.begin(), open.end());
  std::unordered_set<ExprId> seen;
  while (!open.empty()) {
    ExprId id = open.back();
    open.pop_back();
    if (!id || !seen.insert(id).second) continue;
    const Expr& e = store[id];
    bound.insert(bound.end(), e.bound.begin(), e.bound.end());
    open.insert(open.end(), e.operands.rbegin(), e.operands.rend());
  }
  return bound;
}

/// Applies `f` to every term of the node but extents.
void map_terms(Comprehension& node, const std::function<ExprId(ExprId)>& f) {
  auto of = [&](ExprId& id) {
    if (id) id = f(id);
  };
  auto of_axes = [&](std::vector<Axis>& axes) {
    for (Axis& axis : axes) of(axis.lo), of(axis.hi);
  };
  of_axes(node.points);
  if (node.reduction) {
    of_axes(node.reduction->axes);
    for (auto& axes : node.reduction->field_axes) of_axes(axes);
    of(node.reduction->filter);
    for (ExprId& id : node.reduction->body) of(id);
  }
  for (Result& result : node.results) of_axes(result.extra), of(result.value);
}

/// Whether two terms are one but for the names of what folds in them bind. No term is made: the
/// order in which terms are numbered stays as it is.
bool same_but_names(const ExprStore& store, ExprId a, ExprId b) {
  std::unordered_map<IndexId, IndexId> names; // of what folds of `a` bind, in `b`
  std::set<std::pair<ExprId, ExprId>> seen;
  std::vector<std::pair<ExprId, ExprId>> open{{a, b}};
  while (!open.empty()) {
    auto pair = open.back();
    open.pop_back();
    if (!seen.insert(pair).second) continue;
    const Expr &x = store[pair.first], &y = store[pair.second];
    if (x.op == Op::index && y.op == Op::index) {
      auto at = names.find(IndexId(x.ref));
      if ((at == names.end() ? IndexId(x.ref) : at->second) != IndexId(y.ref)) return false;
      continue;
    }
    if (x.operands.size() != y.operands.size() || x.bound.size() != y.bound.size()) return false;
    Expr like = y;
    like.operands = x.operands, like.bound = x.bound;
    if (!(like == x)) return false;
    for (size_t k = 0; k < x.bound.size(); ++k) names[x.bound[k]] = y.bound[k];
    for (size_t k = 0; k < x.operands.size(); ++k) open.push_back({x.operands[k], y.operands[k]});
  }
  return true;
}

/// Of folds that are the same but for names: the first for each later one.
std::unordered_map<ExprId, ExprId> repeated_folds(const ExprStore& store,
                                                  const Comprehension& node) {
  std::vector<ExprId> folds;
  std::unordered_map<ExprId, ExprId> first;
  for (ExprId id : reachable(store, roots(node))) {
    if (store[id].op != Op::fold) continue;
    auto same = std::find_if(folds.begin(), folds.end(),
                             [&](ExprId other) { return same_but_names(store, other, id); });
    if (same == folds.end())
      folds.push_back(id);
    else
      first[id] = *same;
  }
  return first;
}

/// Folds that differ in nothing but the names of what they bind become the first of them.
void unite_folds(ExprStore& store, Comprehension& node) {
  // What stands around a fold that was replaced is another term: it may be a repeated one now.
  for (auto first = repeated_folds(store, node); !first.empty();
       first = repeated_folds(store, node))
    map_terms(node, [&](ExprId root) {
      return rewrite(store, root, [&](ExprId id) {
        auto at = first.find(id);
        return at == first.end() ? id : at->second;
      });
    });
}

} // namespace

Comprehension canonicalize(ExprStore& store, Comprehension node) {
  unite_folds(store, node);
  std::unordered_map<IndexId, IndexId> number;
  auto name = [&](IndexId id) {
    number.try_emplace(id, IndexId(static_cast<uint32_t>(number.size())));
  };
  auto name_axes = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) name(axis.index);
  };
  name_axes(node.points);
  if (node.reduction) {
    name_axes(node.reduction->axes);
    for (const auto& axes : node.reduction->field_axes) name_axes(axes);
  }
  for (const Result& result : node.results) name_axes(result.extra);
  for (IndexId bound : bound_by_folds(store, roots(node))) name(bound);
  bool identity =
      std::all_of(number.begin(), number.end(), [](const auto& p) { return p.first == p.second; });
  if (identity) return node;

  auto renumber = [&](ExprId root) {
    return rewrite(store, root, [&](ExprId id) {
      const Expr& e = store[id];
      if (e.op == Op::index) {
        auto at = number.find(IndexId(e.ref));
        return at == number.end() ? id : store.index(at->second);
      }
      if (e.op != Op::fold) return id;
      Expr copy = e;
      for (IndexId& bound : copy.bound) bound = number.at(bound);
      std::vector<ExprId> extents(copy.operands.begin() + 2, copy.operands.end());
      return store.fold(MonoidId(copy.ref), copy.scalar, copy.bound, extents, copy.operands[1],
                        copy.operands[0]);
    });
  };
  auto renumber_axes = [&](std::vector<Axis>& axes) {
    for (Axis& axis : axes) axis.index = number.at(axis.index);
  };
  renumber_axes(node.points);
  if (node.reduction) {
    renumber_axes(node.reduction->axes);
    for (auto& axes : node.reduction->field_axes) renumber_axes(axes);
  }
  for (Result& result : node.results) renumber_axes(result.extra);
  map_terms(node, renumber);
  return node;
}

namespace {

void collect_reads(const Graph& graph, const Node& node, std::set<TensorId>& found) {
  std::visit(Overload{[&](const Comprehension& c) {
                        auto all = roots(c);
                        for (ExprId id : reachable(graph.exprs, all))
                          if (graph.exprs[id].op == Op::read)
                            found.insert(TensorId(graph.exprs[id].ref));
                      },
                      [&](const Recur& r) {
                        for (const Carry& carry : r.carries)
                          found.insert(carry.init), found.insert(carry.next);
                        for (const Collect& collect : r.collects) found.insert(collect.value);
                        // Nesting of recurrences is bounded by the parser's nesting limit.
                        for (const Node& inner : r.body) collect_reads(graph, inner, found);
                      },
                      [&](const Gradient& g) {
                        found.insert(g.of);
                        if (g.cotangent) found.insert(g.cotangent);
                        for (const GradientPair& pair : g.pairs) found.insert(pair.wrt);
                      }},
             node.definition);
}

} // namespace

std::vector<TensorId> reads_of(const Graph& graph, const Node& node) {
  std::set<TensorId> found;
  collect_reads(graph, node, found);
  return {found.begin(), found.end()};
}

std::vector<TensorId> defines_of(const Node& node) {
  std::vector<TensorId> defined;
  std::visit(Overload{[&](const Comprehension& c) {
                        for (const Result& result : c.results) defined.push_back(result.tensor);
                      },
                      [&](const Recur& r) {
                        for (const Carry& carry : r.carries) defined.push_back(carry.last);
                        for (const Collect& collect : r.collects)
                          defined.push_back(collect.stacked);
                      },
                      [&](const Gradient& g) {
                        for (const GradientPair& pair : g.pairs) defined.push_back(pair.result);
                      }},
             node.definition);
  return defined;
}

void reject(const Gradient& gradient) {
  throw InternalError(
      fmt::format("the gradient of tensor {} was not differentiated", gradient.of.value));
}

} // namespace tang::graph
