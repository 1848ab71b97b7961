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
