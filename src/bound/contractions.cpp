// Products that classical evaluation cannot avoid.
#include "bound/mixing.h"
#include "bound/operations.h"
#include "graph/contraction.h"
#include "graph/reads.h"
#include <algorithm>
#include <set>

namespace tang::bound {
using namespace graph;

namespace {

/// Bits of significand that an element of a format holds; of integers, all bits.
int precision_bits(ElemType type) {
  switch (type) {
  case ElemType::f64: return 53;
  case ElemType::f32: return 24;
  case ElemType::f16: return 11;
  case ElemType::bf16: return 8;
  case ElemType::f8e4m3: return 4;
  case ElemType::f8e5m2: return 3;
  case ElemType::i64:
  case ElemType::i32:
  case ElemType::i16:
  case ElemType::i8:
  case ElemType::i4:
  case ElemType::u32:
  case ElemType::u8:
  case ElemType::u4:
  case ElemType::boolean: return info(type).bits;
  }
  return 1;
}

class Finder {
public:
  Finder(Formulas& f, const Group& group, const Traffic& traffic, bool whole_graph, bool allow_tf32)
      : f_(f), s_(f.store()), group_(group), traffic_(traffic), whole_(whole_graph),
        tf32_(allow_tf32) {
    for (const Comprehension* node : group.nodes)
      for (const Result& result : node->results) inside_.insert(result.tensor);
  }

  std::vector<Contraction> run() {
    for (const Comprehension* node : group_.nodes)
      if (node->reduction)
        for (size_t field = 0; field < node->reduction->body.size(); ++field) one(*node, field);
    std::vector<bool> left_out = mixed_products(f_.graph(), group_.nodes, products_);
    std::vector<Contraction> kept;
    for (size_t k = 0; k < found_.size(); ++k)
      if (!left_out[k]) kept.push_back(std::move(found_[k]));
    return kept;
  }

private:
  /// What one field of a node's reduction multiplies.
  void one(const Comprehension& node, size_t field) {
    if (!is_sum(f_.graph()[node.reduction->monoid], field)) return;
    // The field by itself: what stands beside it decides neither its operands nor its sides.
    Comprehension alone = node;
    alone.reduction->body = {node.reduction->body[field]};
    auto sides = contraction(f_.graph(), alone);
    if (!sides) return;
    Operands operands = operands_of(f_.graph(), alone, *sides);
    if (!is_product(node.reduction->body[field], operands)) return;
    const Result* result = needing(node, field, operands);
    if (!result) return;
    auto points = points_of(alone, *sides, operands);
    if (!points || !first_of_its_kind(operands)) return;
    for (ExprId factor : traffic_.needed.at(result->tensor).factors)
      points = f_.product(*points, factor);
    Contraction out;
    out.result = result->tensor, out.points = *points, out.scalar = Scalar::integer;
    describe(operands, out);
    found_.push_back(std::move(out));
    Product product{&node, field, {}};
    for (const auto* side : {&operands.a, &operands.b})
      for (ExprId read : reads_below(*side)) product.tensors.insert(TensorId(s_[read].ref));
    products_.push_back(std::move(product));
  }

  /// A result that is needed in full and cannot be told without the sum; the one with the fewest
  /// conditions.
  const Result* needing(const Comprehension& node, size_t field, const Operands& operands) const {
    const Result* best = nullptr;
    size_t conditions = 0;
    for (const Result& result : node.results) {
      auto needed = traffic_.needed.find(result.tensor);
      if (needed == traffic_.needed.end()) continue;
      auto is_state = [&](const Expr& e) { return e.op == Op::acc && e.ref == field; };
      if (!holds(certain({&result.value, 1}), is_state)) continue;
      if (whole_ && !unavoidable(result, is_state, operands)) continue;
      if (best && needed->second.factors.size() >= conditions) continue;
      best = &result, conditions = needed->second.factors.size();
    }
    return best;
  }
  /// Products of the same two tensors may be the same products, times something that factors out:
  /// those met first count.
  bool first_of_its_kind(const Operands& operands) {
    ExprId a = main_read(operands.a), b = main_read(operands.b);
    return pairs_.insert(std::minmax(s_[a].ref, s_[b].ref)).second;
  }

  bool is_sum(const Monoid& m, size_t field) const {
    if (m.form != Monoid::Form::expressions || !m.fields[field].axes.empty()) return false;
    const Expr& e = s_[m.combine[field]];
    if (e.op != Op::add) return false;
    const Expr &l = s_[e.operands[0]], &r = s_[e.operands[1]];
    return l.op == Op::lhs && r.op == Op::rhs && l.ref == field && r.ref == field;
  }
  /// The body is a product of whole operands of both sides, and of what reads nothing. Operands
  /// that choose by a condition may be zero in places that nobody has to multiply.
  bool is_product(ExprId body, const Operands& operands) const {
    bool sides[2] = {false, false};
    std::vector<ExprId> stack{body};
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      const Expr& e = s_[id];
      bool a = std::binary_search(operands.a.begin(), operands.a.end(), id);
      bool b = std::binary_search(operands.b.begin(), operands.b.end(), id);
      if (!a && !b && e.op == Op::mul)
        stack.insert(stack.end(), e.operands.begin(), e.operands.end());
      else if (!a && !b && e.has_read)
        return false;
      sides[0] |= a, sides[1] |= b;
    }
    for (ExprId id : reachable(s_, {&body, 1}))
      if (s_[id].op == Op::select || s_[id].op == Op::fold) return false;
    return sides[0] && sides[1];
  }
  /// Terms that are evaluated whatever the data: those outside every branch.
  std::vector<ExprId> certain(std::span<const ExprId> roots) const {
    std::vector<ExprId> found, stack(roots.begin(), roots.end());
    std::set<ExprId> seen;
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      if (!seen.insert(id).second) continue;
      found.push_back(id);
      const Expr& e = s_[id];
      if (e.op == Op::select) stack.push_back(e.operands[0]);
      if (e.op == Op::select || e.op == Op::logical_and || e.op == Op::logical_or ||
          e.op == Op::read)
        continue;
      stack.insert(stack.end(), e.operands.begin(), e.operands.end());
    }
    return found;
  }
  template <class Leaf>
  bool holds(const std::vector<ExprId>& terms, Leaf&& leaf) const {
    return std::any_of(terms.begin(), terms.end(), [&](ExprId id) { return leaf(s_[id]); });
  }

  std::vector<ExprId> reads_below(std::span<const ExprId> roots) const {
    std::vector<ExprId> found;
    for (ExprId id : reachable(s_, roots))
      if (s_[id].op == Op::read) found.push_back(id);
    return found;
  }

  // ---- whole graphs: another order of products may need fewer

  template <class Leaf>
  bool unavoidable(const Result& result, Leaf&& is_state, const Operands& operands) const {
    for (const auto* side : {&operands.a, &operands.b})
      for (ExprId read : reads_below(*side))
        if (inside_.contains(TensorId(s_[read].ref))) return false;
    const auto& leaving = group_.leaving;
    return std::find(leaving.begin(), leaving.end(), result.tensor) != leaving.end() ||
           bent({&result.value, 1}, is_state) || used_by_bend(result.tensor);
  }
  bool used_by_bend(TensorId tensor) const {
    return std::any_of(group_.nodes.begin(), group_.nodes.end(), [&](const Comprehension* node) {
      auto all = roots(*node);
      return bent(all, [&](const Expr& e) { return e.op == Op::read && e.ref == tensor.value; });
    });
  }
  /// Whether some function that is not linear is applied to a term that `leaf` accepts.
  template <class Leaf>
  bool bent(std::span<const ExprId> below, Leaf&& leaf) const {
    for (ExprId id : certain(below))
      if (bends(s_[id].op) && holds(certain(s_[id].operands), leaf)) return true;
    return false;
  }

  // ---- how many products

  /// The read of a side that needs most of the node's indices: what the others add may factor out.
  ExprId main_read(std::span<const ExprId> side) const {
    ExprId best;
    for (ExprId read : reads_below(side))
      if (!best || s_[read].free.size() > s_[best].free.size()) best = read;
    return best;
  }
  /// Whether different values of the index give different elements, all others fixed.
  bool separates(ExprId read, const Axis& axis) {
    ExprId index = s_.index(axis.index);
    for (ExprId place : places_of(s_[read])) {
      auto p = polynomial_of(s_, place);
      auto parts = p ? p->split(index) : std::nullopt;
      auto factor = parts ? parts->first.as_constant() : std::nullopt;
      if (factor && *factor != 0 && !mentions(parts->second, axis.index)) return true;
    }
    return false;
  }
  bool mentions(const Polynomial& p, IndexId index) const {
    for (const auto& [monomial, c] : p.terms())
      for (ExprId atom : monomial)
        if (std::binary_search(s_[atom].free.begin(), s_[atom].free.end(), index)) return true;
    return false;
  }

  std::optional<ExprId> points_of(const Comprehension& node, const Sides& sides,
                                  const Operands& operands) {
    ExprId a = main_read(operands.a), b = main_read(operands.b);
    for (ExprId read : {a, b})
      if (f_.graph()[TensorId(s_[read].ref)].kind == TensorKind::constant) return std::nullopt;
    std::vector<Axis> points, reduce;
    for (size_t i : sides.m)
      if (separates(a, node.points[i])) points.push_back(node.points[i]);
    for (size_t i : sides.n)
      if (separates(b, node.points[i])) points.push_back(node.points[i]);
    for (size_t i : sides.batch)
      if (separates(a, node.points[i]) || separates(b, node.points[i]))
        points.push_back(node.points[i]);
    for (const Axis& axis : node.reduction->axes)
      if (separates(a, axis) && separates(b, axis)) reduce.push_back(axis);
    if (!apart(a, points, reduce) || !apart(b, points, reduce)) return std::nullopt;
    // Guards: where a read is outside its tensor there is no product.
    std::vector<ExprId> conditions;
    for (const auto* side : {&operands.a, &operands.b})
      for (ExprId read : reads_below(*side)) guard(Expr(s_[read]), conditions);
    std::vector<Axis> counted = std::move(points);
    counted.insert(counted.end(), reduce.begin(), reduce.end());
    auto count = count_points(f_, counted, conditions);
    if (count && same_tensor(operands)) count = f_.quotient(*count, 2);
    return count;
  }
  /// No place mixes two point indices, or two reduce indices: the same product would come up twice.
  /// One of each is a sliding window, whose products differ.
  bool apart(ExprId read, const std::vector<Axis>& points, const std::vector<Axis>& reduce) const {
    for (ExprId place : places_of(s_[read])) {
      if (s_[place].has_read) return false;
      for (const auto* axes : {&points, &reduce}) {
        auto used = std::count_if(axes->begin(), axes->end(), [&](const Axis& axis) {
          const auto& free = s_[place].free;
          return std::binary_search(free.begin(), free.end(), axis.index);
        });
        if (used > 1) return false;
      }
    }
    return true;
  }
  void guard(const Expr& read, std::vector<ExprId>& conditions) {
    if (!read.guarded) return;
    std::vector<ExprId> places(places_of(read).begin(), places_of(read).end());
    for (size_t k = 0; k < places.size(); ++k) {
      conditions.push_back(s_.binary(Op::le, s_.integer(0), places[k]));
      conditions.push_back(s_.binary(Op::lt, places[k], f_.graph()[TensorId(read.ref)].shape[k]));
    }
  }
  /// Products of a tensor with itself: a symmetric result needs half.
  bool same_tensor(const Operands& operands) const {
    std::set<uint32_t> left;
    for (ExprId read : reads_below(operands.a)) left.insert(s_[read].ref);
    for (ExprId read : reads_below(operands.b))
      if (left.contains(s_[read].ref)) return true;
    return false;
  }

  // ---- in which format

  void describe(const Operands& operands, Contraction& out) const {
    int bits = 64;
    out.both_narrow = true;
    for (const auto* side : {&operands.a, &operands.b})
      for (ExprId read : reads_below(*side)) {
        ElemType type = f_.graph()[TensorId(s_[read].ref)].type;
        bits = std::min(bits, precision_bits(type));
        if (scalar_of(type) == Scalar::real) out.scalar = Scalar::real;
        out.both_narrow &= info(type).bits <= 16;
      }
    if (tf32_ && bits == 24) bits = 11;
    out.bits = bits;
  }

  Formulas& f_;
  ExprStore& s_;
  const Group& group_;
  const Traffic& traffic_;
  bool whole_, tf32_;
  std::set<TensorId> inside_;
  std::set<std::pair<uint32_t, uint32_t>> pairs_; ///< of tensors whose products are counted
  std::vector<Contraction> found_;
  std::vector<Product> products_; ///< the same, as mixing.h wants them
};

} // namespace

std::vector<Contraction> contractions_of(Formulas& formulas, const Group& group,
                                         const Traffic& traffic, bool whole_graph,
                                         bool allow_tf32) {
  return Finder(formulas, group, traffic, whole_graph, allow_tf32).run();
}

} // namespace tang::bound
