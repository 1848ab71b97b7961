// Literals, conversions between machine formats, and rounding to storage formats.
#include "base/check.h"
#include "print/expressions.h"
#include <cmath>

namespace tang::print {

using graph::ElemType;
using kernel::Type;
using kernel::Value;
using kernel::ValueId;
using enum Precedence;

Piece Expressions::integer(int64_t value, Type type) const {
  const Words& words = dialect_.words;
  Precedence precedence = value < 0 ? multiplicative : primary;
  if (value == std::numeric_limits<int64_t>::min())
    return {std::string(words.least_i64.text()), primary};
  if (value == std::numeric_limits<int32_t>::min() && type == Type::i32)
    return {std::string(words.least_i32.text()), primary};
  bool wide = value < -2147483647 || value > 2147483647;
  return {fmt::format("{}{}", value, wide ? words.suffix_i64.text() : ""), precedence};
}

Piece Expressions::literal(const Value& value) const {
  const Words& words = dialect_.words;
  if (value.type == Type::boolean)
    return {std::string((value.integer ? words.true_value : words.false_value).text()), primary};
  if (!kernel::is_real(value.type)) return integer(value.integer, value.type);
  bool single = value.type == Type::f32;
  Precedence precedence = std::signbit(value.real) ? multiplicative : primary;
  const char* sign = std::signbit(value.real) ? "-" : "";
  double real = single ? static_cast<double>(static_cast<float>(value.real)) : value.real;
  if (std::isnan(real))
    return {std::string((single ? words.nan_f32 : words.nan_f64).text()), primary};
  if (std::isinf(real))
    return {sign + std::string((single ? words.infinity_f32 : words.infinity_f64).text()),
            precedence};
  std::string digits =
      single ? fmt::format("{}", static_cast<float>(value.real)) : fmt::format("{}", value.real);
  if (digits.find_first_of(".e") == digits.npos) digits += ".0";
  if (single) digits += words.suffix_f32.text();
  return {digits, precedence};
}

Piece Expressions::converted(Piece value, Type from, Type to) {
  auto wide = [](Type t) { return t == Type::index ? Type::i64 : t; };
  from = wide(from);
  to = wide(to);
  if (from == to) return value;
  if (to == Type::boolean) return {bracket(value, additive) + " != 0", equality};
  if (kernel::is_real(from) && kernel::is_integer(to)) {
    std::string helper = fmt::format("tg_{}_to_{}", suffix(from), suffix(to));
    helpers_.insert(helper);
    return {helper + "(" + value.text + ")", postfix};
  }
  std::string_view cast = dialect_.words.cast.text();
  std::string out;
  for (size_t i = 0; i < cast.size(); ++i) {
    if (cast[i] != '$') {
      out += cast[i];
    } else if (cast[++i] == 'w') {
      out += word(dialect_.words, to);
    } else {
      bool argument = i + 1 < cast.size() && cast[i + 1] == ')' && out.back() == '(';
      out += argument ? value.text : bracket(value, prefix);
    }
  }
  return {out, prefix};
}

Piece Expressions::clamped(Piece value, graph::IntRange have, Type type, ElemType to) {
  graph::IntRange want = graph::range_of(to);
  if (type == Type::i32) {
    graph::IntRange machine = graph::range_of(ElemType::i32);
    have = {std::max(have.lo, machine.lo), std::min(have.hi, machine.hi)};
    want = {std::max(want.lo, machine.lo), std::min(want.hi, machine.hi)};
  }
  if (want.contains(have)) return value;
  std::string helper = fmt::format("tg_clamp_{}", suffix(type));
  helpers_.insert(helper);
  return {fmt::format("{}({}, {}, {})", helper, value.text, integer(want.lo, type).text,
                      integer(want.hi, type).text),
          postfix};
}

namespace {
bool short_float(ElemType type) {
  return graph::scalar_of(type) == graph::Scalar::real && graph::info(type).bits < 32;
}
} // namespace

Piece Expressions::rounded(const Value& value) {
  ValueId operand = value.operands[0];
  Type from = values_[operand].type;
  Piece inner = render(operand);
  if (!kernel::is_real(from)) return clamped(inner, values_.range(operand), from, value.to);
  if (short_float(value.to)) {
    if (from == Type::f64) {
      helpers_.insert("tg_f64_to_f32_odd");
      inner = {"tg_f64_to_f32_odd(" + inner.text + ")", postfix};
    }
    Piece result{move(dialect_.storages[value.to].round.text(), "", "", inner), postfix};
    return converted(result, Type::f32, value.type);
  }
  if (value.to == ElemType::f32 && from == Type::f64)
    return converted(converted(inner, Type::f64, Type::f32), Type::f32, value.type);
  return inner;
}

Piece Expressions::storable(ValueId id, ElemType storage) {
  Type from = values_[id].type;
  graph::IntRange range = kernel::is_integer(from) ? values_.range(id) : graph::IntRange{};
  return storable(piece(id), from, range, storage);
}

Piece Expressions::storable(Piece value, Type from, graph::IntRange range, ElemType storage) {
  Type to = kernel::register_type(storage);
  if (to == Type::boolean) return converted(value, from, to);
  if (kernel::is_real(to)) {
    if (from != Type::f64 || !short_float(storage)) return converted(value, from, to);
    helpers_.insert("tg_f64_to_f32_odd");
    return {"tg_f64_to_f32_odd(" + value.text + ")", postfix};
  }
  if (kernel::is_integer(from)) return converted(clamped(value, range, from, storage), from, to);
  // A float saturates into the machine's integers first.
  return clamped(converted(value, from, to), {}, to, storage);
}

} // namespace tang::print
