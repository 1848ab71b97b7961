// Every scalar operation in printed C and OpenCL against the same operation here.
#include "base/checked.h"
#include "run.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang;
using namespace tang::kernel;
using namespace tang::print_test;
using graph::ElemType;

namespace {

/// z_k[i] = op_k(x[i], y[i]) for a list of operations.
template <class Build>
Built many(ElemType in, Type type, ElemType out, size_t count, const Build& build) {
  Built b;
  ValueId n = b.dim("n", 0, 1 << 20);
  std::vector<BufferId> buffers{b.argument("x", in, n, false), b.argument("y", in, n, false)};
  Maker m("ops");
  TensorId x = m.global("x", in), y = m.global("y", in);
  std::vector<TensorId> results;
  for (size_t k = 0; k < count; ++k) {
    buffers.push_back(b.argument(fmt::format("z{}", k), out, n, true));
    results.push_back(m.global(fmt::format("z{}", k), out, true));
  }
  ValueId extent = m.scalar("n");
  VarId i = m.var("i", Type::i64, 0, 1 << 20), vx = m.var("x", type), vy = m.var("y", type);
  ValueId at = m.v().variable(i);
  Body body{load(vx, x, at), load(vy, y, at)};
  for (size_t k = 0; k < count; ++k)
    body.push_back(store(results[k], at, build(m.v(), k, m.v().variable(vx), m.v().variable(vy))));
  m.kernel.body.push_back(loop(i, m.number(0), extent, m.number(1), body));
  b.launch(std::move(m.kernel), buffers, {n});
  return b;
}

constexpr auto executions = {execute_c, execute_opencl};

template <class T>
std::vector<std::vector<T>> run_many(decltype(execute_c)& execute, const Built& b, const Bytes& x,
                                     const Bytes& y, size_t n, size_t count) {
  std::vector<Bytes> fields{x, y};
  for (size_t k = 0; k < count; ++k) fields.push_back(Bytes(n * sizeof(T), 0xff));
  auto result = execute(b, {static_cast<int64_t>(n)}, fields);
  std::vector<std::vector<T>> out;
  for (size_t k = 0; k < count && !result.empty(); ++k) out.push_back(numbers_of<T>(result[k + 2]));
  return out;
}

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t most = std::numeric_limits<int64_t>::max();

struct IntegerOp {
  Op op;
  std::function<int64_t(int64_t, int64_t)> expected;
};
const IntegerOp integer_ops[] = {
    {Op::min, [](int64_t a, int64_t b) { return std::min(a, b); }},
    {Op::max, [](int64_t a, int64_t b) { return std::max(a, b); }},
    {Op::abs, [](int64_t a, int64_t) { return a == least ? most : std::abs(a); }},
    {Op::sign, [](int64_t a, int64_t) { return int64_t((a > 0) - (a < 0)); }},
    {Op::floordiv, [](int64_t a, int64_t b) { return floordiv(a, b); }},
    {Op::mod, [](int64_t a, int64_t b) { return floormod(a, b); }},
    {Op::bit_and, [](int64_t a, int64_t b) { return a & b; }},
    {Op::bit_or, [](int64_t a, int64_t b) { return a | b; }},
    {Op::bit_xor, [](int64_t a, int64_t b) { return a ^ b; }},
    {Op::shl, [](int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : int64_t(uint64_t(a) << b); }},
    {Op::shr, [](int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }},
    {Op::eq, [](int64_t a, int64_t b) { return int64_t(a == b); }},
    {Op::ne, [](int64_t a, int64_t b) { return int64_t(a != b); }},
    {Op::lt, [](int64_t a, int64_t b) { return int64_t(a < b); }},
    {Op::le, [](int64_t a, int64_t b) { return int64_t(a <= b); }},
};

ValueId integer_value(ValueStore& v, Op op, ValueId x, ValueId y) {
  ValueId value = graph::info(op).arity == 1 ? v.unary(op, x) : v.binary(op, x, y);
  return v.convert(Type::i64, value);
}

struct RealOp {
  Op op;
  std::function<double(double, double)> expected;
};
/// With the divisor's sign; 0 for divisor 0.
double remainder(double a, double b) {
  if (b == 0) return std::isnan(a) ? a : 0;
  double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
/// Of the exact quotient: floor(a / b) of the rounded one is 10 for 1 and 0.1f, and the remainder
/// is nearly 0.1f then.
double floor_quotient(double a, double b) {
  if (b == 0) return std::isnan(a) ? a : 0;
  if (std::isinf(b) && !std::isinf(a) && !std::isnan(a))
    return a != 0 && (a < 0) != (b < 0) ? -1 : 0;
  return std::nearbyint((a - remainder(a, b)) / b);
}
const RealOp real_ops[] = {
    {Op::add, [](double a, double b) { return a + b; }},
    {Op::sub, [](double a, double b) { return a - b; }},
    {Op::mul, [](double a, double b) { return a * b; }},
    {Op::div, [](double a, double b) { return a / b; }},
    {Op::neg, [](double a, double) { return -a; }},
    {Op::abs, [](double a, double) { return std::fabs(a); }},
    {Op::min, [](double a, double b) { return a < b || std::isnan(a) ? a : b; }},
    {Op::max, [](double a, double b) { return a > b || std::isnan(a) ? a : b; }},
    {Op::sign, [](double a, double) { return std::isnan(a) ? a : (a > 0) - (a < 0); }},
    {Op::floordiv, floor_quotient},
    {Op::pow, [](double a, double b) { return std::pow(a, b); }},
    {Op::atan2, [](double a, double b) { return std::atan2(a, b); }},
    {Op::floor, [](double a, double) { return std::floor(a); }},
    {Op::ceil, [](double a, double) { return std::ceil(a); }},
    {Op::round, [](double a, double) { return std::nearbyint(a); }},
    {Op::exp, [](double a, double) { return std::exp(a); }},
    {Op::exp2, [](double a, double) { return std::exp2(a); }},
    {Op::log, [](double a, double) { return std::log(a); }},
    {Op::log2, [](double a, double) { return std::log2(a); }},
    {Op::sqrt, [](double a, double) { return std::sqrt(a); }},
    {Op::rsqrt, [](double a, double) { return 1 / std::sqrt(a); }},
    {Op::sin, [](double a, double) { return std::sin(a); }},
    {Op::cos, [](double a, double) { return std::cos(a); }},
    {Op::tan, [](double a, double) { return std::tan(a); }},
    {Op::tanh, [](double a, double) { return std::tanh(a); }},
    {Op::erf, [](double a, double) { return std::erf(a); }},
    {Op::mod, remainder},
};

template <class T>
void check_reals(ElemType elem, Type type) {
  const std::vector<T> special{0,      T(-0.0),  1,      T(0.5),      T(1.5),       T(2.5),
                               T(3),   T(-7.25), T(NAN), T(INFINITY), -T(INFINITY), T(1e-30),
                               T(0.1), T(-0.3)};
  std::vector<T> x, y;
  for (T a : special)
    for (T b : special) x.push_back(a), y.push_back(b);
  size_t count = std::size(real_ops);
  Built b = many(elem, type, elem, count, [](ValueStore& v, size_t k, ValueId a, ValueId c) {
    Op op = real_ops[k].op;
    return graph::info(op).arity == 1 ? v.unary(op, a) : v.binary(op, a, c);
  });
  compile_cuda(b);
  double tolerance = type == Type::f32 ? 1e-5 : 1e-14;
  for (auto execute : executions) {
    auto out = run_many<T>(*execute, b, bytes_of(x), bytes_of(y), x.size(), count);
    for (size_t k = 0; k < out.size(); ++k)
      for (size_t i = 0; i < x.size(); ++i) {
        INFO(graph::info(real_ops[k].op).name << " of " << x[i] << ", " << y[i]);
        double expected = static_cast<T>(real_ops[k].expected(x[i], y[i]));
        if (std::isnan(expected))
          CHECK(std::isnan(out[k][i]));
        else if (std::isinf(expected))
          CHECK(out[k][i] == expected);
        else
          CHECK(std::fabs(out[k][i] - expected) <= tolerance * std::fabs(expected));
      }
  }
}

} // namespace

TEST_CASE("integer operations", "[print][ops]") {
  const std::vector<int64_t> special{0, 1, -1, 2, -2, 7, -7, 63, 64, least, most, least + 1};
  for (bool wide : {true, false}) {
    std::vector<int64_t> x, y;
    for (int64_t a : special)
      for (int64_t c : special) {
        if (!wide && (std::abs(a / 2) > 1000 || std::abs(c / 2) > 1000)) continue;
        x.push_back(a), y.push_back(c);
      }
    Type type = wide ? Type::i64 : Type::i32;
    size_t count = std::size(integer_ops);
    Built b = many(ElemType::i64, type, ElemType::i64, count,
                   [](ValueStore& v, size_t k, ValueId a, ValueId c) {
                     return integer_value(v, integer_ops[k].op, a, c);
                   });
    compile_cuda(b);
    for (auto execute : executions) {
      auto out = run_many<int64_t>(*execute, b, bytes_of(x), bytes_of(y), x.size(), count);
      for (size_t k = 0; k < out.size(); ++k)
        for (size_t i = 0; i < x.size(); ++i) {
          Op op = integer_ops[k].op;
          if (!wide && (op == Op::shl || op == Op::shr) && (y[i] > 31 || y[i] < 0)) continue;
          INFO(graph::info(op).name << " of " << x[i] << ", " << y[i]);
          CHECK(out[k][i] == integer_ops[k].expected(x[i], y[i]));
        }
    }
  }
}

TEST_CASE("real operations", "[print][ops]") {
  check_reals<float>(ElemType::f32, Type::f32);
  check_reals<double>(ElemType::f64, Type::f64);
}

TEST_CASE("floats become integers by truncation and saturation", "[print][ops]") {
  const ElemType outs[] = {ElemType::i64, ElemType::i32, ElemType::i16,
                           ElemType::i8,  ElemType::u32, ElemType::u8};
  std::vector<float> x{0.f,  -0.9f, 1.9f,  -1.9f,  300.f,    -300.f,    7e4f, -7e4f,
                       3e9f, -3e9f, 1e19f, -1e19f, INFINITY, -INFINITY, NAN};
  for (ElemType out : outs) {
    Built b = pointwise(ElemType::f32, Type::f32, out, [](ValueStore&, ValueId v) { return v; });
    if (out == ElemType::i8) compile_cuda(b);
    int bytes = graph::info(out).bits / 8;
    for (auto execute : executions) {
      auto result = (*execute)(b, {static_cast<int64_t>(x.size())},
                               {bytes_of(x), Bytes(x.size() * static_cast<size_t>(bytes))});
      if (result.empty()) continue;
      graph::IntRange range = graph::range_of(out);
      for (size_t i = 0; i < x.size(); ++i) {
        uint64_t bits = 0;
        for (int byte = bytes; byte-- > 0;) bits = bits << 8 | result[1][i * bytes + byte];
        int shift = 64 - 8 * bytes;
        int64_t got = graph::is_signed(out) ? int64_t(bits << shift) >> shift : int64_t(bits);
        double t = std::trunc(x[i]);
        int64_t expected = std::isnan(t)           ? 0
                           : t >= double(range.hi) ? range.hi
                           : t <= double(range.lo) ? range.lo
                                                   : int64_t(t);
        INFO(graph::info(out).name << " of " << x[i]);
        CHECK(got == expected);
      }
    }
  }
}

TEST_CASE("integers saturate in narrower formats", "[print][ops]") {
  std::vector<int64_t> x{0, 127, 128, -128, -129, 255, 256, -1, least, most};
  for (ElemType out : {ElemType::i8, ElemType::u8, ElemType::i32}) {
    {
      Built b = pointwise(ElemType::i64, Type::i64, out, [](ValueStore&, ValueId v) { return v; });
      size_t size = static_cast<size_t>(graph::info(out).bits / 8);
      auto result = execute_c(b, {10}, {bytes_of(x), Bytes(10 * size)});
      if (result.empty()) return;
      for (size_t i = 0; i < x.size(); ++i) {
        graph::IntRange range = graph::range_of(out);
        int64_t expected = std::clamp(x[i], range.lo, range.hi);
        int64_t got = out == ElemType::i8   ? int64_t(int8_t(result[1][i]))
                      : out == ElemType::u8 ? int64_t(result[1][i])
                                            : numbers_of<int32_t>(result[1])[i];
        CHECK(got == expected);
      }
    }
  }
}
