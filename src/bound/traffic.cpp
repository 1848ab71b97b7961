#include "bound/traffic.h"
#include "base/check.h"
#include "graph/reads.h"
#include <algorithm>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

/// Indices that stand for the steps of recurrences; no node has so many of its own.
IndexId step_index(size_t depth) {
  return IndexId(0xfffffff0u - static_cast<uint32_t>(depth));
}

/// Demands for a part of a tensor that are followed; and how many indices one may have.
constexpr size_t max_partial = 4;
constexpr size_t max_axes = 16;

class GroupBound {
public:
  explicit GroupBound(Formulas& f) : f_(f), s_(f.store()) {}

  Traffic run(const Group& group) {
    for (const Recur* recur : group.around) {
      opaque_.push_back({step_index(steps_.size()), recur->time.extent, "", {}, {}});
      steps_.push_back(recur->step);
    }
    for (const Comprehension* node : group.nodes) enter(*node);
    leaving_ = group.leaving;
    for (TensorId tensor : leaving_) out_.needed[tensor] = {};
    for (auto node = group.nodes.rbegin(); node != group.nodes.rend(); ++node) visit(**node);
    return finish();
  }

  Traffic run() {
    leaving_ = f_.graph().outputs;
    for (TensorId tensor : leaving_) out_.needed[tensor] = {};
    enter(f_.graph().nodes);
    visit(f_.graph().nodes);
    return finish();
  }

private:
  void reason(std::string text) {
    if (std::find(out_.reasons.begin(), out_.reasons.end(), text) == out_.reasons.end())
      out_.reasons.push_back(std::move(text));
  }

  void enter(const Comprehension& node) {
    for (const Result& result : node.results)
      inside_.insert(result.tensor), results_.push_back(&result);
  }
  void enter(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (const auto* c = std::get_if<Comprehension>(&node.definition)) {
        enter(*c);
        continue;
      }
      const auto& recur = std::get<Recur>(node.definition);
      for (const Carry& carry : recur.carries)
        inside_.insert(carry.current), inside_.insert(carry.last);
      for (const Collect& collect : recur.collects) inside_.insert(collect.stacked);
      enter(recur.body);
    }
  }

  void visit(const std::vector<Node>& nodes) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (const auto* c = std::get_if<Comprehension>(&node->definition))
        visit(*c);
      else
        visit(std::get<Recur>(node->definition));
    }
  }

  /// What is collected is needed at every step. A carry whose last value is needed is needed at
  /// every step if each step needs the one before it whole: assumed, and taken back where it is not
  /// so.
  void visit(const Recur& recur) {
    for (bool assume : {true, false}) {
      auto out = out_;
      auto reads = reads_;
      auto partial = partial_;
      std::vector<TensorId> assumed = seed(recur, assume);
      times_.push_back({step_index(steps_.size()), recur.time.extent, recur.time.name, {}, {}});
      steps_.push_back(recur.step);
      visit(recur.body);
      times_.pop_back(), steps_.pop_back();
      bool consistent = std::all_of(assumed.begin(), assumed.end(), [&](TensorId current) {
        return out_.needed.contains(current);
      });
      if (!consistent) {
        out_ = std::move(out), reads_ = std::move(reads), partial_ = std::move(partial);
        continue;
      }
      for (const Carry& carry : recur.carries)
        if (auto at = out_.needed.find(carry.current); at != out_.needed.end())
          start(recur, carry, at->second);
      return;
    }
  }
  std::vector<TensorId> seed(const Recur& recur, bool assume) {
    std::vector<TensorId> assumed;
    for (const Collect& collect : recur.collects)
      if (auto at = out_.needed.find(collect.stacked); at != out_.needed.end())
        out_.needed.try_emplace(collect.value, at->second);
    for (const Carry& carry : recur.carries) {
      auto at = out_.needed.find(carry.last);
      if (at == out_.needed.end() || out_.needed.contains(carry.next)) continue;
      if (!assume) {
        reason(fmt::format("`{}`: what single steps need is not counted",
                           f_.graph()[carry.last].name));
        continue;
      }
      out_.needed[carry.next] = at->second;
      assumed.push_back(carry.current);
    }
    return assumed;
  }
  /// The first step needs the start value.
  void start(const Recur& recur, const Carry& carry, const Needed& needed) {
    std::vector<ExprId> factors = needed.factors;
    factors.push_back(f_.at_least_one(recur.time.extent));
    std::erase_if(factors, [&](ExprId factor) { return s_.as_integer(factor) == 1; });
    if (inside_.contains(carry.init)) {
      out_.needed.try_emplace(carry.init, Needed{factors});
      return;
    }
    ExprId count = elements_of(f_, carry.init);
    for (ExprId factor : factors) count = f_.product(count, factor);
    read(carry.init, count);
  }

  void visit(const Comprehension& node) {
    // Results that are needed under the same factors are looked at together.
    std::map<std::vector<ExprId>, std::vector<size_t>> by_factors;
    for (size_t k = 0; k < node.results.size(); ++k) {
      auto at = out_.needed.find(node.results[k].tensor);
      if (at != out_.needed.end())
        by_factors[at->second.factors].push_back(k);
      else if (partial_.contains(node.results[k].tensor))
        compose(node, k);
      else
        reason(fmt::format("not all of `{}` is needed for sure, so its inputs are not counted",
                           f_.graph()[node.results[k].tensor].name));
    }
    for (const auto& [factors, results] : by_factors) {
      Demands demands = demands_of(f_, node, results);
      for (std::string& text : demands.reasons) reason(std::move(text));
      for (Demand& demand : demands.reads) use(std::move(demand), factors);
    }
  }

  ExprId without_steps(ExprId id) {
    if (steps_.empty() || !s_[id].has_read) return id;
    return rewrite(s_, id, [&](ExprId at) {
      const Expr& e = s_[at];
      if (e.op == Op::read)
        for (size_t k = 0; k < steps_.size(); ++k)
          if (steps_[k].value == e.ref) return s_.index(step_index(k));
      return at;
    });
  }

  void use(Demand demand, const std::vector<ExprId>& factors) {
    TensorId tensor(s_[demand.read].ref);
    if (std::find(steps_.begin(), steps_.end(), tensor) != steps_.end()) return;
    // A table of constants may become part of the code.
    if (f_.graph()[tensor].kind == TensorKind::constant) return;
    demand.read = without_steps(demand.read);
    for (ExprId& condition : demand.conditions) condition = without_steps(condition);
    demand.factors.insert(demand.factors.end(), factors.begin(), factors.end());
    for (const Axis& time : times_)
      if (std::none_of(demand.axes.begin(), demand.axes.end(),
                       [&](const Axis& axis) { return axis.index == time.index; }))
        demand.axes.push_back(time);
    Image image = image_of(f_, demand, opaque_);
    if (inside_.contains(tensor)) {
      if (!require(tensor, image)) keep(tensor, std::move(demand));
      return;
    }
    if (!image.reason.empty())
      reason(fmt::format("`{}`: {}", f_.graph()[tensor].name, image.reason));
    if (image.known) read(tensor, total(f_, image));
  }
  void read(TensorId tensor, ExprId count) {
    auto [at, added] = reads_.try_emplace(tensor, count);
    if (!added) at->second = f_.most(at->second, count);
  }

  /// True when the image is the whole tensor.
  bool require(TensorId tensor, const Image& image) {
    if (!image.known) return false;
    Image counts = image;
    counts.factors.clear();
    if (!f_.proves_less_equal(elements_of(f_, tensor), total(f_, counts))) return false;
    auto [at, added] = out_.needed.try_emplace(tensor, Needed{image.factors});
    if (!added && image.factors.size() < at->second.factors.size())
      at->second.factors = image.factors;
    return true;
  }

  /// A demand for a part of a tensor of this group, for when its own node's turn comes.
  void keep(TensorId tensor, Demand demand) {
    auto& demands = partial_[tensor];
    if (demands.size() < max_partial && demand.axes.size() < max_axes)
      demands.push_back(std::move(demand));
  }
  /// What one result reads for the elements that partial demands name: its points become their
  /// places.
  void compose(const Comprehension& node, size_t result) {
    // An exclusive scan needs elements before its point, not the one at it.
    if (node.scan && node.scan->exclusive) return reason("a part of an exclusive scan");
    std::vector<Demand> outer = partial_.at(node.results[result].tensor);
    Demands inner = demands_of(f_, node, {&result, 1});
    for (std::string& text : inner.reasons) reason(std::move(text));
    for (const Demand& by : outer)
      for (const Demand& demand : inner.reads) use(composed(by, node, result, demand), {});
  }
  Demand composed(const Demand& outer, const Comprehension& node, size_t result,
                  const Demand& inner) {
    const Expr read = s_[outer.read];
    const Tensor& tensor = f_.graph()[node.results[result].tensor];
    std::vector<IndexId> points;
    for (const Axis& axis : node.points) points.push_back(axis.index);
    for (const Axis& axis : node.results[result].extra) points.push_back(axis.index);
    std::unordered_map<IndexId, ExprId> map;
    Demand out = outer;
    auto places = places_of(read);
    for (size_t k = 0; k < places.size(); ++k) {
      map[points.at(k)] = places[k];
      if (!read.guarded && !is_gathered(s_, places[k])) continue;
      out.conditions.push_back(s_.binary(Op::le, s_.integer(0), places[k]));
      out.conditions.push_back(s_.binary(Op::lt, places[k], tensor.shape[k]));
    }
    for (const Axis& axis : inner.axes) {
      if (map.contains(axis.index)) continue;
      IndexId fresh(next_index_++);
      map[axis.index] = s_.index(fresh);
      out.axes.push_back({fresh, axis.extent, axis.name, {}, {}});
    }
    for (ExprId condition : inner.conditions)
      out.conditions.push_back(substitute(s_, condition, map));
    out.factors.insert(out.factors.end(), inner.factors.begin(), inner.factors.end());
    out.read = substitute(s_, inner.read, map);
    return out;
  }

  /// Whether a result leaves points of an output that lies over an input as they are.
  bool keeps(const Result& result, TensorId over) const {
    std::vector<ExprId> stack{result.value};
    while (!stack.empty()) {
      const Expr& e = s_[stack.back()];
      stack.pop_back();
      if (e.op == Op::read && e.ref == over.value) return true;
      if (e.op == Op::select)
        stack.push_back(e.operands[1]), stack.push_back(e.operands[2]);
      else if (e.op == Op::cast || e.op == Op::to_real)
        stack.push_back(e.operands[0]);
    }
    return false;
  }

  Traffic finish() {
    out_.read_bytes = out_.written_bytes = f_.number(0);
    for (auto [tensor, count] : reads_) {
      ExprId bytes = f_.bytes(f_.graph()[tensor].type, count);
      out_.tensors.push_back({tensor, false, count, bytes});
      out_.read_bytes = f_.sum(out_.read_bytes, bytes);
    }
    for (const Result* result : results_)
      if (std::find(leaving_.begin(), leaving_.end(), result->tensor) != leaving_.end())
        write(result->tensor, result);
    // Outputs that a recurrence gives.
    for (TensorId tensor : leaving_) {
      bool by_node = std::any_of(results_.begin(), results_.end(),
                                 [&](const Result* result) { return result->tensor == tensor; });
      if (!by_node && inside_.contains(tensor)) write(tensor, nullptr);
    }
    return std::move(out_);
  }
  void write(TensorId id, const Result* result) {
    const Tensor& tensor = f_.graph()[id];
    ExprId count = elements_of(f_, id);
    if (tensor.over && (!result || keeps(*result, tensor.over))) {
      reason(fmt::format("`{}` lies over `{}`: points that stay as they are are not written",
                         tensor.name, f_.graph()[tensor.over].name));
      count = f_.number(0);
    }
    ExprId bytes = f_.bytes(tensor.type, count);
    out_.tensors.push_back({id, true, count, bytes});
    out_.written_bytes = f_.sum(out_.written_bytes, bytes);
  }

  Formulas& f_;
  ExprStore& s_;
  std::vector<TensorId> leaving_;
  std::set<TensorId> inside_;
  std::vector<const Result*> results_;
  std::vector<Axis> opaque_, times_; ///< steps: of one value, or of all values
  std::vector<TensorId> steps_;      ///< the tensors that hold them, outermost first
  std::map<TensorId, ExprId> reads_;
  std::map<TensorId, std::vector<Demand>> partial_;
  uint32_t next_index_ = 0x40000000u; ///< for composed demands; no node has so many of its own
  Traffic out_;
};

ExprId whole_bytes(Formulas& f, TensorId tensor) {
  return f.bytes(f.graph()[tensor].type, elements_of(f, tensor));
}

ExprId unfused_node(Formulas& f, const Node& node, std::span<const TensorId> steps) {
  ExprId bytes = f.number(0);
  for (TensorId tensor : reads_of(f.graph(), node))
    if (std::find(steps.begin(), steps.end(), tensor) == steps.end())
      bytes = f.sum(bytes, whole_bytes(f, tensor));
  for (TensorId tensor : defines_of(node)) bytes = f.sum(bytes, whole_bytes(f, tensor));
  return bytes;
}

} // namespace

ExprId elements_of(Formulas& f, TensorId tensor) {
  return f.volume(f.graph()[tensor].shape);
}

Traffic compulsory(Formulas& formulas, const Group& group) {
  return GroupBound(formulas).run(group);
}

Traffic compulsory(Formulas& formulas) {
  return GroupBound(formulas).run();
}

ExprId unfused_bytes(Formulas& f) {
  // Outer nodes and bodies of recurrences, each with how often it runs.
  struct Item {
    const Node* node;
    ExprId times;
    std::vector<TensorId> steps;
  };
  std::vector<Item> stack;
  for (const Node& node : f.graph().nodes) stack.push_back({&node, f.number(1), {}});
  ExprId bytes = f.number(0);
  while (!stack.empty()) {
    Item item = std::move(stack.back());
    stack.pop_back();
    if (const auto* recur = std::get_if<Recur>(&item.node->definition)) {
      ExprId times = f.product(item.times, f.positive(recur->time.extent));
      item.steps.push_back(recur->step);
      for (const Node& node : recur->body) stack.push_back({&node, times, item.steps});
    } else
      bytes = f.sum(bytes, f.product(item.times, unfused_node(f, *item.node, item.steps)));
  }
  return bytes;
}

} // namespace tang::bound
