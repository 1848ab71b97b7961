#include "rewrite/differentiate/block.h"
#include "base/check.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

void Block::visit(Node& node) {
  std::visit(Overload{[&](Comprehension& c) { visit(c); }, [&](Recur& r) { visit(r); },
                      [](Gradient& g) { reject(g); }},
             node.definition);
}

/// Whether a derivative of the node may be infinite or NaN where the adjoint is 0. A sum of
/// products is left as it stands: a condition on data there would cost more than the sum.
bool Block::may_leak(const Comprehension& c) const {
  auto all = roots(c);
  auto terms = reachable(s_, all);
  return std::any_of(terms.begin(), terms.end(), [&](ExprId id) {
    const Expr& e = s_[id];
    switch (e.op) {
    case Op::div: return !s_.is_literal(e.operands[1]);
    case Op::mul:
      return !c.reduction && e.scalar == Scalar::real && !s_.is_literal(e.operands[0]) &&
             !s_.is_literal(e.operands[1]);
    case Op::mod:
    case Op::floordiv: return e.scalar == Scalar::real;
    case Op::pow:
    case Op::atan2:
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::sin:
    case Op::cos:
    case Op::tan: return true;
    default: return false;
    }
  });
}

/// The value of a result and its adjoint over the node's indices; empty when nothing reads it.
std::optional<Block::Root> Block::root_of(const Comprehension& c, const Result& result) {
  if (!is_active(result.tensor)) return std::nullopt;
  auto adjoint = adjoints_.finish(result.tensor);
  if (!adjoint) return std::nullopt;
  ExprId condition = adjoint->where;
  if (may_leak(c)) condition = both(s_, condition, adjoints_.reached(result.tensor));
  std::unordered_map<IndexId, ExprId> at;
  uint32_t place = 0;
  for (const auto* axes : {&c.points, &result.extra})
    for (const Axis& axis : *axes) at[IndexId(place++)] = s_.index(axis.index);
  return Root{result.value, substitute(s_, condition, at), substitute(s_, adjoint->value, at)};
}

/// What each active tensor that the roots read receives.
std::vector<Leaf> Block::leaves_of(const std::vector<Root>& roots, Paths& paths, IndexId fresh,
                                   const TensorSet& constants) {
  auto wanted = [&](ExprId id) {
    if (s_[id].op != Op::read) return false;
    TensorId tensor(s_[id].ref);
    return is_active(tensor) && !constants.contains(tensor);
  };
  Sweep sweep(graph_, paths, wanted, fresh);
  for (const Root& root : roots)
    sweep.seed(root.term, root.where ? paths.enter({}, root.where, true) : PathId(), root.adjoint);
  return sweep.run();
}

void Block::propagate(const Space& space, const std::vector<Root>& roots, TensorId reader,
                      IndexId fresh, const TensorSet& constants) {
  Paths paths(s_);
  PartMaker maker(graph_, paths, space);
  for (const Leaf& leaf : leaves_of(roots, paths, fresh, constants))
    if (auto part = maker.part(leaf))
      adjoints_.add(TensorId(s_[leaf.term].ref), std::move(*part), graph_[reader].name);
}

/// The same for a map. What several of its reads receive alike, and one of them as a sum, is stored
/// once: `y = x + b` gives x and b the same, b summed over what it lacks.
void Block::propagate_map(const std::vector<Axis>& points, const std::vector<Root>& roots,
                          TensorId reader, IndexId fresh) {
  Paths paths(s_);
  PartMaker maker(graph_, paths, {points, {}, {}});
  std::vector<Leaf> leaves = leaves_of(roots, paths, fresh, {});
  std::vector<std::optional<Part>> parts;
  std::map<std::pair<ExprId, PathId>, std::vector<size_t>> alike;
  for (const Leaf& leaf : leaves) {
    alike[{leaf.adjoint, leaf.path}].push_back(parts.size());
    parts.push_back(maker.part(leaf));
  }
  for (const auto& [what, members] : alike) {
    auto [adjoint, path] = what;
    bool summed = std::any_of(members.begin(), members.end(),
                              [&](size_t n) { return parts[n] && !parts[n]->sum.empty(); });
    if (members.size() < 2 || !summed) continue;
    auto stored = stored_adjoint(points, adjoint, paths, path, reader);
    if (!stored) continue;
    for (size_t n : members) parts[n] = maker.part({leaves[n].term, stored->adjoint, stored->path});
  }
  for (size_t n = 0; n < leaves.size(); ++n)
    if (parts[n])
      adjoints_.add(TensorId(s_[leaves[n].term].ref), std::move(*parts[n]), graph_[reader].name);
}

/// A node that holds an adjoint at every point, 0 where its path does not lead; conditions of
/// indices stay on the path. Empty where nothing is saved.
std::optional<Leaf> Block::stored_adjoint(const std::vector<Axis>& points, ExprId adjoint,
                                          Paths& paths, PathId path, TensorId reader) {
  bool cheap = s_[adjoint].operands.empty() || s_[adjoint].op == Op::read;
  ExprId indices, data;
  std::vector<PathId> steps;
  for (PathId at = path; at; at = paths[at].before) steps.push_back(at);
  PathId kept;
  for (size_t n = steps.size(); n-- > 0;) {
    const PathStep step = paths[steps[n]];
    if (step.fold) return std::nullopt;
    ExprId condition = as_term(s_, step.condition, step.taken);
    ExprId& side = s_[condition].has_read ? data : indices;
    side = both(s_, side, condition);
    if (!s_[condition].has_read) kept = paths.enter(kept, step.condition, step.taken);
  }
  if (cheap && !data) return std::nullopt;
  Comprehension c;
  c.points = points;
  ExprId value = where(s_, data, adjoint, s_.real(0));
  c.results.push_back({{}, where(s_, indices, value, s_.real(0)), {}});
  const std::string& name = graph_[reader].name;
  TensorId id = maker_.add(made_, std::move(c), "d" + name + "_terms",
                           fmt::format("differentiate: what the terms of `{}` receive", name));
  return Leaf{{}, read_at(graph_, id, indices_of(s_, points)), kept};
}

void Block::visit(Comprehension& c) {
  if (!c.reduction) return visit_map(c);
  split_epilogues(c);
  visit_reduction(c);
}

void Block::visit_map(const Comprehension& c) {
  // Results without indices of their own share one sweep.
  std::vector<Root> shared;
  IndexId fresh = fresh_index(s_, c);
  for (const Result& result : c.results) {
    auto root = root_of(c, result);
    if (!root) continue;
    if (result.extra.empty()) {
      shared.push_back(*root);
      continue;
    }
    std::vector<Axis> points = c.points;
    points.insert(points.end(), result.extra.begin(), result.extra.end());
    propagate_map(points, {*root}, result.tensor, fresh);
  }
  if (!shared.empty()) propagate_map(c.points, shared, c.results[0].tensor, fresh);
}

/// A result that is one state field as it stands.
bool Block::is_plain(const Result& result) const {
  const Expr& e = s_[result.value];
  if (e.op != Op::acc || e.operands.size() != result.extra.size()) return false;
  for (size_t k = 0; k < e.operands.size(); ++k) {
    const Expr& place = s_[e.operands[k]];
    if (place.op != Op::index || IndexId(place.ref) != result.extra[k].index) return false;
  }
  return true;
}

/// The tensor that holds a state field; a further result of the node where there is none.
TensorId Block::state_tensor(Comprehension& c, uint32_t field) {
  for (const Result& result : c.results)
    if (is_plain(result) && s_[result.value].ref == field) return result.tensor;
  const MonoidField f = graph_[c.reduction->monoid].fields[field];
  Result result;
  IndexId fresh = fresh_index(s_, c);
  for (Axis axis : f.axes) {
    axis.index = fresh;
    fresh = IndexId(fresh.value + 1);
    result.extra.push_back(std::move(axis));
  }
  result.value = s_.state(Op::acc, field, f.scalar, indices_of(s_, result.extra));
  std::vector<Axis> axes = c.points;
  axes.insert(axes.end(), result.extra.begin(), result.extra.end());
  const Tensor first = graph_[c.results[0].tensor];
  bool wide = std::any_of(c.results.begin(), c.results.end(),
                          [&](const Result& r) { return graph_[r.tensor].type == ElemType::f64; });
  std::string name = first.name + "_" + (f.name.empty() ? "state" : f.name);
  result.tensor = maker_.tensor(name, axes, f.scalar, wide);
  c.results.push_back(result);
  if (f.scalar == Scalar::real) active_.insert(result.tensor);
  return result.tensor;
}

/// Values computed from states become maps that read the states, and are differentiated as such.
void Block::split_epilogues(Comprehension& c) {
  for (size_t r = 0; r < c.results.size(); ++r) {
    if (is_plain(c.results[r])) continue;
    auto root = root_of(c, c.results[r]);
    if (!root) continue;
    root->term = graph::rewrite(s_, root->term, [&](ExprId id) {
      const Expr e = s_[id];
      if (e.op != Op::acc) return id;
      std::vector<ExprId> places = indices_of(s_, c.points);
      places.insert(places.end(), e.operands.begin(), e.operands.end());
      return read_at(graph_, state_tensor(c, e.ref), places);
    });
    std::vector<Axis> points = c.points;
    const Result& result = c.results[r];
    points.insert(points.end(), result.extra.begin(), result.extra.end());
    propagate_map(points, {*root}, result.tensor, fresh_index(s_, c));
  }
}

} // namespace tang::rewrite
