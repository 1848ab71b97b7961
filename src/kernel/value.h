#pragma once
// Scalar values inside kernels and launchers: immutable, interned, typed by machine format.
//
// The operations are the graph's (graph/ops.def), so that a scalar op has one row for every level.
#include "base/inline_vector.h"
#include "graph/polynomial.h"
#include <string>

namespace tang::kernel {

using graph::ElemType;
using graph::Op;

/// Machine formats that values compute in. `index` stands for an address integer until the
/// `index_width` pass makes it i32 or i64.
enum class Type : uint8_t { boolean, i32, i64, index, f32, f64 };
std::string_view name(Type type);
inline bool is_real(Type t) {
  return t == Type::f32 || t == Type::f64;
}
inline bool is_integer(Type t) {
  return t == Type::i32 || t == Type::i64 || t == Type::index;
}

/// The format in which registers hold what memory holds in a storage format.
Type register_type(ElemType type);

struct Value;
struct Var;
struct Tensor;
using ValueId = Id<Value>;
using VarId = Id<Var>;
using TensorId = Id<Tensor>;

/// How a value is made.
enum class Form : uint8_t {
  literal,   ///< integer (integers, booleans) or real
  variable,  ///< `ref` is a VarId: loop index, coordinate, parameter, or a Let/Load result
  element,   ///< `ref` is a TensorId in register memory; operands are its coordinates
  operation, ///< `op` on the operands
  convert, ///< the operand as `type`: widening, int to float, float to int (truncate, saturate, NaN
           ///< to 0)
  round,   ///< the real operand rounded to the storage format `to` and back to `type`
};

struct Value {
  Form form = Form::literal;
  Op op = Op::add; ///< operation only
  Type type = Type::index;
  ElemType to = ElemType::f32; ///< round only; for integers: saturate to this type
  uint32_t ref = 0;
  int64_t integer = 0;
  double real = 0; ///< compared by bits
  InlineVector<ValueId, 4> operands;
  friend bool operator==(const Value& a, const Value& b);
};

/// A name for a value or coordinate. Immutable: defined once (Let, Load, Shfl, loop, coordinate,
/// parameter). Mutable state lives in register tensors.
struct Var {
  std::string name;
  Type type = Type::index;
  /// Known range for simplification and proofs: lo <= var <= hi (inclusive) where given.
  std::optional<int64_t> lo, hi;
  int64_t step = 1; ///< it is a multiple of this
};

/// Owns values. Construction folds integer constants and the exact identities x+0, x*1, x*0 (for
/// integers only), x/1, nested floordiv and mod by constants with known ranges, and select on
/// literals. Sums of index values are kept in a canonical order.
class ValueStore {
public:
  const Value& operator[](ValueId id) const { return values_[id]; }
  const Var& operator[](VarId id) const { return vars_[id.value]; }
  size_t size() const { return values_.size(); }
  const std::vector<Var>& vars() const { return vars_; }

  VarId add_var(Var var);
  ValueId variable(VarId id);
  ValueId variable(Var var) { return variable(add_var(std::move(var))); }
  ValueId integer(int64_t value, Type type = Type::index);
  ValueId boolean(bool value);
  ValueId real(double value, Type type);
  ValueId element(TensorId tensor, Type type, std::span<const ValueId> coordinates);
  ValueId unary(Op op, ValueId a);
  ValueId binary(Op op, ValueId a, ValueId b); ///< operands of one type
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId convert(Type to, ValueId a);
  ValueId round(ElemType to, ValueId a);
  ValueId with_operands(ValueId id, std::span<const ValueId> operands);
  /// A value as it stands, to which no law is applied: what a text says. Operands are values of
  /// this store and fit the form.
  ValueId exactly(Value value) { return intern(std::move(value)); }

  // Index arithmetic in short.
  ValueId add(ValueId a, ValueId b) { return binary(Op::add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(Op::sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(Op::mul, a, b); }
  ValueId ceildiv(ValueId a, int64_t b);
  ValueId less(ValueId a, ValueId b) { return binary(Op::lt, a, b); }
  ValueId both(ValueId a, ValueId b); ///< logical and; an empty id is "true"

  std::optional<int64_t> as_integer(ValueId id) const;
  std::optional<bool> as_boolean(ValueId id) const;
  /// Interval of an integer value from the ranges of its variables; unbounded where unknown.
  graph::IntRange range(ValueId id) const;

private:
  ValueId intern(Value value);
  ValueId operation(Op op, Type type, std::initializer_list<ValueId> operands);
  ValueId sum(const graph::Polynomial& form);
  ValueId product(const graph::Polynomial::Monomial& atoms);
  ValueId divide(Op op, ValueId a, ValueId b);
  ValueId compare(Op op, ValueId a, ValueId b);
  ValueId extremum(Op op, ValueId a, ValueId b);
  ValueId connective(Op op, ValueId a, ValueId b);
  ValueId integer_arithmetic(Op op, ValueId a, ValueId b);
  ValueId real_arithmetic(Op op, ValueId a, ValueId b);
  struct Hash {
    size_t operator()(const Value& v) const;
  };
  Interner<Value, ValueId, Hash> values_;
  std::vector<graph::IntRange> ranges_; ///< one per value, known when it is made
  std::vector<Var> vars_;
};

/// Rewrites the DAG under `root` bottom-up, each shared value once (graph::rewrite).
ValueId rewrite(ValueStore& store, ValueId root, const std::function<ValueId(ValueId)>& visit);
/// Values reachable from `roots`, operands first, in the order of their ids.
std::vector<ValueId> reachable(const ValueStore& store, std::span<const ValueId> roots);
/// The same in the order in which a reader meets them, left to right, which depends on nothing but
/// what the values are. Values for which `known` holds are left out, with what only they need.
std::vector<ValueId> reading_order(const ValueStore& store, std::span<const ValueId> roots,
                                   const std::function<bool(ValueId)>& known = {});

} // namespace tang::kernel
