#pragma once
// Scalar expressions: immutable, interned terms. Equal expressions have equal ids.
#include "base/id.h"
#include "base/inline_vector.h"
#include "base/interner.h"
#include "graph/type.h"
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tang::graph {

enum class Op : uint8_t {
#define TANG_OP(name, arity, operands, result, text) name,
#include "graph/ops.def"
#undef TANG_OP
};

enum class OperandClass : uint8_t { any, num, real, integer, boolean, same };

struct OpInfo {
  std::string_view name;
  int arity; ///< -1 = any
  OperandClass operands;
  OperandClass result;
  std::string_view text;
};
const OpInfo& info(Op op);
/// The op that a built-in function of `.tg` names, such as `exp` or `where`.
std::optional<Op> op_of_function(std::string_view name);

struct Expr;
struct Dim;
struct Tensor;
struct Monoid;
struct IndexTag;
using ExprId = Id<Expr>;
using DimId = Id<Dim>;
using TensorId = Id<Tensor>;
using MonoidId = Id<Monoid>;
/// Names an axis inside one node (or one monoid). Nodes are renumbered when they enter a graph, so
/// that nodes that differ only in the names of their indices hold the same ids.
using IndexId = Id<IndexTag>;

/// One scalar term. `read` and friends keep places in `operands`; see ops.def for each op.
struct Expr {
  Op op = Op::literal_int;
  Scalar scalar = Scalar::integer; ///< class of the value
  ElemType to = ElemType::f32;     ///< cast only
  bool guarded = false;            ///< read only: the last operand is the value outside the tensor
  uint32_t ref = 0;                ///< what a leaf names: index, dim, tensor, field, monoid
  int64_t integer = 0;             ///< literal_int, literal_bool (0 or 1)
  double real = 0; ///< literal_real; compared by bits, so that NaN and -0 are terms too
  InlineVector<ExprId, 4> operands;
  InlineVector<IndexId, 4> bound; ///< fold only

  /// Derived when interned, not part of equality:
  InlineVector<IndexId, 4> free; ///< indices that occur free, ascending
  uint32_t tree_size = 1;        ///< size when printed as a tree, saturating
  bool has_state = false;        ///< holds acc, lhs, rhs or a fold somewhere
  bool has_read = false;         ///< reads a tensor (or state) somewhere

  friend bool operator==(const Expr& a, const Expr& b);
};

/// Owns terms and builds them. Construction applies only laws that are exact for every value,
/// NaN included: integer and boolean constant folding, `select` on a literal, x*1, x/1, integer
/// x+0; never x*0, x-x or reassociation of reals (language.md 5).
class ExprStore {
public:
  const Expr& operator[](ExprId id) const { return terms_[id]; }
  size_t size() const { return terms_.size(); }

  ExprId integer(int64_t value);
  ExprId real(double value);
  ExprId boolean(bool value);
  ExprId index(IndexId id);
  ExprId dim(DimId id);
  /// `places` in the tensor's order. `scalar` is the class of the tensor's elements.
  ExprId read(TensorId tensor, Scalar scalar, std::span<const ExprId> places,
              ExprId otherwise = {});
  /// op is acc, lhs or rhs.
  ExprId state(Op op, uint32_t field, Scalar scalar, std::span<const ExprId> places = {});
  ExprId fold(MonoidId monoid, Scalar scalar, std::span<const IndexId> bound,
              std::span<const ExprId> extents, ExprId filter, ExprId body);
  ExprId unary(Op op, ExprId a);
  ExprId binary(Op op, ExprId a, ExprId b);
  ExprId select(ExprId condition, ExprId a, ExprId b);
  ExprId to_real(ExprId a);
  ExprId cast(ElemType to, ExprId a);
  ExprId logical_and(ExprId a, ExprId b) { return binary(Op::logical_and, a, b); }

  /// The same op with other operands (through the smart constructors above).
  ExprId with_operands(ExprId id, std::span<const ExprId> operands);

  bool is_literal(ExprId id) const;
  /// The value of an integer literal.
  std::optional<int64_t> as_integer(ExprId id) const;
  std::optional<bool> as_boolean(ExprId id) const;

private:
  ExprId intern(Expr e);
  struct Hash {
    size_t operator()(const Expr& e) const;
  };
  Interner<Expr, ExprId, Hash> terms_;
};

/// Every term reachable from `roots`, operands before users (ascending ids). Iterative.
std::vector<ExprId> reachable(const ExprStore& store, std::span<const ExprId> roots);

/// Rewrites the DAG under `root` bottom-up, visiting each shared term once: `visit` is given the id
/// of a term whose operands are already rewritten and returns its replacement. Indices bound by a
/// fold are not protected: the caller avoids capture by using fresh ids.
ExprId rewrite(ExprStore& store, ExprId root, const std::function<ExprId(ExprId)>& visit);

/// Replaces free indices. Extents of folds are rewritten as well.
ExprId substitute(ExprStore& store, ExprId root, const std::unordered_map<IndexId, ExprId>& map);

} // namespace tang::graph
