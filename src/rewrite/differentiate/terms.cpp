#include "rewrite/differentiate/terms.h"
#include <algorithm>

namespace tang::rewrite {
using namespace graph;

namespace {

/// a*x + b*x = (a + b)*x.
std::optional<ExprId> factored(ExprStore& s, ExprId a, ExprId b) {
  const Expr x = s[a], y = s[b];
  if (x.op != Op::mul || y.op != Op::mul) return std::nullopt;
  for (size_t k : {0, 1})
    for (size_t l : {0, 1})
      if (x.operands[k] == y.operands[l] && !s.is_literal(x.operands[k]))
        return s.binary(Op::mul, s.binary(Op::add, x.operands[1 - k], y.operands[1 - l]),
                        x.operands[k]);
  return std::nullopt;
}

} // namespace

ExprId plus(ExprStore& s, ExprId a, ExprId b) {
  if (auto product = factored(s, a, b)) return *product;
  if (s[b].op == Op::neg) return s.binary(Op::sub, a, s[b].operands[0]);
  if (s[a].op == Op::neg) return s.binary(Op::sub, b, s[a].operands[0]);
  return s.binary(Op::add, a, b);
}

ExprId minus(ExprStore& s, ExprId a) {
  return s[a].op == Op::neg ? s[a].operands[0] : s.unary(Op::neg, a);
}

std::vector<std::pair<ExprId, bool>> conjuncts(ExprStore& s, ExprId condition, bool truth) {
  std::vector<std::pair<ExprId, bool>> parts, stack{{condition, truth}};
  while (!stack.empty()) {
    auto [id, value] = stack.back();
    stack.pop_back();
    const Expr e = s[id];
    if (e.op == Op::logical_not)
      stack.emplace_back(e.operands[0], !value);
    else if (e.op == (value ? Op::logical_and : Op::logical_or))
      stack.emplace_back(e.operands[1], value), stack.emplace_back(e.operands[0], value);
    else if (!value && (e.op == Op::lt || e.op == Op::le) &&
             s[e.operands[0]].scalar == Scalar::integer)
      parts.emplace_back(s.binary(e.op == Op::lt ? Op::le : Op::lt, e.operands[1], e.operands[0]),
                         true);
    else
      parts.emplace_back(id, value);
  }
  return parts;
}

ExprId as_term(ExprStore& s, ExprId condition, bool truth) {
  return truth ? condition : s.unary(Op::logical_not, condition);
}

ExprId both(ExprStore& s, ExprId a, ExprId b) {
  if (!a || !b) return a ? a : b;
  return s.logical_and(a, b);
}

ExprId where(ExprStore& s, ExprId condition, ExprId value, ExprId otherwise) {
  return condition ? s.select(condition, value, otherwise) : value;
}

bool has_division(const ExprStore& s, ExprId root) {
  auto terms = reachable(s, {&root, 1});
  return std::any_of(terms.begin(), terms.end(),
                     [&](ExprId id) { return s[id].op == Op::floordiv || s[id].op == Op::mod; });
}

ExprId Renaming::operator()(ExprId root) {
  if (!root) return root;
  std::vector<ExprId> stack{root};
  std::vector<ExprId> operands;
  while (!stack.empty()) {
    ExprId id = stack.back();
    const Expr e = s_[id];
    if (done_.contains(id)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    for (ExprId operand : e.operands)
      if (!done_.contains(operand)) stack.push_back(operand), ready = false;
    // A fold's own indices get their names before its operands are visited.
    for (IndexId index : e.bound)
      if (!map_.contains(index)) {
        map_[index] = s_.index(fresh_);
        fresh_ = IndexId(fresh_.value + 1);
      }
    if (!ready) continue;
    stack.pop_back();
    operands.clear();
    for (ExprId operand : e.operands) operands.push_back(done_.at(operand));
    ExprId result;
    if (e.op == Op::index) {
      auto at = map_.find(IndexId(e.ref));
      result = at == map_.end() ? id : at->second;
    } else if (e.op == Op::fold) {
      std::vector<IndexId> bound;
      for (IndexId index : e.bound) bound.push_back(IndexId(s_[map_.at(index)].ref));
      result = s_.fold(MonoidId(e.ref), e.scalar, bound, std::span(operands).subspan(2),
                       operands[1], operands[0]);
    } else {
      result = s_.with_operands(id, operands);
    }
    done_[id] = result;
  }
  return done_.at(root);
}

} // namespace tang::rewrite
