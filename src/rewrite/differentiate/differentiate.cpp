// differentiate: the gradient of a comprehension is a comprehension.
//
//   grad f wrt x -> dx   =>   dx[q] = sum[p, r where places(p, r) == q] df(p) * d body / d
//   x[places]
//
// Reverse mode, a node at a time, from the one that defines f back to x. Inside a body each term is
// visited once (sweep.h); what a read receives becomes a term at each element or a sum, by solving
// its places for the indices (solve.h, part.h). A maximum gates to its arg, ties to the lowest.
// Choices stay choices, so that what an untaken branch would give is absent and not 0 * inf.
// Source: Speelpenning, "Compiling fast partial derivatives of functions given by algorithms",
// 1980; for sums over indices Laue, Mitterreiter, Giesen, "Computing higher order derivatives of
// matrix and tensor expressions", 2018.
#include "base/check.h"
#include "graph/activity.h"
#include "rewrite/differentiate/block.h"
#include "rewrite/differentiate/drop_stabilizer_gradient.h"
#include "rewrite/passes.h"
#include <algorithm>
#include <utility>

namespace tang::rewrite {
using namespace graph;

namespace {

class Differentiation {
public:
  explicit Differentiation(Graph& graph) : graph_(graph), s_(graph.exprs), maker_(graph) {}

  void run() {
    for (Node& node : std::exchange(graph_.nodes, {})) {
      maker_.span = node.span;
      if (auto* gradient = std::get_if<Gradient>(&node.definition))
        differentiate(*gradient);
      else
        append(std::move(node));
    }
    graph_.nodes = std::move(nodes_);
  }

private:
  void append(Node node) {
    for (TensorId id : defines_of(node)) definer_[id] = nodes_.size();
    nodes_.push_back(std::move(node));
  }

  /// The nodes on which a tensor depends, latest first.
  std::vector<size_t> nodes_behind(TensorId of) const {
    std::set<size_t, std::greater<>> found;
    std::vector<TensorId> stack{of};
    while (!stack.empty()) {
      auto at = definer_.find(stack.back());
      stack.pop_back();
      if (at == definer_.end() || !found.insert(at->second).second) continue;
      for (TensorId read : reads_of(graph_, nodes_[at->second])) stack.push_back(read);
    }
    return {found.begin(), found.end()};
  }

  static bool is_asked(const Gradient& g, TensorId id) {
    return std::any_of(g.pairs.begin(), g.pairs.end(),
                       [&](const GradientPair& pair) { return pair.wrt == id; });
  }

  void differentiate(const Gradient& g) {
    std::vector<size_t> order = nodes_behind(g.of);
    TensorSet active;
    for (const GradientPair& pair : g.pairs) active.insert(pair.wrt);
    for (auto at = order.rbegin(); at != order.rend(); ++at)
      add_active(graph_, nodes_[*at], active);

    // A variable is one, whatever the result makes of it.
    for (TensorId id : constant_maxima(graph_, nodes_, order, g.of, active))
      if (!is_asked(g, id)) active.erase(id);

    std::vector<Node> made;
    Block block(graph_, maker_, made, active);
    ExprId one = s_.real(1);
    if (g.cotangent) one = read_at(graph_, g.cotangent, indices_of(s_, axes_of(graph_, g.of)));
    if (active.contains(g.of)) block.adjoints().set(g.of, {one, {}});
    // What is asked for keeps its name; a tensor asked for twice is copied.
    TensorSet named;
    auto finish = [&](TensorId wrt) {
      if (!named.insert(wrt).second) return;
      for (const GradientPair& pair : g.pairs)
        if (pair.wrt == wrt) block.adjoints().finish_in(wrt, pair.result);
    };
    for (size_t n : order) {
      for (TensorId id : defines_of(nodes_[n]))
        if (is_asked(g, id)) finish(id);
      block.visit(nodes_[n]);
    }
    for (const GradientPair& pair : g.pairs) finish(pair.wrt);
    for (Node& node : made) append(std::move(node));
  }

  Graph& graph_;
  ExprStore& s_;
  Maker maker_;
  std::vector<Node> nodes_;
  std::unordered_map<TensorId, size_t> definer_;
};

} // namespace

Graph differentiate(Graph graph) {
  bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return std::holds_alternative<Gradient>(node.definition);
  });
  if (any) Differentiation(graph).run();
  return graph;
}

} // namespace tang::rewrite
