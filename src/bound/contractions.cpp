// Products that classical evaluation cannot avoid.
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
    std::vector<Contraction> found;
    for (const Comprehension* node : group_.nodes)
      if (auto contraction = one(*node)) found.push_back(std::move(*contraction));
    return found;
  }

private:
  std::optional<Contraction> one(const Comprehension& node) {
    if (node.results.size() != 1 || !node.reduction) return std::nullopt;
    auto needed = traffic_.needed.find(node.results[0].tensor);
    if (needed == traffic_.needed.end()) return std::nullopt;
    if (!is_sum(f_.graph()[node.reduction->monoid])) return std::nullopt;
    auto sides = contraction(f_.graph(), node);
    if (!sides) return std::nullopt;
    Operands operands = operands_of(f_.graph(), node, *sides);
    if (!is_product(node.reduction->body[0], operands) || !state_is_needed(node))
      return std::nullopt;
    if (whole_ && !unavoidable(node, operands)) return std::nullopt;
    auto points = points_of(node, *sides, operands);
    if (!points) return std::nullopt;
    for (ExprId factor : needed->second.factors) points = f_.product(*points, factor);
    Contraction out;
    out.result = node.results[0].tensor, out.points = *points, out.scalar = Scalar::integer;
    describe(operands, out);
    return out;
  }

  bool is_sum(const Monoid& m) const {
    if (m.form != Monoid::Form::expressions || m.fields.size() != 1) return false;
    const Expr& e = s_[m.combine[0]];
    return e.op == Op::add && s_[e.operands[0]].op == Op::lhs && s_[e.operands[1]].op == Op::rhs;
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
  /// The result cannot be told without the sum: it stands outside every branch.
  bool state_is_needed(const Comprehension& node) const {
    std::vector<ExprId> stack{node.results[0].value};
    std::set<ExprId> seen;
    while (!stack.empty()) {
      ExprId id = stack.back();
      stack.pop_back();
      if (!seen.insert(id).second) continue;
      const Expr& e = s_[id];
      if (e.op == Op::acc) return true;
      if (e.op == Op::select) stack.push_back(e.operands[0]);
      if (e.op == Op::select || e.op == Op::logical_and || e.op == Op::logical_or ||
          e.op == Op::read)
        continue;
      stack.insert(stack.end(), e.operands.begin(), e.operands.end());
    }
    return false;
  }

  std::vector<ExprId> reads_below(std::span<const ExprId> roots) const {
    std::vector<ExprId> found;
    for (ExprId id : reachable(s_, roots))
      if (s_[id].op == Op::read) found.push_back(id);
    return found;
  }

  // ---- whole graphs: another order of products may need fewer

  bool unavoidable(const Comprehension& node, const Operands& operands) const {
    for (const auto* side : {&operands.a, &operands.b})
      for (ExprId read : reads_below(*side))
        if (inside_.contains(TensorId(s_[read].ref))) return false;
    TensorId result = node.results[0].tensor;
    if (std::find(group_.leaving.begin(), group_.leaving.end(), result) != group_.leaving.end())
      return true;
    std::vector<ExprId> value{node.results[0].value};
    return bends(value, [](const Expr& e) { return e.op == Op::acc; }) || used_by_bend(result);
  }
  bool used_by_bend(TensorId tensor) const {
    return std::any_of(group_.nodes.begin(), group_.nodes.end(), [&](const Comprehension* node) {
      auto all = roots(*node);
      return bends(all, [&](const Expr& e) { return e.op == Op::read && e.ref == tensor.value; });
    });
  }
  /// Whether some function that is not linear is applied to a term that `leaf` accepts.
  template <class Leaf>
  bool bends(std::span<const ExprId> below, Leaf&& leaf) const {
    for (ExprId id : reachable(s_, below)) {
      if (!bending(s_[id].op)) continue;
      std::vector<ExprId> stack(s_[id].operands.begin(), s_[id].operands.end());
      std::set<ExprId> seen;
      while (!stack.empty()) {
        ExprId at = stack.back();
        stack.pop_back();
        if (!seen.insert(at).second) continue;
        const Expr& e = s_[at];
        if (leaf(e)) return true;
        if (e.op == Op::read || e.op == Op::select) continue;
        stack.insert(stack.end(), e.operands.begin(), e.operands.end());
      }
    }
    return false;
  }
  static bool bending(Op op) {
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
    case Op::min: return true;
    default: return false;
    }
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
};

} // namespace

std::vector<Contraction> contractions_of(Formulas& formulas, const Group& group,
                                         const Traffic& traffic, bool whole_graph,
                                         bool allow_tf32) {
  return Finder(formulas, group, traffic, whole_graph, allow_tf32).run();
}

} // namespace tang::bound
