#include "rewrite/monoids.h"
#include <limits>

namespace tang::rewrite {
using namespace graph;

namespace {

double identity_of(Op op) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (op) {
  case Op::mul: return 1;
  case Op::max: return -inf;
  case Op::min: return inf;
  default: return 0;
  }
}

} // namespace

bool is_plain(const Graph& graph, MonoidId id, Op op) {
  const Monoid& monoid = graph[id];
  if (monoid.form != Monoid::Form::expressions || monoid.fields.size() != 1 ||
      !monoid.fields[0].axes.empty())
    return false;
  const ExprStore& s = graph.exprs;
  const Expr &identity = s[monoid.fields[0].identity], &combine = s[monoid.combine[0]];
  bool neutral =
      identity.op == Op::literal_real
          ? identity.real == identity_of(op)
          : identity.op == Op::literal_int &&
                (op == Op::add ? identity.integer == 0 : op == Op::mul && identity.integer == 1);
  return neutral && combine.op == op && s[combine.operands[0]].op == Op::lhs &&
         s[combine.operands[1]].op == Op::rhs;
}

bool adds(const Graph& graph, MonoidId id) {
  const Monoid& monoid = graph[id];
  if (monoid.form != Monoid::Form::expressions) return false;
  const ExprStore& s = graph.exprs;
  for (size_t f = 0; f < monoid.fields.size(); ++f) {
    const Expr &identity = s[monoid.fields[f].identity], &combine = s[monoid.combine[f]];
    bool zero = identity.op == Op::literal_real
                    ? identity.real == 0
                    : identity.op == Op::literal_int && identity.integer == 0;
    if (!zero || combine.op != Op::add) return false;
    const Expr &lhs = s[combine.operands[0]], &rhs = s[combine.operands[1]];
    if (lhs.op != Op::lhs || rhs.op != Op::rhs || lhs.ref != f || rhs.ref != f ||
        lhs.operands != rhs.operands || lhs.operands.size() != monoid.fields[f].axes.size())
      return false;
    for (size_t k = 0; k < lhs.operands.size(); ++k) {
      const Expr& place = s[lhs.operands[k]];
      if (place.op != Op::index || IndexId(place.ref) != monoid.fields[f].axes[k].index)
        return false;
    }
  }
  return true;
}

const Reduction* plain_reduction(const Graph& graph, const Node& node, Op op) {
  const auto* c = std::get_if<Comprehension>(&node.definition);
  if (!c || !c->reduction || c->scan || c->results.size() != 1) return nullptr;
  const Result& result = c->results[0];
  const Tensor& tensor = graph[result.tensor];
  bool free = tensor.kind == TensorKind::intermediate && !tensor.store_given && !tensor.accumulate;
  if (!free || !result.extra.empty() || graph.exprs[result.value].op != Op::acc ||
      !is_plain(graph, c->reduction->monoid, op))
    return nullptr;
  for (const Axis& axis : c->reduction->axes)
    if (axis.lo || axis.hi) return nullptr;
  return &*c->reduction;
}

} // namespace tang::rewrite
