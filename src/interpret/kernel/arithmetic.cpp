// Scalar operations on slots. Words of f32 hold doubles that are rounded after each operation;
// those of i32 wrap as machine integers do.
#include "base/checked.h"
#include "interpret/formats.h"
#include "interpret/kernel/lanes.h"
#include "interpret/scalar_ops.h"
#include <cmath>

namespace tang::interpret::simulator {

namespace {

double rounded(double x, bool single) {
  return single ? static_cast<double>(static_cast<float>(x)) : x;
}

Word wrapped(int64_t x, Type type) {
  return word(type == Type::i32 ? int64_t{static_cast<int32_t>(x)} : x);
}

} // namespace

void Machine::unary(const Instruction& i, const Mask& mask) {
  bool single = i.type == Type::f32;
  if (i.op == Op::logical_not) {
    map1(i, mask, [](Word a) { return Word{a == 0}; });
  } else if (!kernel::is_real(i.from)) {
    map1(i, mask, [&](Word a) {
      return wrapped(integer_unary(i.op, integer_of(a)).value_or(integer_of(a)), i.type);
    });
  } else if (i.op == Op::neg) {
    map1(i, mask, [](Word a) { return word(-real_of(a)); });
  } else {
    map1(i, mask, [&](Word a) { return word(rounded(real_unary(i.op, real_of(a)), single)); });
  }
}

void Machine::binary(const Instruction& i, const Mask& mask) {
  if (kernel::is_real(i.from)) return binary_real(i, mask);
  binary_integer(i, mask);
}

void Machine::binary_real(const Instruction& i, const Mask& mask) {
  bool single = i.type == Type::f32;
  auto arithmetic = [&](auto f) {
    if (single)
      map2(i, mask, [&](Word a, Word b) {
        return word(static_cast<double>(static_cast<float>(f(real_of(a), real_of(b)))));
      });
    else
      map2(i, mask, [&](Word a, Word b) { return word(f(real_of(a), real_of(b))); });
  };
  switch (i.op) {
  case Op::add: return arithmetic([](double a, double b) { return a + b; });
  case Op::sub: return arithmetic([](double a, double b) { return a - b; });
  case Op::mul: return arithmetic([](double a, double b) { return a * b; });
  case Op::div: return arithmetic([](double a, double b) { return a / b; });
  case Op::eq:
  case Op::ne:
  case Op::lt:
  case Op::le:
    return map2(i, mask,
                [&](Word a, Word b) { return Word{real_compare(i.op, real_of(a), real_of(b))}; });
  default: return arithmetic([&](double a, double b) { return real_binary(i.op, a, b); });
  }
}

void Machine::binary_integer(const Instruction& i, const Mask& mask) {
  auto wrapping = [&](auto f) {
    map2(i, mask, [&](Word a, Word b) { return wrapped(static_cast<int64_t>(f(a, b)), i.type); });
  };
  auto exact = [&](auto f) {
    map2(i, mask, [&](Word a, Word b) { return word(f(integer_of(a), integer_of(b))); });
  };
  switch (i.op) {
  case Op::add: return wrapping([](Word a, Word b) { return a + b; });
  case Op::sub: return wrapping([](Word a, Word b) { return a - b; });
  case Op::mul: return wrapping([](Word a, Word b) { return a * b; });
  case Op::floordiv: return exact([](int64_t a, int64_t b) { return floordiv(a, b); });
  case Op::mod: return exact([](int64_t a, int64_t b) { return floormod(a, b); });
  case Op::min: return exact([](int64_t a, int64_t b) { return std::min(a, b); });
  case Op::max: return exact([](int64_t a, int64_t b) { return std::max(a, b); });
  case Op::lt: return exact([](int64_t a, int64_t b) { return int64_t{a < b}; });
  case Op::le: return exact([](int64_t a, int64_t b) { return int64_t{a <= b}; });
  case Op::eq: return exact([](int64_t a, int64_t b) { return int64_t{a == b}; });
  case Op::ne: return exact([](int64_t a, int64_t b) { return int64_t{a != b}; });
  case Op::logical_and: return exact([](int64_t a, int64_t b) { return int64_t{a && b}; });
  case Op::logical_or: return exact([](int64_t a, int64_t b) { return int64_t{a || b}; });
  default:
    // A shift beyond 64 bits has no value that anything may count on.
    return map2(i, mask, [&](Word a, Word b) {
      return wrapped(integer_binary(i.op, integer_of(a), integer_of(b)).value_or(0), i.type);
    });
  }
}

void Machine::select(const Instruction& i, const Mask& mask) {
  const Word *c = words(i.a), *a = words(i.b), *b = words(i.c);
  Word* d = words(i.d);
  each(mask, i.d.varies,
       [&](size_t t) { d[t] = c[t * stride(i.a)] != 0 ? a[t * stride(i.b)] : b[t * stride(i.c)]; });
}

void Machine::convert(const Instruction& i, const Mask& mask) {
  bool from_real = kernel::is_real(i.from);
  switch (i.type) {
  case Type::boolean:
    if (from_real) return map1(i, mask, [](Word a) { return Word{real_of(a) != 0}; });
    return map1(i, mask, [](Word a) { return Word{a != 0}; });
  case Type::f32:
  case Type::f64: {
    ElemType to = i.type == Type::f32 ? ElemType::f32 : ElemType::f64;
    if (from_real) return map1(i, mask, [&](Word a) { return word(round_to(to, real_of(a))); });
    return map1(i, mask, [&](Word a) { return word(round_integer_to(to, integer_of(a))); });
  }
  case Type::i32:
  case Type::i64:
  case Type::index: {
    ElemType to = i.type == Type::i32 ? ElemType::i32 : ElemType::i64;
    if (from_real) return map1(i, mask, [&](Word a) { return word(to_integer(to, real_of(a))); });
    return map1(i, mask, [&](Word a) { return wrapped(integer_of(a), i.type); });
  }
  }
}

void Machine::round(const Instruction& i, const Mask& mask) {
  if (kernel::is_real(i.type))
    map1(i, mask, [&](Word a) { return word(round_to(i.format, real_of(a))); });
  else
    map1(i, mask, [&](Word a) { return word(to_integer(i.format, integer_of(a))); });
}

} // namespace tang::interpret::simulator
