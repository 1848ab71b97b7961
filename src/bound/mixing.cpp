#include "bound/mixing.h"
#include "graph/reads.h"
#include <algorithm>
#include <map>

namespace tang::bound {
using namespace graph;

namespace {

/// A product that a term depends on linearly, and the read or state through which it does.
using Link = std::pair<size_t, ExprId>;

class Mixing {
public:
  Mixing(const Graph& graph, std::span<const Product> products)
      : graph_(graph), products_(products), mixed_(products.size(), false) {}

  std::vector<bool> run(std::span<const Comprehension* const> nodes) {
    for (const Comprehension* node : nodes) visit(*node);
    return std::move(mixed_);
  }

private:
  void visit(const Comprehension& node) {
    std::map<ExprId, std::set<Link>> links;
    std::vector<std::set<size_t>> fields;
    if (node.reduction) {
      for (ExprId id : reachable(graph_.exprs, node.reduction->body)) term(id, fields, links);
      for (size_t field = 0; field < node.reduction->body.size(); ++field)
        fields.push_back(sum_of(node, field, links[node.reduction->body[field]]));
    }
    for (const Result& result : node.results) {
      for (ExprId id : reachable(graph_.exprs, {&result.value, 1})) term(id, fields, links);
      auto& below = linear_[result.tensor];
      for (const Link& link : links[result.value]) below.insert(link.first);
    }
  }

  /// A sum is linear in what it adds up, a maximum is not; a product of its own stands for all
  /// that.
  std::set<size_t> sum_of(const Comprehension& node, size_t field, const std::set<Link>& body) {
    const Monoid& m = graph_[node.reduction->monoid];
    if (m.form != Monoid::Form::expressions || bends(graph_.exprs[m.combine[field]].op)) return {};
    for (size_t k = 0; k < products_.size(); ++k)
      if (products_[k].node == &node && products_[k].field == field) return {k};
    std::set<size_t> below;
    for (const Link& link : body) below.insert(link.first);
    return below;
  }

  void term(ExprId id, const std::vector<std::set<size_t>>& fields,
            std::map<ExprId, std::set<Link>>& links) {
    const Expr& e = graph_.exprs[id];
    auto [at, fresh] = links.try_emplace(id);
    if (!fresh) return;
    if (e.op == Op::acc && e.ref < fields.size())
      for (size_t k : fields[e.ref]) at->second.insert({k, id});
    if (e.op == Op::read)
      if (auto below = linear_.find(TensorId(e.ref)); below != linear_.end())
        for (size_t k : below->second) at->second.insert({k, id});
    if (e.op == Op::acc || e.op == Op::read) return;
    bool adds = e.op == Op::add || e.op == Op::sub || (bends(e.op) && e.operands.size() == 2);
    if (adds) mix(links.at(e.operands[0]), links.at(e.operands[1]));
    if (bends(e.op)) return;
    for (ExprId operand : e.operands)
      if (auto below = links.find(operand); below != links.end())
        at->second.insert(below->second.begin(), below->second.end());
  }

  void mix(const std::set<Link>& left, const std::set<Link>& right) {
    for (const Link& a : left)
      for (const Link& b : right) {
        if (a == b || !share(a.first, b.first)) continue;
        mixed_[a.first] = mixed_[b.first] = true;
      }
  }
  bool share(size_t a, size_t b) const {
    const auto& others = products_[b].tensors;
    return std::any_of(products_[a].tensors.begin(), products_[a].tensors.end(),
                       [&](TensorId tensor) { return others.contains(tensor); });
  }

  const Graph& graph_;
  std::span<const Product> products_;
  std::vector<bool> mixed_;
  std::map<TensorId, std::set<size_t>> linear_; ///< by tensor: products that it is linear in
};

} // namespace

bool bends(Op op) {
  switch (op) {
  case Op::exp:
  case Op::exp2:
  case Op::log:
  case Op::log2:
  case Op::sqrt:
  case Op::rsqrt:
  case Op::sin:
  case Op::cos:
  case Op::tan:
  case Op::tanh:
  case Op::erf:
  case Op::max:
  case Op::min:
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le: return true;
  default: return false;
  }
}

std::vector<bool> mixed_products(const Graph& graph, std::span<const Comprehension* const> nodes,
                                 std::span<const Product> products) {
  return Mixing(graph, products).run(nodes);
}

} // namespace tang::bound
