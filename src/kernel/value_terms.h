#pragma once
// Values of a kernel, or of the host, as terms of a graph: integers and booleans.
#include "graph/expr.h"
#include "kernel/value.h"
#include <functional>
#include <unordered_map>

namespace tang::kernel {

/// Values as terms: all operands first, each value once.
class ValueTerms {
public:
  using Vars = std::unordered_map<VarId, graph::ExprId>;
  /// A term for what the graph cannot say, of which only type and range are known.
  using Unknown = std::function<graph::ExprId(Type, graph::IntRange)>;

  /// `vars`: what variables stand for, those without a term become unknowns there. `done`: by
  /// value, terms made before and here.
  ValueTerms(graph::ExprStore& exprs, const ValueStore& store, Vars& vars,
             std::vector<graph::ExprId>& done, Unknown unknown);

  /// `made` is told of every value that gets a term; may be empty.
  graph::ExprId term(ValueId root, const std::function<void(ValueId)>& made = {});

private:
  bool is_integer_operand(const Value& v) const { return is_integer(store_[v.operands[0]].type); }
  bool has_meaning(const Value& v) const;
  graph::ExprId one(ValueId id, const Value& v);

  graph::ExprStore& e_;
  const ValueStore& store_;
  Vars& vars_;
  std::vector<graph::ExprId>& done_;
  Unknown unknown_;
};

} // namespace tang::kernel
