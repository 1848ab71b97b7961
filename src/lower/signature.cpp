#include "lower/signature.h"
#include <algorithm>
#include <fmt/format.h>

namespace tang::lower {

using graph::Axis;
using graph::Comprehension;
using graph::Expr;
using graph::Op;
using graph::TensorId;

TensorSource source_of(const graph::Graph& graph, const Expr& read) {
  TensorSource source{TensorId(read.ref), {}};
  const graph::Tensor& t = graph[source.tensor];
  using Kind = graph::TensorKind;
  if (read.guarded || graph::is_packed(t.type) || (t.kind != Kind::input && t.kind != Kind::param))
    return source;
  for (size_t i = 0; i + 1 < t.shape.size(); ++i) {
    auto place = graph.exprs.as_integer(read.operands[i]);
    if (!place) break;
    source.places.push_back(*place);
  }
  return source;
}

namespace {

class Writer {
public:
  Writer(const graph::Graph& graph, const std::vector<TensorId>& internal)
      : graph_(graph), internal_(internal) {}

  void node(const Comprehension& c) {
    put("node");
    axes(c.points);
    if (c.scan) put("scan", c.scan->axis, c.scan->exclusive, c.scan->descending);
    if (c.reduction) {
      put("reduce", c.reduction->monoid.value);
      axes(c.reduction->axes);
      for (const auto& list : c.reduction->field_axes) axes(list);
      term(c.reduction->filter);
      for (ExprId id : c.reduction->body) term(id);
    }
    for (const graph::Result& result : c.results) {
      put("to", tensor({result.tensor, {}}));
      if (TensorId over = graph_[result.tensor].over) put("over", tensor({over, {}}));
      axes(result.extra);
      term(result.value);
    }
  }

  Signature take() { return std::move(signature_); }

private:
  template <class... Ts>
  void put(const Ts&... parts) {
    ((signature_.text += fmt::format("{} ", parts)), ...);
  }

  void axes(const std::vector<Axis>& list) {
    put("axes");
    for (const Axis& axis : list) {
      put(axis.index.value, axis.extent.value);
      term(axis.lo), term(axis.hi);
    }
  }

  /// The number of a parameter, described where it first appears.
  size_t tensor(const TensorSource& source) {
    auto& known = signature_.tensors;
    size_t number = std::find(known.begin(), known.end(), source) - known.begin();
    if (number < known.size()) return number;
    known.push_back(source);
    const graph::Tensor& t = graph_[source.tensor];
    put("tensor", graph::info(t.type).name, static_cast<int>(t.kind), t.align, t.sorted,
        source.places.size());
    for (ExprId extent : t.shape) put(extent.value);
    for (ExprId stride : t.strides) put(stride.value);
    if (t.range) put("in", t.range->lo, t.range->hi);
    if (t.accumulate) put("acc", graph::info(*t.accumulate).name);
    // Constant tables have their own contents.
    if (t.kind == graph::TensorKind::constant) put("table", source.tensor.value);
    put(std::find(internal_.begin(), internal_.end(), source.tensor) != internal_.end());
    return number;
  }

  /// Terms in depth-first order, so that the order in which they were interned does not show.
  void term(ExprId root) {
    if (!root) return put("none");
    std::vector<ExprId> stack{root};
    while (!stack.empty()) {
      ExprId id = stack.back();
      const Expr& e = graph_.exprs[id];
      if (numbers_.contains(id)) {
        stack.pop_back();
        continue;
      }
      bool waits = false;
      // Places that belong to the binding are not part of the text.
      size_t from = e.op == Op::read ? source_of(graph_, e).places.size() : 0;
      if (e.has_read)
        for (size_t i = e.operands.size(); i-- > from;)
          if (!numbers_.contains(e.operands[i])) stack.push_back(e.operands[i]), waits = true;
      if (waits) continue;
      stack.pop_back();
      one(id, e);
    }
    put("=", numbers_.at(root));
  }

  void one(ExprId id, const Expr& e) {
    // Equal index terms are one term in every layer.
    if (!e.has_read)
      put("#", id.value);
    else {
      size_t from = 0;
      if (e.op == Op::read) {
        TensorSource source = source_of(graph_, e);
        from = source.places.size();
        size_t number = tensor(source);
        put("read", number, e.guarded);
      } else {
        put(graph::info(e.op).name, static_cast<int>(e.scalar), graph::info(e.to).name, e.ref);
        for (graph::IndexId bound : e.bound) put(bound.value);
      }
      for (size_t i = from; i < e.operands.size(); ++i) put(numbers_.at(e.operands[i]));
    }
    signature_.text += '\n';
    numbers_.emplace(id, numbers_.size());
  }

  const graph::Graph& graph_;
  const std::vector<TensorId>& internal_;
  Signature signature_;
  std::unordered_map<ExprId, size_t> numbers_;
};

} // namespace

Signature signature_of(const graph::Graph& graph, const std::vector<const graph::Node*>& nodes,
                       const std::vector<TensorId>& internal) {
  Writer writer(graph, internal);
  for (const graph::Node* node : nodes) writer.node(std::get<Comprehension>(node->definition));
  return writer.take();
}

} // namespace tang::lower
