#include "rewrite/specialize.h"
#include "base/check.h"
#include "graph/prover.h"

namespace tang::rewrite {
using namespace graph;

namespace {

class Specialization {
public:
  explicit Specialization(Graph& graph) : graph_(graph), s_(graph.exprs) {}

  void run() {
    for (Tensor& tensor : graph_.tensors) {
      terms(tensor.shape), terms(tensor.strides);
      ends(tensor);
    }
    for (Monoid& monoid : graph_.monoids) {
      for (MonoidField& field : monoid.fields) axes(field.axes), term(field.identity);
      terms(monoid.combine);
    }
    for (Node& node : graph_.nodes) one(node);
  }

private:
  void term(ExprId& root) {
    if (!root) return;
    root = graph::rewrite(s_, root, [&](ExprId id) {
      if (s_[id].op != Op::dim) return id;
      const Dim& dim = graph_.dims[s_[id].ref];
      return dim.lo == dim.hi ? s_.integer(dim.lo) : id;
    });
  }
  void terms(std::vector<ExprId>& roots) {
    for (ExprId& root : roots) term(root);
  }
  /// A declared range may be narrower at fewer sizes.
  void ends(Tensor& tensor) {
    if (tensor.range_lo) {
      term(tensor.range_lo);
      tensor.range->lo = Prover(graph_).range(tensor.range_lo).lo;
    }
    if (tensor.range_hi) {
      term(tensor.range_hi);
      tensor.range->hi = Prover(graph_).range(tensor.range_hi).hi;
    }
  }
  void axes(std::vector<Axis>& list) {
    for (Axis& axis : list) term(axis.extent), term(axis.lo), term(axis.hi);
  }

  /// Nesting of recurrences is bounded by the parser's nesting limit.
  void one(Node& node) {
    std::visit(Overload{[&](Comprehension& c) {
                          axes(c.points);
                          if (c.reduction) {
                            axes(c.reduction->axes);
                            for (auto& list : c.reduction->field_axes) axes(list);
                            term(c.reduction->filter);
                            terms(c.reduction->body);
                          }
                          for (Result& result : c.results) {
                            axes(result.extra);
                            term(result.value);
                          }
                        },
                        [&](Recur& r) {
                          term(r.time.extent);
                          for (Node& inner : r.body) one(inner);
                        },
                        [](Gradient&) {}},
               node.definition);
  }

  Graph& graph_;
  ExprStore& s_;
};

} // namespace

Graph specialize(Graph graph, std::vector<Dim> dims) {
  TANG_CHECK(dims.size() == graph.dims.size(), "{} dims for {}", dims.size(), graph.dims.size());
  graph.dims = std::move(dims);
  Specialization(graph).run();
  return graph;
}

} // namespace tang::rewrite
