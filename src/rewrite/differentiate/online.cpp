#include "rewrite/differentiate/online.h"
#include "rewrite/differentiate/maker.h"
#include "rewrite/differentiate/monoid.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

/// The ways to write one side's share. Terms are interned, so building one and comparing its id
/// tells whether the combine is that.
std::vector<ExprId> shares(ExprStore& s, ExprId own, ExprId own_max, ExprId other_max) {
  std::vector<ExprId> found;
  auto scaled = [&](ExprId by) {
    ExprId factor = s.unary(Op::exp, s.binary(Op::sub, own_max, by));
    return std::vector{s.binary(Op::mul, own, factor), s.binary(Op::mul, factor, own)};
  };
  for (ExprId max : {s.binary(Op::max, own_max, other_max), s.binary(Op::max, other_max, own_max)})
    for (ExprId product : scaled(max)) {
      found.push_back(product);
      found.push_back(s.select(s.binary(Op::eq, own_max, max), own, product));
    }
  for (ExprId product : scaled(other_max)) {
    found.push_back(s.select(s.binary(Op::le, other_max, own_max), own, product));
    found.push_back(s.select(s.binary(Op::lt, own_max, other_max), product, own));
  }
  return found;
}

} // namespace

std::optional<uint32_t> scaled_by_maximum(Graph& graph, MonoidId id, uint32_t field) {
  ExprStore& s = graph.exprs;
  const Monoid m = graph[id];
  if (m.form != Monoid::Form::expressions || m.fields[field].scalar != Scalar::real)
    return std::nullopt;
  std::vector<uint32_t> behind = fields_behind(graph, id, field);
  if (behind.size() != 2) return std::nullopt;
  uint32_t max = behind[0] == field ? behind[1] : behind[0];
  if (kind_of(graph, id, max) != FieldKind::maximum || !m.fields[max].axes.empty())
    return std::nullopt;
  const Expr sum = s[m.combine[field]];
  if (sum.op != Op::add) return std::nullopt;
  auto places = indices_of(s, m.fields[field].axes);
  auto share = [&](Op side, Op other) {
    return shares(s, s.state(side, field, Scalar::real, places), s.state(side, max, Scalar::real),
                  s.state(other, max, Scalar::real));
  };
  auto earlier = share(Op::lhs, Op::rhs), later = share(Op::rhs, Op::lhs);
  auto is = [](const std::vector<ExprId>& list, ExprId term) {
    return std::find(list.begin(), list.end(), term) != list.end();
  };
  bool matches = (is(earlier, sum.operands[0]) && is(later, sum.operands[1])) ||
                 (is(later, sum.operands[0]) && is(earlier, sum.operands[1]));
  return matches ? std::optional(max) : std::nullopt;
}

} // namespace tang::rewrite
