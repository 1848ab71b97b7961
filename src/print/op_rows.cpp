#include "print/dialect.h"

namespace tang::print {

using kernel::Op;
using enum Precedence;

namespace {

constexpr OpRow numbers(std::string_view text, Precedence p) {
  return {{text, p}, {text, p}, {}};
}
constexpr OpRow reals(std::string_view text) {
  return {{text, postfix}, {}, {}};
}
constexpr OpRow integers(std::string_view text, Precedence p = postfix) {
  return {{}, {text, p}, {}};
}
constexpr OpRow helper(std::string_view text) {
  return numbers(text, postfix);
}
constexpr OpRow any(std::string_view text, Precedence p) {
  return {{text, p}, {text, p}, {text, p}};
}
constexpr OpRow booleans(std::string_view text, Precedence p) {
  return {{}, {}, {text, p}};
}

} // namespace

OpRow default_row(Op op) {
  switch (op) {
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
  case Op::to_real:
  case Op::cast: return {};
  case Op::add: return numbers("$0 + $1", additive);
  case Op::sub: return numbers("$0 - $1", additive);
  case Op::mul: return numbers("$0 * $1", multiplicative);
  case Op::neg: return numbers("-$0", prefix);
  case Op::min: return helper("tg_min_$t($0, $1)");
  case Op::max: return helper("tg_max_$t($0, $1)");
  case Op::abs: return {{"fabs$s($0)"}, {"tg_abs_$t($0)"}, {}};
  case Op::sign: return helper("tg_sign_$t($0)");
  case Op::floordiv: return helper("tg_floordiv_$t($0, $1)");
  case Op::mod: return helper("tg_mod_$t($0, $1)");
  case Op::div: return {{"$0 / $1", multiplicative}, {}, {}};
  case Op::pow: return reals("pow$s($0, $1)");
  case Op::atan2: return reals("atan2$s($0, $1)");
  case Op::floor: return reals("floor$s($0)");
  case Op::ceil: return reals("ceil$s($0)");
  case Op::round: return reals("rint$s($0)");
  case Op::exp: return reals("exp$s($0)");
  case Op::exp2: return reals("exp2$s($0)");
  case Op::log: return reals("log$s($0)");
  case Op::log2: return reals("log2$s($0)");
  case Op::sqrt: return reals("sqrt$s($0)");
  case Op::rsqrt: return {{"1 / sqrt$s($0)", multiplicative}, {}, {}};
  case Op::sin: return reals("sin$s($0)");
  case Op::cos: return reals("cos$s($0)");
  case Op::tan: return reals("tan$s($0)");
  case Op::tanh: return reals("tanh$s($0)");
  case Op::erf: return reals("erf$s($0)");
  case Op::bit_and: return integers("$0 & $1", bit_and);
  case Op::bit_or: return integers("$0 | $1", bit_or);
  case Op::bit_xor: return integers("$0 ^ $1", bit_xor);
  case Op::shl: return integers("tg_shl_$t($0, $1)");
  case Op::shr: return integers("tg_shr_$t($0, $1)");
  case Op::eq: return any("$0 == $1", equality);
  case Op::ne: return any("$0 != $1", equality);
  case Op::lt: return numbers("$0 < $1", relational);
  case Op::le: return numbers("$0 <= $1", relational);
  case Op::logical_and: return booleans("$0 && $1", logical_and);
  case Op::logical_or: return booleans("$0 || $1", logical_or);
  case Op::logical_not: return booleans("!$0", prefix);
  case Op::select: return any("$0 ? $1 : $2", conditional);
  }
  return {};
}

} // namespace tang::print
