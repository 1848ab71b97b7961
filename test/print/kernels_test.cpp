// Statements: loops, registers, shared memory, vectors, packed elements, shared terms.
#include "run.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang;
using namespace tang::kernel;
using namespace tang::print_test;
using graph::ElemType;

namespace {

/// y[r] = sum over c of x[r * 5 + c], a sum kept in a register.
Built row_sums() {
  Built b;
  ValueId rows = b.dim("rows", 0, 4096);
  BufferId x =
      b.argument("x", ElemType::f16, b.host().mul(rows, b.host().integer(5, Type::i64)), false);
  BufferId y = b.argument("y", ElemType::f32, rows, true);
  Maker m("y");
  m.kernel.comment = {"y[r] = sum[c] x[r, c]", "schedule: one row after the other"};
  TensorId tx = m.global("x", ElemType::f16), ty = m.global("y", ElemType::f32, true);
  TensorId acc = m.local("acc", ElemType::f32, 1);
  ValueId extent = m.scalar("rows", Type::i64, 4096);
  VarId r = m.var("r", Type::i64, 0, 4095), c = m.var("c", Type::i64, 0, 4);
  VarId e = m.var("x_rc", Type::f32);
  auto& v = m.v();
  ValueId zero = m.number(0), one = m.number(1);
  ValueId old = v.element(acc, Type::f32, std::array{zero});
  Body inner{load(e, tx, v.add(v.mul(v.variable(r), m.number(5)), v.variable(c))),
             store(acc, zero, v.binary(Op::add, old, v.variable(e)))};
  m.kernel.body = {loop(r, zero, extent, one,
                        {{Allocate{acc}},
                         store(acc, zero, m.real(0)),
                         loop(c, zero, m.number(5), one, inner),
                         store(ty, v.variable(r), old)})};
  b.launch(std::move(m.kernel), {x, y}, {rows});
  return b;
}

/// Blocks of 64 threads reverse blocks of 64 elements through shared memory, then add the value of
/// the neighbour by a shuffle.
void block_reverse(Built& b, ElemType type) {
  ValueId n =
      b.program.dims.empty() ? b.dim("n", 64, 1 << 20, 64) : b.host().variable(b.program.dims[0]);
  BufferId x = b.argument("x", type, n, false), y = b.argument("y", ElemType::f32, n, true);
  Maker m("y");
  m.kernel.comment = {"y = x reversed in blocks of 64, plus the neighbour"};
  TensorId tx = m.global("x", type), ty = m.global("y", ElemType::f32, true);
  TensorId tile = m.local("tile", type, 64, Memory::shared);
  auto& v = m.v();
  m.kernel.flat_block = m.var("block", Type::i32, 0, 1 << 14);
  m.kernel.flat_thread = m.var("thread", Type::i32, 0, 63);
  m.kernel.threads = {{m.var("unused", Type::i32), 64}};
  VarId e = m.var("e", Type::f32), r = m.var("r", Type::f32), s = m.var("s", Type::f32);
  ValueId thread = v.variable(m.kernel.flat_thread), block = v.variable(m.kernel.flat_block);
  auto number = [&](int64_t k) { return v.integer(k, Type::i32); };
  ValueId at = v.add(v.mul(block, number(64)), thread);
  m.kernel.body = {{Allocate{tile}},
                   load(e, tx, at),
                   store(tile, thread, v.variable(e)),
                   {Barrier{}},
                   load(r, tile, v.sub(number(63), thread)),
                   {Shfl{s, v.variable(r), 1}},
                   store(ty, at, v.binary(Op::add, v.variable(r), v.variable(s)))};
  b.launch(std::move(m.kernel), {x, y}, {},
           b.host().binary(Op::floordiv, n, b.host().integer(64, Type::i64)));
}

/// y = 2 * x in vectors of `width`, for n a multiple of it.
void vectors(Built& b, ElemType in, ElemType out, int width, bool hardware) {
  bool whole = graph::scalar_of(in) == graph::Scalar::integer;
  ElemType kept = whole ? ElemType::i32 : ElemType::f32;
  Type type = whole ? Type::i32 : Type::f32;
  ValueId n =
      b.program.dims.empty() ? b.dim("n", 0, 1 << 20, width) : b.host().variable(b.program.dims[0]);
  BufferId x = b.argument("x", in, n, false), y = b.argument("y", out, n, true);
  Maker m("y");
  TensorId tx = m.global("x", in), ty = m.global("y", out, true);
  TensorId a = m.local("a", kept, width);
  auto& v = m.v();
  VarId i = m.var("i", Type::i32, 0, 1 << 20), k = m.var("k", Type::i32, 0, width - 1);
  auto number = [&](int64_t value) { return v.integer(value, Type::i32); };
  ValueId element = v.element(a, type, std::array{v.variable(k)});
  Body body{{Allocate{a}},
            copy(a, number(0), tx, v.variable(i), width),
            loop(k, number(0), number(width), number(1),
                 {store(a, v.variable(k), v.binary(Op::add, element, element))},
                 LoopKind::unrolled),
            copy(ty, v.variable(i), a, number(0), width)};
  if (hardware) {
    m.kernel.flat_block = m.var("block", Type::i32, 0, 1 << 20);
    body.insert(body.begin(), {Let{i, v.mul(v.variable(m.kernel.flat_block), number(width))}});
    m.kernel.body = body;
    b.launch(std::move(m.kernel), {x, y}, {},
             b.host().binary(Op::floordiv, n, b.host().integer(width, Type::i64)));
    return;
  }
  ValueId count = m.scalar("n", Type::i32);
  m.kernel.body = {loop(i, number(0), count, number(width), body)};
  b.launch(std::move(m.kernel), {x, y}, {n});
}

/// The same for one thread.
Built vectors(ElemType in, ElemType out, int width) {
  Built b;
  vectors(b, in, out, width, false);
  return b;
}

} // namespace

TEST_CASE("a reduction keeps its sum in a register", "[print][kernels]") {
  Built b = row_sums();
  check_golden("row_sums.c", source_of(b, "c", options()));
  std::vector<uint16_t> x(15, 0x3c00);
  x[7] = 0x4000;
  auto result = execute_c(b, {3}, {bytes_of(x), Bytes(12, 0xff)});
  if (!result.empty()) CHECK(numbers_of<float>(result[1]) == std::vector<float>{5, 6, 5});
  CHECK(execute_c(b, {0}, {{}, {}}).size() == 2);
}

TEST_CASE("threads meet in shared memory", "[print][kernels]") {
  print::PrintOptions o = options("sm_80");
  o.extension = ".cu";
  Built one, all;
  block_reverse(one, ElemType::f16);
  check_golden("block_reverse.cu", source_of(one, "cuda", o));
  for (ElemType type : {ElemType::f32, ElemType::f16, ElemType::bf16, ElemType::f8e4m3,
                        ElemType::f8e5m2, ElemType::i8, ElemType::boolean})
    block_reverse(all, type);
  compile_cuda(all);
}

TEST_CASE("vectors move and convert", "[print][kernels]") {
  std::vector<float> x{1, -2, 3.5f, 4, 5, 6, 7, 8};
  for (int width : {1, 2, 4, 8}) {
    auto result = execute_c(vectors(ElemType::f32, ElemType::f32, width), {8},
                            {bytes_of(x), Bytes(32, 0xff)});
    if (result.empty()) return;
    CHECK(numbers_of<float>(result[1]) == std::vector<float>{2, -4, 7, 8, 10, 12, 14, 16});
  }
  Built all;
  for (ElemType type : {ElemType::f32, ElemType::f16, ElemType::bf16, ElemType::f8e4m3,
                        ElemType::i8, ElemType::i4, ElemType::u4, ElemType::f64, ElemType::i64})
    for (int width : {2, 8}) vectors(all, type, type, width, true);
  compile_cuda(all);
}

TEST_CASE("nibbles are packed low first and keep their neighbours", "[print][kernels]") {
  Bytes x{0x21, 0x7f, 0x98};
  for (int width : {1, 2}) {
    auto wide = execute_c(vectors(ElemType::i4, ElemType::i8, width), {6}, {x, Bytes(6)});
    if (wide.empty()) return;
    CHECK(numbers_of<int8_t>(wide[1]) == std::vector<int8_t>{2, 4, -2, 14, -16, -14});
    auto back = execute_c(vectors(ElemType::i8, ElemType::i4, width), {4},
                          {Bytes{1, 2, 0xff, 9}, Bytes{0, 0}});
    CHECK(back[1] == Bytes{0x42, 0x7e});
    auto natural = execute_c(vectors(ElemType::u4, ElemType::u4, width), {4},
                             {Bytes{0x21, 0x9f}, Bytes{0, 0}});
    CHECK(natural[1] == Bytes{0x42, 0xff});
  }
  // An odd count leaves the upper half of the last byte alone.
  Built odd =
      pointwise(ElemType::i8, Type::i32, ElemType::i4, [](ValueStore&, ValueId v) { return v; });
  auto result = execute_c(odd, {3}, {Bytes{1, 2, 3}, Bytes{0xff, 0xff}});
  CHECK(result[1] == Bytes{0x21, 0xf3});
}

TEST_CASE("a store to half a byte by many threads is refused", "[print][kernels]") {
  Built odd =
      pointwise(ElemType::i8, Type::i32, ElemType::i4, [](ValueStore&, ValueId v) { return v; });
  Sink sink;
  CHECK_FALSE(
      print::print_source(odd.parts(), *print::dialect_named("cuda"), options("sm_80"), sink));
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(sink.diagnostics()[0].kind == Kind::packed_store);
}

TEST_CASE("shared terms print once", "[print][kernels]") {
  Built doubling = pointwise(ElemType::f32, Type::f32, ElemType::f32, [](ValueStore& v, ValueId x) {
    for (int i = 0; i < 60; ++i)
      x = v.binary(Op::mul, x, v.binary(Op::sub, x, v.real(1, Type::f32)));
    return x;
  });
  std::string text = source_of(doubling, "c", options());
  CHECK(text.size() < 20000);
  std::vector<float> x{2};
  auto result = execute_c(doubling, {1}, {bytes_of(x), Bytes(4)});
  if (!result.empty()) CHECK(std::isfinite(numbers_of<float>(result[1])[0]));
}

TEST_CASE("a chain of a hundred thousand terms prints", "[print][kernels]") {
  Built chain = pointwise(ElemType::f32, Type::f32, ElemType::f32, [](ValueStore& v, ValueId x) {
    ValueId y = x;
    for (int i = 0; i < 100000; ++i) y = v.binary(Op::sub, y, v.unary(Op::neg, x));
    return y;
  });
  CHECK(source_of(chain, "c", options()).size() > 300000);
}

TEST_CASE("connectives nest in every way without a warning", "[print][kernels]") {
  Built nested = pointwise(ElemType::f32, Type::f32, ElemType::f32, [](ValueStore& v, ValueId x) {
    auto less = [&](double bound) { return v.less(x, v.real(bound, Type::f32)); };
    ValueId bits = v.real(0, Type::f32);
    double weight = 1;
    auto add = [&](ValueId condition) {
      ValueId bit = v.select(condition, v.real(weight, Type::f32), v.real(0, Type::f32));
      bits = v.binary(Op::add, bits, bit);
      weight *= 2;
    };
    for (Op outer : {Op::logical_and, Op::logical_or})
      for (Op inner : {Op::logical_and, Op::logical_or}) {
        add(v.binary(outer, v.binary(inner, less(1), less(2)), v.unary(Op::logical_not, less(3))));
        add(v.binary(outer, v.unary(Op::logical_not, less(4)), v.binary(inner, less(5), less(6))));
      }
    return bits;
  });
  compile_cuda(nested);
  auto result =
      execute_c(nested, {4}, {bytes_of(std::vector<float>{0.5, 1.5, 3.5, 4.5}), Bytes(16)});
  // In the order above: (a and b) and not c, not d and (e and f), ...
  auto expected = [](float x) {
    bool c1 = x < 1, c2 = x < 2, c3 = !(x < 3), c4 = !(x < 4), c5 = x < 5, c6 = x < 6;
    bool all[] = {(c1 && c2) && c3, c4 && (c5 && c6), (c1 || c2) && c3, c4 && (c5 || c6),
                  (c1 && c2) || c3, c4 || (c5 && c6), (c1 || c2) || c3, c4 || (c5 || c6)};
    float bits = 0, weight = 1;
    for (bool bit : all) bits += bit ? weight : 0, weight *= 2;
    return bits;
  };
  if (!result.empty())
    CHECK(numbers_of<float>(result[1]) ==
          std::vector<float>{expected(0.5), expected(1.5), expected(3.5), expected(4.5)});
}

TEST_CASE("predicates guard memory and the offsets of gathers", "[print][kernels]") {
  Built b;
  ValueId n = b.dim("n", 0, 100);
  BufferId x = b.argument("x", ElemType::f32, n, false),
           id = b.argument("id", ElemType::i64, n, false),
           y = b.argument("y", ElemType::f32, n, true);
  Maker m("gather");
  TensorId tx = m.global("x", ElemType::f32), ti = m.global("id", ElemType::i64),
           ty = m.global("y", ElemType::f32, true);
  ValueId count = m.scalar("n", Type::i64, 100);
  auto& v = m.v();
  VarId i = m.var("i", Type::i64, 0, 99), k = m.var("k", Type::i64), e = m.var("e", Type::f32);
  ValueId vk = v.variable(k), at = v.variable(i);
  ValueId inside = v.both(v.binary(Op::le, m.number(0), vk), v.less(vk, count));
  m.kernel.body = {
      loop(i, m.number(0), count, m.number(1),
           {load(k, ti, at), load(e, tx, vk, inside, m.real(-7)),
            store(ty, at, v.variable(e), v.binary(Op::ne, at, v.integer(2, Type::i64)))})};
  b.launch(std::move(m.kernel), {x, id, y}, {n});
  compile_cuda(b);
  std::vector<int64_t> ids{3, -1, 0, INT64_MAX};
  auto result = execute_c(b, {4},
                          {bytes_of(std::vector<float>{10, 11, 12, 13}), bytes_of(ids),
                           bytes_of(std::vector<float>{0, 0, 99, 0})});
  if (!result.empty()) CHECK(numbers_of<float>(result[2]) == std::vector<float>{13, -7, 99, -7});
}
