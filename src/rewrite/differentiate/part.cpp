#include "rewrite/differentiate/part.h"
#include "graph/reads.h"
#include "rewrite/simplify_index.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

/// The space of a leaf: the folds on its path are entered. Conditions of the path, outermost first.
Space PartMaker::space_on(PathId path, std::vector<ExprId>& conditions) {
  std::vector<PathId> steps;
  for (PathId at = path; at; at = paths_[at].before) steps.push_back(at);
  Space space = space_;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const PathStep& p = paths_[*step];
    for (size_t k = 0; k < p.bound.size(); ++k)
      space.axes.push_back({p.bound[k], p.extents[k], "r", {}, {}});
    conditions.push_back(as_term(s_, p.condition, p.taken));
  }
  return space;
}

PartMaker::View& PartMaker::view_of(const Leaf& leaf, const Space& space) {
  const Expr read = s_[leaf.term];
  const std::vector<ExprId> shape = graph_[TensorId(read.ref)].shape;
  std::vector<uint32_t> key{static_cast<uint32_t>(space.axes.size())};
  for (ExprId place : places_of(read)) key.push_back(place.value);
  for (ExprId extent : shape) key.push_back(extent.value);
  for (const Axis& axis : space.axes) key.push_back(axis.index.value);
  auto [at, inserted] = views_.try_emplace(key);
  View& view = at->second;
  if (!inserted) return view;
  view.solution = solve(graph_, space, places_of(read), shape);
  for (uint32_t k = 0; k < shape.size(); ++k) view.at.push_back({IndexId(k), shape[k], "", {}, {}});
  view.fresh = IndexId(static_cast<uint32_t>(shape.size() + view.solution.rest.size()));
  view.rename = std::make_unique<Renaming>(s_, view.solution.values, view.fresh);
  for (const auto& [index, value] : view.solution.values) view.divides |= s_[value].op != Op::index;
  return view;
}

/// A term over the space as one over places and the rest.
ExprId PartMaker::settled(View& view, ExprId term) {
  return (*view.rename)(term);
}

std::optional<Part> PartMaker::part(const Leaf& leaf) {
  std::vector<ExprId> given;
  Space space = space_on(leaf.path, given);
  View& view = view_of(leaf, space);
  Prover prover(graph_);
  size_t mark = prover.mark();
  prover.add_axes(view.at), prover.add_axes(view.solution.rest);
  prover.rewind(mark);
  Part part;
  std::vector<ExprId> seen;
  bool possible = true;
  auto add = [&](ExprId whole, ExprId& data) {
    for (auto [id, truth] : conjuncts(s_, whole, true)) {
      ExprId term = as_term(s_, id, truth);
      if (std::find(seen.begin(), seen.end(), term) != seen.end()) continue;
      seen.push_back(term);
      auto known = prover.decide(term);
      possible &= known != false;
      if (known) continue;
      if (s_[term].has_read) {
        data = both(s_, data, term);
        continue;
      }
      prover.assume(term);
      part.where = both(s_, part.where, term);
    }
  };
  for (ExprId condition : view.solution.conditions) add(condition, part.gate);
  // What a reduction chose is a point that takes part.
  ExprId known;
  if (space.condition) add(settled(view, space.condition), space.choice ? known : part.branch);
  for (ExprId condition : given) add(settled(view, condition), part.branch);
  if (!possible) return std::nullopt;

  part.value = settled(view, leaf.adjoint);
  if (view.divides) {
    // Places that the solution made out of quotients.
    for (ExprId* term : {&part.value, &part.gate, &part.branch})
      if (*term)
        *term = graph::rewrite(s_, *term, [&](ExprId id) {
          if (s_[id].op != Op::read) return id;
          Expr e = s_[id];
          for (size_t k = 0; k < places_of(e).size(); ++k)
            if (has_division(s_, e.operands[k]))
              e.operands[k] = simplify_index(s_, prover, e.operands[k]);
          return s_.with_operands(id, e.operands);
        });
  }
  part.sum = view.solution.rest;
  part.names.resize(view.at.size());
  for (const Axis& axis : space.axes) {
    const Expr& e = s_[view.solution.values.at(axis.index)];
    if (e.op == Op::index && e.ref < part.names.size()) part.names[e.ref] = axis.name;
  }
  return part;
}

} // namespace tang::rewrite
