// store_reciprocals: a tensor that is only divided by holds reciprocals.
//
//   d[p] = e(p),   y[p, q] = f(p, q) / d[p]     =>     d[p] = 1 / e(p),   y[p, q] = f(p, q) * d[p]
//
//   y[p, q] = a(p, q) / l(p)  of one reduction's state     =>     y[p, q] = a(p, q) * (1 / l(p))
//
// One division per element of `d` instead of one per element of `y`: the probabilities of a softmax
// whose sums another kernel has computed, or the sums of one that has them at hand. A law over the
// reals: a quotient becomes two roundings.
// Side conditions: the divisor is seen to be no tiny number, whose reciprocal is none; no output,
// `store` line, recurrence or scan needs the tensor; some reader has more points than it; every
// read is a divisor.
#include "graph/scaled_monoid.h"
#include "rewrite/blocks.h"
#include "rewrite/links.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tang::rewrite {
using namespace graph;

namespace {

constexpr double least = 0x1p-100;

class Reciprocals {
public:
  Reciprocals(Graph& graph, std::vector<Node>& nodes, const TensorSet& kept)
      : graph_(graph), s_(graph.exprs), nodes_(nodes), kept_(kept) {}

  void run() {
    for (Node& node : nodes_)
      if (auto* c = std::get_if<Comprehension>(&node.definition)) invert_states(node, *c);
    find();
    if (chosen_.empty()) return;
    for (Node& node : nodes_) {
      auto* c = std::get_if<Comprehension>(&node.definition);
      if (!c) continue;
      for (Result& result : c->results)
        if (chosen_.contains(result.tensor)) {
          result.value = s_.binary(Op::div, s_.real(1), result.value);
          node.derivation.push_back(fmt::format("store_reciprocals: `{}` is only divided by",
                                                graph_[result.tensor].name));
        }
      for_each_root(*c, [&](ExprId root) { return with_products(root); });
    }
  }

private:
  /// Results over columns that are divided by a part of the state that has none.
  void invert_states(Node& node, Comprehension& c) {
    if (!c.reduction || c.scan) return;
    for (Result& result : c.results) {
      ExprId value = graph::rewrite(s_, result.value, [&](ExprId id) {
        const Expr e = s_[id]; // a copy: terms are made below
        bool quotient = e.op == Op::div && e.scalar == Scalar::real &&
                        uses(e.operands[0], result.extra) && !uses(e.operands[1], result.extra) &&
                        s_[e.operands[1]].op != Op::literal_real && is_never_tiny(c, e.operands[1]);
        if (!quotient) return id;
        return s_.binary(Op::mul, e.operands[0], s_.binary(Op::div, s_.real(1), e.operands[1]));
      });
      if (value == result.value) continue;
      result.value = value;
      node.derivation.push_back(fmt::format("store_reciprocals: `{}` is divided by once per row",
                                            graph_[result.tensor].name));
    }
  }
  bool uses(ExprId id, const std::vector<Axis>& axes) const {
    const auto& free = s_[id].free;
    return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
      return std::binary_search(free.begin(), free.end(), axis.index);
    });
  }

  bool is_plain(TensorId id) const {
    const Tensor& t = graph_[id];
    bool wide = t.type == ElemType::f32 || t.type == ElemType::f64;
    return t.kind == TensorKind::intermediate && wide && !t.store_given && !t.accumulate &&
           !t.over && !kept_.contains(id);
  }

  /// 0, infinite, no number, or at least 2^-100: sums of weights of which the largest is 1.
  bool is_never_tiny(const Comprehension& c, ExprId value) const {
    std::vector<ExprId> open{value};
    while (!open.empty()) {
      ExprId id = open.back();
      open.pop_back();
      const Expr& e = s_[id];
      if (e.op == Op::select) {
        open.insert(open.end(), {e.operands[1], e.operands[2]});
      } else if (e.op == Op::add && is_nothing(e.operands[1])) {
        open.push_back(e.operands[0]);
      } else if (e.op == Op::literal_real) {
        if (e.real != 0 && std::fabs(e.real) < least) return false;
      } else if (e.op != Op::acc || !c.reduction || !has_largest_weight(*c.reduction, e.ref)) {
        return false;
      }
    }
    return true;
  }
  /// x - x: 0, or no number.
  bool is_nothing(ExprId id) const {
    const Expr& e = s_[id];
    return e.op == Op::sub && e.operands[0] == e.operands[1];
  }
  /// A sum of positive constants of which that at the reference is added whole.
  bool has_largest_weight(const Reduction& r, uint32_t field) const {
    const Expr& body = s_[r.body[field]];
    if (body.op != Op::literal_real || body.real < least) return false;
    auto scaled = scaled_monoid(graph_, graph_[r.monoid]);
    return scaled && std::any_of(scaled->amounts.begin(), scaled->amounts.end(),
                                 [&](const auto& a) { return a.field == field && a.fall; });
  }

  void find() {
    TensorSet stays, grows;
    for (const Node& node : nodes_) {
      const auto* c = std::get_if<Comprehension>(&node.definition);
      for (TensorId id : reads_of(graph_, node))
        if (!c) stays.insert(id);
      if (!c) continue;
      for (const Result& result : c->results)
        if (!c->scan && is_plain(result.tensor) && is_never_tiny(*c, result.value))
          chosen_.insert(result.tensor);
      count(*c, stays, grows);
    }
    std::erase_if(chosen_, [&](TensorId id) { return stays.contains(id) || !grows.contains(id); });
  }

  /// Notes the tensors that are read outside divisors, and those that some reader divides by at
  /// more points than they have.
  void count(const Comprehension& c, TensorSet& stays, TensorSet& grows) {
    auto terms = reachable(s_, roots(c));
    std::unordered_map<ExprId, bool> below; // reads: only as divisors so far
    for (ExprId id : terms) {
      const Expr& e = s_[id];
      for (size_t i = 0; i < e.operands.size(); ++i) {
        if (s_[e.operands[i]].op != Op::read) continue;
        auto at = below.try_emplace(e.operands[i], true).first;
        at->second = at->second && e.op == Op::div && i == 1 && e.scalar == Scalar::real;
      }
    }
    for (ExprId root : roots(c))
      if (s_[root].op == Op::read) below[root] = false;
    size_t points = c.points.size() + (c.reduction ? c.reduction->axes.size() : 0);
    for (const auto& [id, divides] : below) {
      TensorId tensor(s_[id].ref);
      if (!divides || s_[id].guarded) stays.insert(tensor);
      if (divides && points > graph_[tensor].shape.size()) grows.insert(tensor);
    }
  }

  ExprId with_products(ExprId root) {
    return graph::rewrite(s_, root, [&](ExprId id) {
      const Expr& e = s_[id];
      if (e.op != Op::div || s_[e.operands[1]].op != Op::read ||
          !chosen_.contains(TensorId(s_[e.operands[1]].ref)))
        return id;
      return s_.binary(Op::mul, e.operands[0], e.operands[1]);
    });
  }

  Graph& graph_;
  ExprStore& s_;
  std::vector<Node>& nodes_;
  const TensorSet& kept_;
  TensorSet chosen_;
};

} // namespace

Graph store_reciprocals(Graph graph) {
  for_each_block(graph, [&](std::vector<Node>& nodes, const TensorSet& kept) {
    Reciprocals(graph, nodes, kept).run();
  });
  return graph;
}

} // namespace tang::rewrite
