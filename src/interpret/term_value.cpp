#include "interpret/term_value.h"
#include "base/check.h"
#include "interpret/formats.h"
#include "interpret/scalar_ops.h"

namespace tang::interpret {

using graph::Expr;
using graph::ExprId;
using graph::OperandClass;
using graph::Scalar;

namespace {

using Found = std::optional<Word>;

Found cast_value(ElemType to, Scalar from, Word x) {
  bool real = graph::scalar_of(to) == Scalar::real;
  if (from == Scalar::real)
    return real ? word(round_to(to, real_of(x))) : word(to_integer(to, real_of(x)));
  return real ? word(round_integer_to(to, integer_of(x))) : word(to_integer(to, integer_of(x)));
}

Found integer_word(std::optional<int64_t> value) {
  return value ? Found(word(*value)) : std::nullopt;
}

class TermValue {
public:
  explicit TermValue(const TermContext& context) : context_(context), exprs_(context.graph.exprs) {}

  Found of(ExprId root) {
    for (ExprId id : graph::reachable(exprs_, {&root, 1})) {
      // What stands inside a fold has a value only there.
      bool bound_outside = true;
      for (graph::IndexId index : exprs_[id].free)
        bound_outside &= context_.indices.contains(index);
      if (bound_outside) values_[id] = value(exprs_[id]);
    }
    return values_.at(root);
  }

private:
  Found operand(const Expr& e, size_t n) const { return values_.at(e.operands[n]); }

  Found value(const Expr& e) {
    switch (e.op) {
    case Op::literal_int:
    case Op::literal_bool: return word(e.integer);
    case Op::literal_real: return word(e.real);
    case Op::index: return word(context_.indices.at(graph::IndexId(e.ref)));
    case Op::dim: return word(context_.dims[e.ref]);
    case Op::read:
    case Op::acc:
    case Op::lhs:
    case Op::rhs: return read(e);
    case Op::fold: return fold(e);
    case Op::select: {
      Found condition = operand(e, 0);
      return condition ? operand(e, *condition ? 1 : 2) : std::nullopt;
    }
    case Op::logical_and:
    case Op::logical_or: {
      Found a = operand(e, 0);
      return !a || *a == (e.op == Op::logical_or) ? a : operand(e, 1);
    }
    default: return strict(e);
    }
  }

  Found strict(const Expr& e) const {
    Found a = operand(e, 0), b = e.operands.size() > 1 ? operand(e, 1) : Word{0};
    if (!a || !b) return std::nullopt;
    Scalar from = exprs_[e.operands[0]].scalar;
    bool compares = graph::info(e.op).result == OperandClass::boolean;
    if (e.op == Op::logical_not) return *a ^ 1;
    if (e.op == Op::to_real) return word(static_cast<double>(integer_of(*a)));
    if (e.op == Op::cast) return cast_value(e.to, from, *a);
    if (from == Scalar::real) {
      double x = real_of(*a), y = real_of(*b);
      if (compares) return Word{real_compare(e.op, x, y)};
      return word(e.operands.size() == 1 ? real_unary(e.op, x) : real_binary(e.op, x, y));
    }
    int64_t x = integer_of(*a), y = integer_of(*b);
    if (compares) return Word{integer_compare(e.op, x, y)};
    return integer_word(e.operands.size() == 1 ? integer_unary(e.op, x)
                                               : integer_binary(e.op, x, y));
  }

  Found read(const Expr& e) const {
    std::vector<int64_t> places;
    for (size_t n = 0; n + e.guarded < e.operands.size(); ++n) {
      Found place = operand(e, n);
      if (!place) return std::nullopt;
      places.push_back(integer_of(*place));
    }
    Found value = context_.read(e, places);
    return value || !e.guarded ? value : operand(e, e.operands.size() - 1);
  }

  /// Nested folds recurse; monoids and macros nest them a few levels deep.
  Found fold(const Expr& e) {
    const graph::Monoid& monoid = context_.graph.monoids[e.ref];
    TANG_CHECK(monoid.fields.size() == 1, "a fold under `{}`", monoid.name);
    Word state = *term_value(context_, monoid.fields[0].identity);
    TermContext inner = context_;
    std::vector<int64_t> extents;
    for (size_t n = 2; n < e.operands.size(); ++n) {
      Found extent = operand(e, n);
      if (!extent) return std::nullopt;
      if (integer_of(*extent) <= 0) return state;
      extents.push_back(integer_of(*extent));
      inner.indices[e.bound[n - 2]] = 0;
    }
    for (;;) {
      Found takes_part = term_value(inner, e.operands[1]);
      Found element = takes_part && *takes_part ? term_value(inner, e.operands[0]) : takes_part;
      if (!element) return std::nullopt;
      if (*takes_part) {
        TermContext join{context_.graph, context_.dims, {}, {}};
        join.read = [&](const Expr& s, std::span<const int64_t>) -> Found {
          return s.op == Op::lhs ? state : *element;
        };
        Found next = term_value(join, monoid.combine[0]);
        if (!next) return std::nullopt;
        state = *next;
      }
      size_t n = extents.size();
      while (n > 0 && ++inner.indices[e.bound[n - 1]] == extents[n - 1])
        inner.indices[e.bound[--n]] = 0;
      if (n == 0) return state;
    }
  }

  const TermContext& context_;
  const graph::ExprStore& exprs_;
  std::unordered_map<ExprId, Found> values_;
};

} // namespace

Found term_value(const TermContext& context, ExprId root) {
  return TermValue(context).of(root);
}

} // namespace tang::interpret
