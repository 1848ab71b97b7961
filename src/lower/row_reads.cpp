#include "lower/row_reads.h"
#include "lower/needs.h"
#include "lower/vectors.h"

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Expr;
using graph::ExprId;
using graph::Op;
using graph::TensorId;

bool RowMembers::defines(TensorId tensor) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Comprehension* c) {
    return std::any_of(c->results.begin(), c->results.end(),
                       [&](const graph::Result& r) { return r.tensor == tensor; });
  });
}

std::vector<size_t> RowMembers::readers(ExprId term) const {
  std::vector<size_t> found;
  for (size_t n = 0; n < nodes.size(); ++n) {
    auto all = graph::roots(*nodes[n]);
    auto terms = graph::reachable(graph.exprs, all);
    if (std::binary_search(terms.begin(), terms.end(), term)) found.push_back(n);
  }
  return found;
}

std::vector<ExprId> reads_along(const RowMembers& members,
                                std::span<const Comprehension* const> nodes,
                                const graph::Prover& prover, int width) {
  const graph::Graph& g = members.graph;
  std::vector<ExprId> all, found;
  for (const Comprehension* c : nodes) {
    auto roots = graph::roots(*c);
    all.insert(all.end(), roots.begin(), roots.end());
  }
  for (ExprId id : graph::reachable(g.exprs, all)) {
    const Expr& e = g.exprs[id];
    if (e.op != Op::read || e.guarded || e.operands.empty() || members.defines(TensorId(e.ref)))
      continue;
    const graph::Tensor& t = g[TensorId(e.ref)];
    if (t.shape.empty() || t.shape.back() != members.inner.extent ||
        !moves_as_vector(g, e, members.inner, width))
      continue;
    bool inside = true;
    for (size_t i = 0; inside && i + 1 < t.shape.size(); ++i) {
      auto place = graph::polynomial_of(g.exprs, e.operands[i]);
      inside = !g.exprs[e.operands[i]].has_read && place && prover.nonnegative(*place) &&
               prover.less(e.operands[i], t.shape[i]);
    }
    if (inside) found.push_back(id);
  }
  order_by_appearance(g.exprs, all, found);
  return found;
}

bool needed_early(const RowMembers& members, ExprId read) {
  auto readers = members.readers(read);
  return !readers.empty() && (readers[0] == 0 || readers.size() > 1);
}

namespace {

/// Whether the inner index is within bounds wherever a member needs the term.
bool needed_within(const RowMembers& members, const Comprehension& c, ExprId term,
                   const Axis& bounds) {
  graph::Prover here(members.graph);
  here.add_axes(members.rows);
  here.add_axis(c.reduction ? axis_along(c) : members.inner);
  auto all = graph::roots(c);
  Needs needs(members.graph.exprs, all, c.reduction ? c.reduction->filter : ExprId{});
  const graph::ExprStore& store = members.graph.exprs;
  auto terms = graph::reachable(store, {&term, 1});
  ExprId j = *std::find_if(terms.begin(), terms.end(), [&](ExprId id) {
    return store[id].op == Op::index && store[id].ref == members.inner.index.value;
  });
  const auto& paths = needs.paths[term];
  return std::all_of(paths.begin(), paths.end(), [&](const Path& path) {
    graph::Prover there = here;
    for (const auto& [condition, kind] : path)
      if (kind != Literal::Kind::needed) there.assume(condition, kind == Literal::Kind::holds);
    return (!bounds.lo || there.less_equal(bounds.lo, j)) &&
           (!bounds.hi || there.less(j, bounds.hi));
  });
}

} // namespace

bool needed_only_in(const RowMembers& members, ExprId term, const Axis& bounds) {
  auto readers = members.readers(term);
  return std::all_of(readers.begin(), readers.end(), [&](size_t n) {
    return needed_within(members, *members.nodes[n], term, bounds);
  });
}

Axis needed_in(const RowMembers& members, ExprId read) {
  for (size_t n : members.readers(read)) {
    const Comprehension& c = *members.nodes[n];
    if (!c.reduction || (!axis_along(c).lo && !axis_along(c).hi)) continue;
    if (needed_only_in(members, read, axis_along(c))) return axis_along(c);
  }
  return members.inner;
}

} // namespace tang::lower
