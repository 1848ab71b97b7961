#include "rewrite/differentiate/derivative.h"
#include "base/check.h"
#include "rewrite/differentiate/terms.h"

namespace tang::rewrite {
using namespace graph;

namespace {

class Rules {
public:
  Rules(ExprStore& store, ExprId id, ExprId adjoint)
      : s_(store), e_(store[id]), u_(id), g_(adjoint), a_(e_.operands[0]),
        b_(e_.operands.size() > 1 ? e_.operands[1] : ExprId()) {}

  ExprId by(size_t k) {
    switch (e_.op) {
    case Op::add: return g_;
    case Op::sub: return k == 0 ? g_ : minus(s_, g_);
    case Op::mul: return mul(g_, k == 0 ? b_ : a_);
    case Op::neg: return minus(s_, g_);
    case Op::abs: return mul(g_, f(Op::sign, a_));
    // mod(a, b) = a - b * floordiv(a, b)
    case Op::mod: return k == 0 ? g_ : minus(s_, mul(g_, s_.binary(Op::floordiv, a_, b_)));
    case Op::div: return k == 0 ? div(g_, b_) : minus(s_, div(mul(g_, u_), b_));
    case Op::pow: return k == 0 ? pow_by_base() : pow_by_exponent();
    case Op::atan2: {
      ExprId square = s_.binary(Op::add, mul(a_, a_), mul(b_, b_));
      return k == 0 ? div(mul(g_, b_), square) : minus(s_, div(mul(g_, a_), square));
    }
    case Op::exp: return mul(g_, u_);
    case Op::exp2: return mul(mul(g_, u_), ln2());
    case Op::log: return div(g_, a_);
    case Op::log2: return div(g_, mul(a_, ln2()));
    case Op::sqrt: return div(mul(g_, real(0.5)), u_);
    case Op::rsqrt: return mul(mul(g_, real(-0.5)), mul(u_, mul(u_, u_)));
    case Op::sin: return mul(g_, f(Op::cos, a_));
    case Op::cos: return minus(s_, mul(g_, f(Op::sin, a_)));
    case Op::tan: return mul(g_, s_.binary(Op::add, real(1), mul(u_, u_)));
    case Op::tanh: return mul(g_, s_.binary(Op::sub, real(1), mul(u_, u_)));
    case Op::erf:
      return mul(mul(g_, real(1.1283791670955126)), // 2 / sqrt(pi)
                 f(Op::exp, minus(s_, mul(a_, a_))));
    case Op::cast: return g_;
    case Op::literal_int:
    case Op::literal_real:
    case Op::literal_bool:
    case Op::index:
    case Op::dim:
    case Op::read:
    case Op::acc:
    case Op::lhs:
    case Op::rhs:
    case Op::fold:
    case Op::min:
    case Op::max:
    case Op::select:
    case Op::sign:
    case Op::floordiv:
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
    case Op::to_real: break;
    }
    TANG_CHECK(false, "`{}` has no derivative by operand {}", info(e_.op).name, k);
  }

private:
  ExprId real(double value) { return s_.real(value); }
  ExprId ln2() { return real(0.6931471805599453); }
  ExprId mul(ExprId a, ExprId b) { return s_.binary(Op::mul, a, b); }
  ExprId div(ExprId a, ExprId b) { return s_.binary(Op::div, a, b); }
  ExprId f(Op op, ExprId a) { return s_.unary(op, a); }

  /// b * a^(b-1); 0 for b = 0, also where a^(b-1) is not finite.
  ExprId pow_by_base() {
    if (s_[b_].op == Op::literal_real) {
      double b = s_[b_].real;
      if (b == 0) return mul(g_, real(0));
      ExprId power = b == 2 ? a_ : s_.binary(Op::pow, a_, real(b - 1));
      return mul(g_, mul(b_, power));
    }
    ExprId power = s_.binary(Op::pow, a_, s_.binary(Op::sub, b_, real(1)));
    return mul(g_, s_.select(s_.binary(Op::eq, b_, real(0)), real(0), mul(b_, power)));
  }

  /// a^b * log(a); 0 for a = 0 and b >= 0, where the power is constant.
  ExprId pow_by_exponent() {
    ExprId slope = mul(u_, f(Op::log, a_));
    if (s_[a_].op == Op::literal_real && s_[a_].real != 0) return mul(g_, slope);
    ExprId flat = s_.logical_and(s_.binary(Op::eq, a_, real(0)), s_.binary(Op::le, real(0), b_));
    return mul(g_, s_.select(flat, real(0), slope));
  }

  ExprStore& s_;
  const Expr e_; ///< a copy: new terms move the store's
  ExprId u_, g_, a_, b_;
};

} // namespace

ExprId times_derivative(ExprStore& store, ExprId id, size_t k, ExprId adjoint) {
  return Rules(store, id, adjoint).by(k);
}

} // namespace tang::rewrite
