#include "rewrite/differentiate/body_copy.h"
#include "base/check.h"
#include "graph/reads.h"
#include "rewrite/differentiate/terms.h"

namespace tang::rewrite {
using namespace graph;

TensorId BodyCopy::name(TensorId id) const {
  auto at = names_.find(id);
  return at == names_.end() ? id : at->second;
}

/// A tensor that the copy defines in place of `id`.
TensorId BodyCopy::renamed(TensorId id) {
  TensorId made = maker_.like(graph_[id].name, id);
  names_[id] = made;
  return made;
}

Node BodyCopy::copy(const Node& node) {
  Node made = node;
  // Nesting of recurrences is bounded by the parser's nesting limit.
  std::visit(Overload{[&](Comprehension& c) { c = copy(std::move(c)); },
                      [&](Recur& r) { r = copy(std::move(r)); }, [](Gradient& g) { reject(g); }},
             made.definition);
  return made;
}

Comprehension BodyCopy::copy(Comprehension c) {
  Prover prover = prover_of(graph_, c);
  for_each_root(c, [&](ExprId root) { return term(root, prover); });
  for (Result& result : c.results) result.tensor = renamed(result.tensor);
  return c;
}

Recur BodyCopy::copy(Recur r) {
  r.step = renamed(r.step);
  graph_[r.step].is_step = true;
  for (Carry& carry : r.carries) {
    carry.init = name(carry.init);
    carry.current = renamed(carry.current);
  }
  for (Node& node : r.body) node = copy(node);
  for (Carry& carry : r.carries) {
    carry.next = name(carry.next);
    carry.last = renamed(carry.last);
  }
  for (Collect& collect : r.collects) {
    collect.value = name(collect.value);
    collect.stacked = renamed(collect.stacked);
  }
  return r;
}

ExprId BodyCopy::term(ExprId root, const Prover& prover) {
  return graph::rewrite(s_, root, [&](ExprId id) {
    const Expr e = s_[id];
    if (e.op != Op::read) return id;
    if (TensorId(e.ref) == step_) return now_;
    if (auto cut = sliced_read(e, prover)) return *cut;
    return s_.read(name(TensorId(e.ref)), e.scalar, places_of(e),
                   e.guarded ? e.operands.back() : ExprId());
  });
}

/// The read of a slice that stands for a read, whose places are the copy's already.
std::optional<ExprId> BodyCopy::sliced_read(const Expr& e, const Prover& prover) {
  TensorId of(e.ref);
  if (!sliced_.contains(of) || names_.contains(of)) return std::nullopt;
  auto now = polynomial_of(s_, now_);
  for (uint32_t k = 0; now && k < places_of(e).size(); ++k) {
    auto place = polynomial_of(s_, e.operands[k]);
    if (!place) continue;
    for (int64_t sign : {1, -1}) {
      auto rest = sign == 1 ? place->minus(*now) : place->plus(*now);
      ExprId offset = rest ? build(s_, *rest) : ExprId();
      if (!offset || s_[offset].has_read || !s_[offset].free.empty()) continue;
      std::vector<ExprId> others(places_of(e).begin(), places_of(e).end());
      ExprId here = build(s_, *place);
      others.erase(others.begin() + k);
      TensorId cut = slice(of, k, sign, offset);
      if (!e.guarded) return s_.read(cut, e.scalar, others);
      ExprId otherwise = e.operands.back();
      bool inside = true;
      for (size_t n = 0; n < others.size(); ++n)
        inside &= prover.in_range(others[n], graph_[cut].shape[n]);
      ExprId read = s_.read(cut, e.scalar, others, inside ? ExprId() : otherwise);
      ExprId at_step = s_.logical_and(s_.binary(Op::le, s_.integer(0), here),
                                      s_.binary(Op::lt, here, graph_[of].shape[k]));
      return s_.select(at_step, read, otherwise);
    }
  }
  return std::nullopt;
}

TensorId BodyCopy::slice(TensorId of, uint32_t axis, int64_t sign, ExprId offset) {
  for (const Slice& s : slices_)
    if (s.of == of && s.axis == axis && s.sign == sign && s.offset == offset) return s.tensor;
  Comprehension c;
  std::vector<ExprId> places;
  for (const Axis& own : axes_of(graph_, of)) {
    if (places.size() == axis) {
      ExprId step = sign == 1 ? now_ : s_.unary(Op::neg, now_);
      places.push_back(canonical(s_, s_.binary(Op::add, step, offset)));
      continue;
    }
    c.points.push_back(own);
    places.push_back(s_.index(own.index));
  }
  // Elsewhere nobody looks at it.
  Scalar scalar = scalar_of(graph_[of].type);
  bool always =
      sign == 1 && s_.as_integer(offset) == 0 && same_extent(s_, graph_[of].shape[axis], steps_);
  c.results.push_back({{}, s_.read(of, scalar, places, always ? ExprId() : zero(s_, scalar)), {}});
  TensorId tensor =
      maker_.add(cuts_, std::move(c), graph_[of].name + "_now", "differentiate: what a step reads");
  slices_.push_back({of, axis, sign, offset, tensor});
  return tensor;
}

} // namespace tang::rewrite
