// round_factors: an intermediate that is nothing but a factor beside 16-bit factors is stored in
// their format.
//
//   h[i, k] = f(i, k) as f32,   y[i, j] = sum[k] h[i, k] * w[k, j],   w stored as bf16
//        =>   h stored as bf16
//
// Every product would round it (language.md 5, operand rule); rounded where it is stored, it is
// read in half the bytes and is a factor as it stands. Side conditions: every reader is a
// contraction that reads it as a whole factor, beside reads of tensors of one 16-bit format; it has
// no `store` or `accumulate` line, is no output, and no recurrence carries it.
#include "rewrite/round_factors.h"
#include "graph/contraction.h"
#include "graph/reads.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tang::rewrite {
using namespace graph;

namespace {

class FactorRounding {
public:
  FactorRounding(Graph& graph, const std::function<bool(ElemType)>& units)
      : graph_(graph), units_(units) {}

  void run() {
    for (const Node& node : graph_.nodes) {
      std::set<TensorId> as_factor = factors(node);
      for (TensorId id : reads_of(graph_, node))
        if (!as_factor.contains(id)) other_.insert(id);
    }
    for (Node& node : graph_.nodes) {
      if (!std::holds_alternative<Comprehension>(node.definition)) continue;
      for (TensorId id : defines_of(node)) store(node, id);
    }
  }

private:
  /// The tensors that a contraction reads as whole factors beside 16-bit ones, and nowhere else.
  std::set<TensorId> factors(const Node& node) {
    std::set<TensorId> found;
    const auto* c = std::get_if<Comprehension>(&node.definition);
    auto sides = c ? contraction(graph_, *c) : std::nullopt;
    if (!sides) return found;
    auto products = products_of(graph_, *c, operands_of(graph_, *c, *sides));
    for (auto [a, b] : products)
      for (auto [mine, other] : {std::pair(a, b), std::pair(b, a)}) {
        const Expr& e = graph_.exprs[mine];
        auto format = stored_format(other);
        if (e.op != Op::read || !format) continue;
        auto [at, fresh] = wanted_.try_emplace(TensorId(e.ref), *format);
        if (at->second == *format && !e.guarded) found.insert(TensorId(e.ref));
      }
    // What the epilogue or a place of a gather reads besides is needed as it is.
    for (const Result& result : c->results) forget(found, {&result.value, 1});
    for (auto [a, b] : products)
      for (ExprId factor : {a, b}) forget(found, graph_.exprs[factor].operands);
    return found;
  }
  void forget(std::set<TensorId>& found, std::span<const ExprId> terms) const {
    for (ExprId id : reachable(graph_.exprs, terms))
      if (graph_.exprs[id].op == Op::read) found.erase(TensorId(graph_.exprs[id].ref));
  }

  /// The 16-bit format that a factor is stored in, which units multiply.
  std::optional<ElemType> stored_format(ExprId factor) const {
    const Expr& e = graph_.exprs[factor];
    if (e.op != Op::read) return std::nullopt;
    const Tensor& t = graph_[TensorId(e.ref)];
    bool stored = t.kind != TensorKind::intermediate || t.store_given;
    bool narrow = scalar_of(t.type) == Scalar::real && info(t.type).bits == 16;
    return stored && narrow && units_(t.type) ? std::optional(t.type) : std::nullopt;
  }

  void store(Node& node, TensorId id) {
    Tensor& t = graph_[id];
    auto format = wanted_.find(id);
    bool free = t.kind == TensorKind::intermediate && t.type == ElemType::f32 && !t.store_given &&
                !t.accumulate && !t.over;
    if (!free || format == wanted_.end() || other_.contains(id)) return;
    t.type = format->second, t.store_given = true;
    node.derivation.push_back(fmt::format("round_factors: `{}` is stored as {}, as the factors "
                                          "beside it are",
                                          t.name, info(t.type).name));
  }

  Graph& graph_;
  const std::function<bool(ElemType)>& units_;
  std::map<TensorId, ElemType> wanted_; ///< the format of the factors beside it
  std::set<TensorId> other_;            ///< read as something else as well
};

} // namespace

Graph round_factors(Graph graph, const std::function<bool(ElemType)>& units) {
  FactorRounding(graph, units).run();
  return graph;
}

} // namespace tang::rewrite
