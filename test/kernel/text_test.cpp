#include "kernel/value_text.h"
#include "sample.h"
#include <catch2/catch.hpp>

using namespace tang::kernel;
using tang::kernel::test::Sample;

TEST_CASE("a kernel prints as .spec text", "[text]") {
  CHECK(to_text(Sample().kernel) == R"(# y = 2*x
kernel twice {
  param x: global f16 (N):(1)
  param y: global f32 (N):(1) written
  scalar N: index in 1..1000
  blocks (block: floordiv(N + 7, 8) in 0..)
  threads (thread: 4)
  allocate acc: register f32 (2):(1)
  # y = 2*x
  y <- UnaryPointwise(x) {
    for v: index in 0 .. 2 unrolled {
      a: f32 <- Move(x[block*8 + thread*2 + v]) if block*8 + thread*2 + v < N else 0.0
      acc[v] <- Move(a)
      b: f32 <- Pointwise(acc[v]*2.0)
      y[block*8 + thread*2 + v] <- Move(b) if block*8 + thread*2 + v < N
    }
  }
}
)");
}

TEST_CASE("kernels that differ in names and comments only have one canonical form", "[text]") {
  Kernel a = Sample().kernel, b = Sample().kernel;
  b.name = "other";
  b.comment.clear();
  for (Tensor& tensor : b.tensors) tensor.name += "_layer2";
  CHECK(to_text(a) != to_text(b));
  CHECK(canonical_form(a) == canonical_form(b));
  b.tensors[0].type = ElemType::bf16;
  CHECK(canonical_form(a) != canonical_form(b));
  CHECK(canonical_form(a) != canonical_form(Sample(64).kernel)); // no tail
}

TEST_CASE("equal names become different ones", "[text]") {
  Sample sample;
  sample.kernel.tensors[sample.acc.value].name = "x";
  std::string text = to_text(sample.kernel);
  CHECK(text.find("allocate x.2: register") != std::string::npos);
  CHECK(text.find("x.2[v] <- Move(a)") != std::string::npos);
}

TEST_CASE("values bracket as little as they may", "[text]") {
  ValueStore s;
  ValueNames names{[&](VarId id) { return s[id].name; }, [](TensorId) { return std::string("r"); }};
  auto text = [&](ValueId id) {
    return texts_of(s, {&id, 1}, names, [](Type, const std::string&) { return std::string("$"); },
                    {Type::i64, Type::i64})[0];
  };
  ValueId a = s.variable({"a", Type::f32, {}, {}}), b = s.variable({"b", Type::f32, {}, {}});
  auto op = [&](Op o, ValueId x, ValueId y) { return s.binary(o, x, y); };
  CHECK(text(op(Op::sub, a, op(Op::sub, b, a))) == "a - (b - a)");
  CHECK(text(op(Op::sub, op(Op::sub, a, b), a)) == "a - b - a");
  CHECK(text(op(Op::mul, op(Op::add, a, b), a)) == "(a + b)*a");
  CHECK(text(op(Op::div, a, op(Op::mul, a, b))) == "a / (a*b)");
  CHECK(text(s.unary(Op::neg, op(Op::add, a, b))) == "-(a + b)");
  CHECK(text(op(Op::mul, s.unary(Op::neg, a), b)) == "(-a)*b");
  ValueId p = s.less(a, b), q = op(Op::le, b, a);
  CHECK(text(op(Op::logical_and, op(Op::logical_or, p, q), p)) == "(a < b or b <= a) and a < b");
  CHECK(text(s.unary(Op::logical_not, op(Op::logical_and, p, q))) == "not (a < b and b <= a)");
  CHECK(text(op(Op::eq, p, q)) == "(a < b) == (b <= a)");
  CHECK(text(s.select(p, a, s.real(-1, Type::f32))) == "where(a < b, a, -1.0)");
  CHECK(text(s.round(ElemType::bf16, a)) == "round<bf16>(a)");
  CHECK(text(s.convert(Type::f64, a)) == "convert<f64>(a)");
  CHECK(text(s.real(0.1, Type::f32)) == "0.1");
  CHECK(text(s.real(0.1, Type::f64)) == "0.1f64");
  CHECK(text(s.real(INFINITY, Type::f32)) == "inf");
  CHECK(text(s.integer(5, Type::i64)) == "5");
  ValueId five = s.integer(5, Type::i64), n = s.variable({"n", Type::i64, {}, {}});
  CHECK(texts_of(s, {&five, 1}, names, {}, {Type::i32, Type::i32})[0] == "5i64");
  CHECK(text(s.add(n, five)) == "n + 5");
  CHECK(text(s.convert(Type::f32, s.integer((1 << 24) + 1, Type::i64))) ==
        "convert<f32>(16777217)");
}

TEST_CASE("shared terms are written once", "[text]") {
  Kernel kernel;
  ValueStore& s = kernel.values;
  ValueId x = s.variable({"a_variable_with_a_name", Type::f32, {}, {}});
  for (int i = 0; i < 200; ++i) x = s.binary(Op::add, x, s.unary(Op::exp, x));
  kernel.body.push_back({Let{s.add_var({"y", Type::f32, {}, {}}), x}});
  std::string text = to_text(kernel);
  CHECK(text.size() < 20000);
  CHECK(text.find("$1: f32 <- Pointwise(a_variable_with_a_name + exp(a_variable_with_a_name))") !=
        std::string::npos);
}

TEST_CASE("a program prints its buffers and launches", "[text]") {
  Program p;
  p.name = "model";
  VarId n = p.values.add_var({"N", Type::i64, 1, 1000});
  p.dims = {n};
  ValueId size = p.values.variable(n);
  p.buffers = {{Buffer::Kind::argument, "x", ElemType::f16, size, {}, false, 16, 0},
               {Buffer::Kind::argument, "y", ElemType::f32, size, {}, true, 16, 0}};
  p.arguments = {BufferId(0), BufferId(1)};
  p.kernels.push_back(Sample().kernel);
  Dispatch d;
  d.name = "twice";
  d.variants.push_back({KernelId(0),
                        {{BufferId(0), {}}, {BufferId(1), p.values.integer(4, Type::i64)}},
                        {size},
                        {p.values.ceildiv(size, 8)},
                        {}});
  p.steps.push_back({std::move(d)});
  std::string text = to_text(p);
  CHECK(text.substr(0, text.find("\n# y")) == R"(program model {
  dim N in 1..1000
  buffer x: argument f16 (N)
  buffer y: argument f32 (N) written
  arguments (x, y)
  launch twice {
    twice(x, y[4]; N) blocks (floordiv(N + 7, 8))
  }
}
)");
}
