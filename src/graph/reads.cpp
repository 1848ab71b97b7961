// A walk that carries a prover through filters and branches. Terms are shared, so the walk enters
// only those that hold a read which the axes alone do not prove.
#include "graph/reads.h"
#include "graph/prover.h"
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace tang::graph {

bool is_gathered(const ExprStore& store, ExprId place) {
  return store[place].has_read;
}

namespace {

/// Whether a place depends on more than the step of a recurrence, which is no data.
bool depends_on_data(const Graph& graph, ExprId place) {
  if (!is_gathered(graph.exprs, place)) return false;
  auto terms = reachable(graph.exprs, {&place, 1});
  return std::any_of(terms.begin(), terms.end(), [&](ExprId id) {
    const Expr& e = graph.exprs[id];
    return e.op == Op::read && !graph[TensorId(e.ref)].is_step;
  });
}

} // namespace

std::span<const ExprId> places_of(const Expr& read) {
  return {read.operands.data(), read.operands.size() - (read.guarded ? 1 : 0)};
}

namespace {

class Walk {
public:
  Walk(const Graph& graph, const Comprehension& node, std::span<const Axis> around)
      : graph_(graph), s_(graph.exprs), node_(node), prover_(graph) {
    prover_.distrust_data();
    // Only that they have a point stays known: the node's own indices may have the same numbers.
    for (const Axis& axis : around) prover_.add_axis(axis);
  }

  std::vector<UnprovedRead> run() {
    prover_.add_axes(node_.points);
    if (node_.reduction) {
      size_t mark = prover_.mark();
      prover_.add_axes(node_.reduction->axes);
      if (node_.reduction->filter) {
        walk(node_.reduction->filter);
        prover_.assume(node_.reduction->filter);
      }
      for (size_t f = 0; f < node_.reduction->body.size(); ++f) {
        size_t inner = prover_.mark();
        if (f < node_.reduction->field_axes.size())
          prover_.add_axes(node_.reduction->field_axes[f]);
        walk(node_.reduction->body[f]);
        prover_.rewind(inner);
      }
      prover_.rewind(mark);
    }
    for (const Result& result : node_.results) {
      size_t mark = prover_.mark();
      prover_.add_axes(result.extra);
      walk(result.value);
      prover_.rewind(mark);
    }
    std::vector<UnprovedRead> found;
    for (auto [read, place] : unproved_) found.push_back({read, place});
    return found;
  }

private:
  enum class Action : uint8_t { visit, enter_true, enter_false, enter_fold, leave };
  struct Item {
    Action action;
    ExprId id;
    size_t mark = 0;
    uint32_t context = 0;
  };

  /// The places of `id` that are not proved now.
  std::vector<uint32_t> open_places(ExprId id) const {
    const Expr& e = s_[id];
    std::vector<uint32_t> open;
    if (e.op != Op::read || e.guarded) return open;
    const Tensor& tensor = graph_[TensorId(e.ref)];
    for (uint32_t k = 0; k < e.operands.size() && k < tensor.shape.size(); ++k)
      if ((!is_gathered(s_, e.operands[k]) || depends_on_data(graph_, e.operands[k])) &&
          !prover_.in_range(e.operands[k], tensor.shape[k]))
        open.push_back(k);
    return open;
  }

  void walk(ExprId root) {
    // holds_suspect: the term or one below it is a read that this scope does not prove.
    holds_suspect_.clear(), seen_.clear();
    assumed_ = {Context()}, contexts_ = {{Context(), 0}};
    for (ExprId id : reachable(s_, {&root, 1})) {
      const Expr& e = s_[id];
      bool suspect = std::any_of(e.operands.begin(), e.operands.end(),
                                 [&](ExprId o) { return holds_suspect_.contains(o); });
      if (suspect || !open_places(id).empty()) holds_suspect_.insert(id);
    }
    stack_ = {{Action::visit, root}};
    context_ = 0;
    int left = 20000; // branches under branches may meet the same term in very many contexts
    while (!stack_.empty()) {
      Item item = stack_.back();
      stack_.pop_back();
      switch (item.action) {
      case Action::leave: prover_.rewind(item.mark), context_ = item.context; break;
      case Action::enter_true:
      case Action::enter_false: {
        bool value = item.action == Action::enter_true;
        prover_.assume(s_[item.id].operands[0], value);
        // A branch that is never taken: the visit that follows is dropped.
        if (!enter_context(s_[item.id].operands[0], value)) stack_.pop_back();
        break;
      }
      case Action::enter_fold: enter_fold(item.id); break;
      case Action::visit:
        if (--left > 0)
          visit(item.id);
        else
          give_up(root), stack_.clear();
        break;
      }
    }
  }

  /// What is assumed, ascending: the order in which branches were entered does not matter.
  using Context = std::set<std::pair<ExprId, bool>>;

  /// False when the condition is already excluded: the branch is never taken.
  bool enter_context(ExprId condition, bool value) {
    Context next = assumed_[context_];
    if (next.contains({condition, !value})) return false;
    next.insert({condition, value});
    auto [at, inserted] = contexts_.try_emplace(next, static_cast<uint32_t>(assumed_.size()));
    if (inserted) assumed_.push_back(std::move(next));
    context_ = at->second;
    return true;
  }

  void enter_fold(ExprId id) {
    const Expr& e = s_[id];
    for (size_t k = 0; k < e.bound.size(); ++k)
      prover_.add_axis({e.bound[k], e.operands[2 + k], "", {}, {}});
    prover_.assume(e.operands[1]);
    enter_context(e.operands[1], true);
  }

  void scoped(Action action, ExprId id, ExprId inside) {
    if (!holds_suspect_.contains(inside)) return;
    stack_.push_back({Action::leave, {}, prover_.mark(), context_});
    stack_.push_back({Action::visit, inside});
    stack_.push_back({action, id});
  }

  void visit(ExprId id) {
    if (!holds_suspect_.contains(id) || !seen_.insert({id, context_}).second) return;
    const Expr& e = s_[id];
    for (uint32_t place : open_places(id)) unproved_.insert({id, place});
    if (e.op == Op::select) {
      scoped(Action::enter_false, id, e.operands[2]);
      scoped(Action::enter_true, id, e.operands[1]);
      stack_.push_back({Action::visit, e.operands[0]});
    } else if (e.op == Op::fold) {
      // The filter itself is evaluated at every point of the fold.
      for (size_t k = 1; k < e.operands.size(); ++k)
        stack_.push_back({Action::visit, e.operands[k]});
      scoped(Action::enter_fold, id, e.operands[0]);
    } else {
      for (ExprId operand : e.operands) stack_.push_back({Action::visit, operand});
    }
  }

  /// Too many contexts: what this one does not prove at once counts as not proved.
  void give_up(ExprId id) {
    for (ExprId below : reachable(s_, {&id, 1}))
      for (uint32_t place : open_places(below)) unproved_.insert({below, place});
  }

  const Graph& graph_;
  const ExprStore& s_;
  const Comprehension& node_;
  Prover prover_;
  std::vector<Item> stack_;
  uint32_t context_ = 0;
  std::vector<Context> assumed_; ///< by context
  std::map<Context, uint32_t> contexts_;
  std::unordered_set<ExprId> holds_suspect_;
  std::set<std::pair<ExprId, uint32_t>> seen_;
  std::set<std::pair<ExprId, uint32_t>> unproved_;
};

} // namespace

std::vector<UnprovedRead> unproved_reads(const Graph& graph, const Comprehension& node,
                                         std::span<const Axis> around) {
  return Walk(graph, node, around).run();
}

bool moves_as_vector(const Graph& graph, const Expr& read, const Axis& inner, int width) {
  const Tensor& t = graph[TensorId(read.ref)];
  if (read.guarded || t.shape.empty() || !t.strides.empty() || is_packed(t.type)) return false;
  const ExprStore& store = graph.exprs;
  const Expr& last = store[read.operands.back()];
  if (last.op != Op::index || last.ref != inner.index.value) return false;
  for (size_t i = 0; i + 1 < t.shape.size(); ++i) {
    const auto& free = store[read.operands[i]].free;
    if (std::find(free.begin(), free.end(), inner.index) != free.end()) return false;
  }
  int64_t bytes = bytes_of(t.type, width);
  if (t.align < std::min<int64_t>(16, bytes)) return false;
  if (t.shape.back() == inner.extent) return true;
  auto extent = store.as_integer(t.shape.back());
  return extent && *extent % width == 0;
}

} // namespace tang::graph
