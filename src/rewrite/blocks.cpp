#include "rewrite/blocks.h"
#include "base/check.h"
#include "graph/reads.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

void for_each_block(Graph& graph,
                    const std::function<void(std::vector<Node>&, const TensorSet&)>& f) {
  // Nesting of recurrences is bounded by the parser's nesting limit.
  auto visit = [&](auto& self, std::vector<Node>& nodes, const TensorSet& kept) -> void {
    for (Node& node : nodes)
      if (auto* recur = std::get_if<Recur>(&node.definition)) {
        TensorSet inner;
        for (const Carry& carry : recur->carries) inner.insert(carry.next);
        for (const Collect& collect : recur->collects) inner.insert(collect.value);
        self(self, recur->body, inner);
      }
    f(nodes, kept);
  };
  // `f` may add tensors and terms to the graph, so its nodes stand aside meanwhile.
  std::vector<Node> nodes = std::move(graph.nodes);
  visit(visit, nodes, TensorSet(graph.outputs.begin(), graph.outputs.end()));
  graph.nodes = std::move(nodes);
}

void for_each_root(Comprehension& node, const std::function<ExprId(ExprId)>& f) {
  auto apply = [&](ExprId& id) {
    if (id) id = f(id);
  };
  auto bounds = [&](std::vector<Axis>& axes) {
    for (Axis& axis : axes) apply(axis.lo), apply(axis.hi);
  };
  bounds(node.points);
  if (node.reduction) {
    bounds(node.reduction->axes);
    apply(node.reduction->filter);
    for (ExprId& id : node.reduction->body) apply(id);
  }
  for (Result& result : node.results) apply(result.value);
}

ExprId rewrite_from(ExprStore& store, ExprId root, const std::function<ExprId(ExprId, ExprId)>& f) {
  std::unordered_map<ExprId, ExprId> done;
  std::vector<ExprId> operands;
  for (ExprId id : reachable(store, {&root, 1})) {
    operands.clear();
    for (ExprId operand : store[id].operands) operands.push_back(done.at(operand));
    done[id] = f(id, store.with_operands(id, operands));
  }
  return done.at(root);
}

namespace {

/// New numbers for what is left of a list; empty ids for what goes.
template <class IdT>
std::vector<IdT> renumbering(const std::vector<char>& used) {
  std::vector<IdT> ids(used.size());
  uint32_t next = 0;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) ids[i] = IdT(next++);
  return ids;
}

template <class T>
void keep_used(std::vector<T>& items, const std::vector<char>& used) {
  size_t next = 0;
  for (size_t i = 0; i < items.size(); ++i)
    if (used[i]) {
      if (next != i) items[next] = std::move(items[i]);
      ++next;
    }
  items.erase(items.begin() + static_cast<ptrdiff_t>(next), items.end());
}

struct Usage {
  std::vector<char> tensors, monoids;
};

void mark_terms(const ExprStore& s, const std::vector<ExprId>& roots, Usage& usage) {
  for (ExprId id : reachable(s, roots)) {
    if (s[id].op == Op::read) usage.tensors[s[id].ref] = 1;
    if (s[id].op == Op::fold) usage.monoids[s[id].ref] = 1;
  }
}

Usage usage_of(Graph& graph) {
  Usage usage{std::vector<char>(graph.tensors.size()), std::vector<char>(graph.monoids.size())};
  for (TensorId id : graph.inputs) usage.tensors[id.value] = 1;
  for (TensorId id : graph.outputs) {
    usage.tensors[id.value] = 1;
    if (graph[id].over) usage.tensors[graph[id].over.value] = 1;
  }
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    for (const Node& node : nodes)
      std::visit(Overload{[&](const Comprehension& c) {
                            mark_terms(graph.exprs, roots(c), usage);
                            if (c.reduction) usage.monoids[c.reduction->monoid.value] = 1;
                            for (const Result& r : c.results) usage.tensors[r.tensor.value] = 1;
                          },
                          [&](const Recur& r) {
                            usage.tensors[r.step.value] = 1;
                            for (const Carry& c : r.carries)
                              for (TensorId id : {c.init, c.current, c.next, c.last})
                                usage.tensors[id.value] = 1;
                            for (const Collect& c : r.collects)
                              usage.tensors[c.value.value] = usage.tensors[c.stacked.value] = 1;
                          },
                          [](const Gradient& g) { reject(g); }},
                 node.definition);
  });
  // A used monoid may fold with another.
  for (bool changed = true; changed;) {
    auto before = usage.monoids;
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i]) {
        mark_terms(graph.exprs, graph.monoids[i].combine, usage);
        for (const MonoidField& field : graph.monoids[i].fields)
          mark_terms(graph.exprs, {field.identity}, usage);
      }
    changed = before != usage.monoids;
  }
  return usage;
}

} // namespace

Graph compact(Graph graph) {
  Usage usage = usage_of(graph);
  auto all = [](const std::vector<char>& used) {
    return std::all_of(used.begin(), used.end(), [](char u) { return u != 0; });
  };
  if (all(usage.tensors) && all(usage.monoids)) return graph;
  auto tensors = renumbering<TensorId>(usage.tensors);
  auto monoids = renumbering<MonoidId>(usage.monoids);
  ExprStore& s = graph.exprs;
  auto term = [&](ExprId root) {
    return graph::rewrite(s, root, [&](ExprId id) {
      Expr e = s[id];
      if (e.op == Op::read)
        return s.read(tensors[e.ref], e.scalar, places_of(e),
                      e.guarded ? e.operands.back() : ExprId());
      if (e.op != Op::fold) return id;
      return s.fold(monoids[e.ref], e.scalar, e.bound, std::span(e.operands).subspan(2),
                    e.operands[1], e.operands[0]);
    });
  };
  auto tensor = [&](TensorId& id) {
    if (id) id = tensors[id.value];
  };
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet&) {
    for (Node& node : nodes)
      std::visit(Overload{[&](Comprehension& c) {
                            for_each_root(c, term);
                            if (c.reduction)
                              c.reduction->monoid = monoids[c.reduction->monoid.value];
                            for (Result& r : c.results) tensor(r.tensor);
                          },
                          [&](Recur& r) {
                            tensor(r.step);
                            for (Carry& c : r.carries)
                              tensor(c.init), tensor(c.current), tensor(c.next), tensor(c.last);
                            for (Collect& c : r.collects) tensor(c.value), tensor(c.stacked);
                          },
                          [](Gradient& g) { reject(g); }},
                 node.definition);
  });
  keep_used(graph.tensors, usage.tensors);
  keep_used(graph.monoids, usage.monoids);
  for (Monoid& monoid : graph.monoids) {
    for (ExprId& id : monoid.combine) id = term(id);
    for (MonoidField& field : monoid.fields) field.identity = term(field.identity);
  }
  for (TensorId& id : graph.inputs) tensor(id);
  for (TensorId& id : graph.outputs) tensor(id);
  for (Tensor& t : graph.tensors) tensor(t.over);
  return graph;
}

Prover prover_of(const Graph& graph, const Comprehension& node) {
  Prover prover(graph);
  size_t mark = prover.mark();
  auto all = roots(node);
  for (ExprId id : reachable(graph.exprs, all)) {
    const Expr& e = graph.exprs[id];
    for (size_t k = 0; k < e.bound.size(); ++k)
      prover.add_axis({e.bound[k], e.operands[2 + k], "", {}, {}});
  }
  if (node.reduction)
    for (const auto& axes : node.reduction->field_axes) prover.add_axes(axes);
  for (const Result& result : node.results) prover.add_axes(result.extra);
  if (node.reduction) prover.add_axes(node.reduction->axes);
  // Values are also computed where no reduce index has a point.
  prover.rewind(mark);
  prover.add_axes(node.points);
  return prover;
}

ExprId zero(ExprStore& store, Scalar scalar) {
  switch (scalar) {
  case Scalar::boolean: return store.boolean(false);
  case Scalar::integer: return store.integer(0);
  case Scalar::real: return store.real(0);
  }
  TANG_CHECK(false, "no zero for class {}", static_cast<int>(scalar));
}

ElemType state_type(const Graph& graph, const Comprehension& node, Scalar scalar) {
  switch (scalar) {
  case Scalar::boolean: return ElemType::boolean;
  case Scalar::integer: return ElemType::i64;
  case Scalar::real: break;
  }
  auto all = roots(node);
  for (ExprId id : reachable(graph.exprs, all)) {
    const Expr& e = graph.exprs[id];
    if (e.op == Op::read && graph[TensorId(e.ref)].type == ElemType::f64) return ElemType::f64;
  }
  for (const Result& result : node.results)
    if (graph[result.tensor].type == ElemType::f64) return ElemType::f64;
  return ElemType::f32;
}

ExprId stored_value(Graph& graph, TensorId id, ExprId value, const Prover& prover) {
  const Tensor& tensor = graph[id];
  if (tensor.kind != TensorKind::output && !tensor.store_given) return value;
  switch (scalar_of(tensor.type)) {
  case Scalar::boolean: return value;
  case Scalar::integer:
    return range_of(tensor.type).contains(prover.range(value))
               ? value
               : graph.exprs.cast(tensor.type, value);
  case Scalar::real:
    return info(tensor.type).bits >= 32 ? value : graph.exprs.cast(tensor.type, value);
  }
  return value;
}

Comprehension settle(Graph& graph, Comprehension node) {
  ExprStore& s = graph.exprs;
  Prover prover = prover_of(graph, node);
  for_each_root(node, [&](ExprId root) {
    return graph::rewrite(s, root, [&](ExprId id) {
      if (s[id].op != Op::select) return id;
      auto taken = prover.decide(s[id].operands[0]);
      return taken ? s[id].operands[*taken ? 1 : 2] : id;
    });
  });
  std::unordered_set<ExprId> open;
  for (const UnprovedRead& read : unproved_reads(graph, node)) open.insert(read.read);
  if (!open.empty()) {
    for_each_root(node, [&](ExprId root) {
      return rewrite_from(s, root, [&](ExprId original, ExprId rebuilt) {
        if (!open.contains(original)) return rebuilt;
        Expr e = s[rebuilt];
        return s.read(TensorId(e.ref), e.scalar, e.operands, zero(s, e.scalar));
      });
    });
  }
  return canonicalize(s, std::move(node));
}

std::optional<Polynomial> points_of(const ExprStore& store, const std::vector<Axis>& axes) {
  std::optional<Polynomial> product = Polynomial::constant(1);
  for (const Axis& axis : axes) {
    auto extent = polynomial_of(store, axis.extent);
    product = product && extent ? product->times(*extent) : std::nullopt;
  }
  return product;
}

bool same_extent(const ExprStore& store, ExprId a, ExprId b) {
  if (a == b) return true;
  auto p = polynomial_of(store, a), q = polynomial_of(store, b);
  return p && q && *p == *q;
}

} // namespace tang::rewrite
