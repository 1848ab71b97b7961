#include "rewrite/siblings.h"
#include "base/check.h"
#include "rewrite/blocks.h"
#include "rewrite/columns.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

/// The state of the second behind that of the first.
ExprId shifted(ExprStore& store, ExprId term, uint32_t by) {
  return graph::rewrite(store, term, [&](ExprId id) {
    const Expr e = store[id];
    bool state = e.op == Op::acc || e.op == Op::lhs || e.op == Op::rhs;
    return state ? store.state(e.op, e.ref + by, e.scalar, e.operands) : id;
  });
}

MonoidId product(Graph& graph, MonoidId first, MonoidId second) {
  Monoid m = graph[first];
  const Monoid other = graph[second];
  auto by = static_cast<uint32_t>(m.fields.size());
  m.name = "product", m.builtin = false;
  m.commutative = m.commutative && other.commutative;
  m.fields.insert(m.fields.end(), other.fields.begin(), other.fields.end());
  for (ExprId id : other.combine) m.combine.push_back(shifted(graph.exprs, id, by));
  // The same names in every layer, so that equal layers stay equal.
  m.visible.clear();
  for (uint32_t f = 0; f < m.fields.size(); ++f) {
    m.fields[f].name = std::string(1, static_cast<char>('a' + f));
    m.visible.push_back(f);
  }
  return graph.add(std::move(m));
}

/// The node with names of its own, from `next` on, for all that is no point and no reduce index.
Comprehension with_names_from(ExprStore& store, Comprehension node, uint32_t next) {
  std::unordered_map<IndexId, ExprId> names;
  for (auto& axes : node.reduction->field_axes) axes = renamed(store, axes, next, names);
  for (Result& result : node.results) result.extra = renamed(store, result.extra, next, names);
  for_each_root(node, [&](ExprId root) {
    return graph::rewrite(store, root, [&](ExprId id) {
      const Expr e = store[id]; // a copy: terms are made
      if (e.op == Op::index) {
        auto at = names.find(IndexId(e.ref));
        return at == names.end() ? id : at->second;
      }
      if (e.op != Op::fold) return id;
      std::unordered_map<IndexId, ExprId> places;
      std::vector<IndexId> bound;
      for (IndexId index : e.bound) {
        bound.push_back(IndexId(next++));
        places[index] = store.index(bound.back());
      }
      return store.fold(
          MonoidId(e.ref), e.scalar, bound, std::span(e.operands.begin() + 2, e.operands.end()),
          substitute(store, e.operands[1], places), substitute(store, e.operands[0], places));
    });
  });
  return node;
}

} // namespace

std::vector<uint32_t> space_of(const Comprehension& node) {
  std::vector<uint32_t> key;
  for (const auto* axes : {&node.points, &node.reduction->axes}) {
    key.push_back(static_cast<uint32_t>(axes->size()));
    for (const Axis& axis : *axes)
      for (ExprId id : {axis.extent, axis.lo, axis.hi}) key.push_back(id.value);
  }
  key.push_back(node.reduction->filter.value);
  return key;
}

bool may_be_sibling(const Graph& graph, const Comprehension& node) {
  return node.reduction && !node.scan &&
         graph[node.reduction->monoid].form == Monoid::Form::expressions;
}

Comprehension product(Graph& graph, const Comprehension& first, const Comprehension& second) {
  TANG_CHECK(space_of(first) == space_of(second), "a product of reductions over two spaces");
  ExprStore& s = graph.exprs;
  uint32_t next = std::max(fresh_index(s, first).value, fresh_index(s, second).value);
  Comprehension made = first, other = with_names_from(s, second, next);
  Reduction& r = *made.reduction;
  auto by = static_cast<uint32_t>(graph[r.monoid].fields.size());
  r.monoid = product(graph, r.monoid, other.reduction->monoid);
  r.field_axes.resize(by);
  other.reduction->field_axes.resize(other.reduction->body.size());
  r.body.insert(r.body.end(), other.reduction->body.begin(), other.reduction->body.end());
  r.field_axes.insert(r.field_axes.end(), other.reduction->field_axes.begin(),
                      other.reduction->field_axes.end());
  for (Result& result : other.results) {
    result.value = shifted(s, result.value, by);
    made.results.push_back(std::move(result));
  }
  return canonicalize(s, std::move(made));
}

} // namespace tang::rewrite
