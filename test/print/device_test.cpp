// Printed CUDA on a device, against printed C: without a device these compile only.
#include "run.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace tang;
using namespace tang::kernel;
using namespace tang::print_test;
using graph::ElemType;

namespace {

constexpr ElemType formats[] = {ElemType::f16, ElemType::bf16, ElemType::f8e4m3, ElemType::f8e5m2};

/// For each format: f_k = x stored in the format, g_k = f_k loaded again, for x read in `type`.
Built through_formats(ElemType type, Type machine) {
  Built b;
  ValueId n = b.dim("n", 0, 1 << 26);
  BufferId x = b.argument("x", type, n, false);
  for (ElemType format : formats) {
    Maker m(std::string(graph::info(format).name));
    BufferId f = b.argument("f", format, n, true), g = b.argument("g", ElemType::f32, n, true);
    TensorId tx = m.global("x", type), tf = m.global("f", format, true),
             tg = m.global("g", ElemType::f32, true);
    VarId i = m.var("i", Type::i64, 0, 1 << 26), e = m.var("e", machine), r = m.var("r", Type::f32);
    ValueId count = m.scalar("n", Type::i64, 1 << 26), at = m.v().variable(i);
    m.kernel.body = {loop(i, m.number(0), count, m.number(1),
                          {load(e, tx, at), store(tf, at, m.v().variable(e)), load(r, tf, at),
                           store(tg, at, m.v().variable(r))})};
    b.launch(std::move(m.kernel), {x, f, g}, {n}, b.host().integer(1, Type::i64));
  }
  return b;
}

template <class T>
void compare(const Built& b, const std::vector<T>& x) {
  std::vector<Bytes> fields{bytes_of(x)};
  for (ElemType format : formats) {
    fields.push_back(Bytes(x.size() * static_cast<size_t>(graph::info(format).bits / 8)));
    fields.push_back(Bytes(x.size() * 4));
  }
  auto device = execute_cuda(b, {static_cast<int64_t>(x.size())}, fields);
  if (device.empty()) return;
  auto host = execute_c(b, {static_cast<int64_t>(x.size())}, fields);
  for (size_t k = 2; k < fields.size(); k += 2) {
    auto a = numbers_of<float>(device[k]), c = numbers_of<float>(host[k]);
    size_t faults = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      bool equal = a[i] == c[i] || (std::isnan(a[i]) && std::isnan(c[i]));
      if (!equal && faults++ < 5) {
        INFO(graph::info(formats[k / 2 - 1]).name << " of " << x[i]);
        CHECK(a[i] == c[i]);
      }
    }
    CHECK(faults == 0);
  }
}

} // namespace

TEST_CASE("short floats are the same on the device", "[print][device]") {
  std::vector<float> singles;
  // Every upper half with lower halves around the places where rounding decides.
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u}) {
      uint32_t bits = high << 16 | low;
      float value;
      std::memcpy(&value, &bits, 4);
      singles.push_back(value);
    }
  compare(through_formats(ElemType::f32, Type::f32), singles);
  std::vector<double> doubles;
  for (size_t i = 0; i < singles.size(); i += 3)
    for (double scale : {1.0, 1 + 1e-12, 1 - 1e-12}) doubles.push_back(singles[i] * scale);
  compare(through_formats(ElemType::f64, Type::f64), doubles);
}

TEST_CASE("blocks, threads, vectors and packed elements run on the device", "[print][device]") {
  Built b;
  ValueId n = b.dim("n", 0, 1 << 20, 64);
  std::vector<float> values(128);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 60.5f;
  BufferId x = b.argument("x", ElemType::f32, n, false),
           y = b.argument("y", ElemType::f32, n, true);
  BufferId p = b.argument("p", ElemType::i4, n, false), q = b.argument("q", ElemType::i4, n, true);
  for (bool packed : {false, true}) {
    Maker m(packed ? "nibbles" : "reverse");
    ElemType type = packed ? ElemType::i4 : ElemType::f32;
    TensorId from = m.global("from", type), to = m.global("to", type, true);
    TensorId a = m.local("a", packed ? ElemType::i32 : ElemType::f32, 4);
    TensorId tile = m.local("tile", ElemType::f32, 64, Memory::shared);
    auto& v = m.v();
    auto number = [&](int64_t k) { return v.integer(k, Type::i32); };
    m.kernel.flat_block = m.var("block", Type::i32, 0, 1 << 14);
    m.kernel.flat_thread = m.var("thread", Type::i32, 0, 15);
    m.kernel.threads = {{m.var("unused", Type::i32), 16}};
    ValueId thread = v.variable(m.kernel.flat_thread), block = v.variable(m.kernel.flat_block);
    ValueId at = v.add(v.mul(block, number(64)), v.mul(thread, number(4)));
    m.kernel.body = {{Allocate{a}}, copy(a, number(0), from, at, 4)};
    if (!packed) {
      m.kernel.body.push_back({Allocate{tile}});
      m.kernel.body.push_back(copy(tile, v.mul(thread, number(4)), a, number(0), 4));
      m.kernel.body.push_back({Barrier{}});
      m.kernel.body.push_back(
          copy(a, number(0), tile, v.sub(number(60), v.mul(thread, number(4))), 4));
    }
    m.kernel.body.push_back(copy(to, at, a, number(0), 4));
    b.launch(std::move(m.kernel), packed ? std::vector{p, q} : std::vector{x, y}, {},
             b.host().binary(Op::floordiv, n, b.host().integer(64, Type::i64)));
  }
  Bytes nibbles(64);
  for (size_t i = 0; i < nibbles.size(); ++i) nibbles[i] = static_cast<uint8_t>(i * 37);
  auto result = execute_cuda(b, {128}, {bytes_of(values), Bytes(512, 0xff), nibbles, Bytes(64)});
  if (result.empty()) return;
  auto y_values = numbers_of<float>(result[1]);
  for (size_t i = 0; i < 128; ++i) {
    size_t from = i / 64 * 64 + (15 - i % 64 / 4) * 4 + i % 4;
    CHECK(y_values[i] == values[from]);
  }
  CHECK(result[3] == nibbles);
}

TEST_CASE("constant tables reach the device", "[print][device]") {
  Built b;
  ValueId n = b.dim("n", 0, 4);
  BufferId table = b.table("table", ElemType::f16, {1, -2.5, 0.125, 7}, {});
  BufferId y = b.argument("y", ElemType::f32, n, true);
  Maker m("y");
  TensorId t = m.global("table", ElemType::f16), to = m.global("y", ElemType::f32, true);
  ValueId count = m.scalar("n", Type::i64, 4);
  VarId i = m.var("i", Type::i64, 0, 3), e = m.var("e", Type::f32);
  ValueId at = m.v().variable(i);
  m.kernel.body = {
      loop(i, m.number(0), count, m.number(1), {load(e, t, at), store(to, at, m.v().variable(e))})};
  b.launch(std::move(m.kernel), {table, y}, {n}, b.host().integer(1, Type::i64));
  auto result = execute_cuda(b, {4}, {Bytes(16)});
  if (!result.empty()) CHECK(numbers_of<float>(result[0]) == std::vector<float>{1, -2.5, 0.125, 7});
}

TEST_CASE("quotients of what is never negative", "[print][device]") {
  Built b;
  ValueId n = b.dim("n", 0, 1 << 20), d = b.dim("d", 1, 1000);
  BufferId q = b.argument("q", ElemType::i32, n, true), r = b.argument("r", ElemType::i32, n, true);
  for (Op op : {Op::floordiv, Op::mod}) {
    Maker m(op == Op::mod ? "rest" : "quotient");
    TensorId to = m.global("to", ElemType::i32, true);
    ValueId count = m.scalar("n", Type::i64, 1 << 20);
    VarId i = m.var("i", Type::i64, 0, 1 << 20), divisor = m.var("d", Type::i64, 1, 1000);
    m.kernel.scalars.push_back({divisor});
    ValueId at = m.v().variable(i);
    ValueId value = m.v().binary(op, at, m.v().variable(divisor));
    m.kernel.body = {loop(i, m.number(0), count, m.number(1), {store(to, at, value)})};
    b.launch(std::move(m.kernel), {op == Op::mod ? r : q}, {n, d}, b.host().integer(1, Type::i64));
  }
  std::string cuda = source_of(b, "cuda", options("sm_90a"));
  CHECK(cuda.find("tg_unsigned_div_i64(i, d)") != std::string::npos);
  CHECK(cuda.find("tg_unsigned_mod_i64(i, d)") != std::string::npos);
  std::vector<Bytes> fields{Bytes(400), Bytes(400)};
  auto host = execute_c(b, {100, 7}, fields), device = execute_cuda(b, {100, 7}, fields);
  if (!device.empty()) CHECK(device == host);
  auto quotients = numbers_of<int32_t>(host[0]), rests = numbers_of<int32_t>(host[1]);
  for (int32_t i = 0; i < 100; ++i) {
    CHECK(quotients[static_cast<size_t>(i)] == i / 7);
    CHECK(rests[static_cast<size_t>(i)] == i % 7);
  }
}
