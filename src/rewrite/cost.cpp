#include "rewrite/cost.h"
#include "graph/reads.h"
#include "graph/typical.h"
#include "rewrite/monoids.h"
#include <algorithm>
#include <unordered_set>

namespace tang::rewrite {
using namespace graph;

namespace {

/// Additions that one evaluation takes; index arithmetic is free.
uint32_t work_of(const ExprStore& store, const Expr& e) {
  switch (e.op) {
  case Op::literal_int:
  case Op::literal_real:
  case Op::literal_bool:
  case Op::index:
  case Op::dim:
  case Op::read:
  case Op::acc:
  case Op::lhs:
  case Op::rhs:
  case Op::to_real:
  case Op::cast: return 0;
  case Op::fold: return 64;
  case Op::div:
  case Op::sqrt:
  case Op::rsqrt:
  case Op::exp:
  case Op::exp2:
  case Op::log:
  case Op::log2:
  case Op::sin:
  case Op::cos: return 8;
  case Op::pow:
  case Op::atan2:
  case Op::tan:
  case Op::tanh:
  case Op::erf: return 16;
  case Op::floordiv:
  case Op::mod: return e.has_read ? 8 : 0;
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::neg:
  case Op::min:
  case Op::max:
  case Op::abs:
  case Op::sign:
  case Op::floor:
  case Op::ceil:
  case Op::round:
  case Op::bit_and:
  case Op::bit_or:
  case Op::bit_xor:
  case Op::shl:
  case Op::shr:
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le:
  case Op::logical_and:
  case Op::logical_or:
  case Op::logical_not:
  case Op::select: {
    bool data = e.has_read || e.scalar == Scalar::real;
    for (ExprId operand : e.operands) data |= store[operand].scalar == Scalar::real;
    return data;
  }
  }
  return 1;
}

} // namespace

Cost cost_of(const ExprStore& store, ExprId root) {
  Cost cost;
  cost.terms = static_cast<uint32_t>(reachable(store, {&root, 1}).size());
  // Values only: what stands in a place is index arithmetic, or the index of a gather.
  std::vector<ExprId> stack{root};
  std::unordered_set<ExprId> seen{root};
  while (!stack.empty()) {
    const Expr& e = store[stack.back()];
    stack.pop_back();
    cost.work += work_of(store, e);
    cost.folds |= e.op == Op::fold;
    auto push = [&](ExprId id) {
      if (seen.insert(id).second) stack.push_back(id);
    };
    if (e.op == Op::read) {
      cost.reads += !places_of(e).empty();
      cost.streams += !places_of(e).empty() && e.free.size() >= store[root].free.size();
      if (e.guarded) push(e.operands.back());
    } else {
      for (ExprId operand : e.operands) push(operand);
    }
  }
  return cost;
}

bool pays_off(const Graph& graph, const Cost& cost, const Polynomial& points,
              const Polynomial& evaluations) {
  // A device does about this many operations in the time that four bytes move.
  constexpr int64_t move = 16;
  int64_t once = cost.work + move * int64_t{cost.streams};
  auto spent = evaluations.times(Polynomial::constant(once - move));
  auto saved = points.times(Polynomial::constant(once + move));
  auto gain = spent && saved ? saved->minus(*spent) : std::nullopt;
  if (!gain) return false;
  if (Prover(graph).nonnegative(*gain)) return true;
  return typical(graph, *gain) >= 0;
}

bool is_short_contraction(const Graph& graph, const Node& node, int64_t most) {
  const Reduction* r = plain_reduction(graph, node, Op::add);
  if (!r) return false;
  int64_t length = 1;
  Prover prover(graph);
  for (const Axis& axis : r->axes) {
    IntRange range = prover.range(axis.extent);
    if (range.hi > most) return false;
    length *= std::max<int64_t>(range.hi, 1);
    if (length > most) return false;
  }
  return !cost_of(graph.exprs, r->body[0]).folds;
}

} // namespace tang::rewrite
